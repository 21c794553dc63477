"""DC optimal power flow in the five-bus system of PJM (Li and Bo 2010).

Private: the loads. A radius of 1 means that a consumer of one megawatt cannot be told. Balance is
an inequality: what is dispatched covers the load, whatever it is, or pays for what is shed.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

ends = np.array([[0, 1], [0, 3], [0, 4], [1, 2], [2, 3], [3, 4]])
reactance = np.array([0.0281, 0.0304, 0.0064, 0.0108, 0.0297, 0.0297])
rating = np.array([400, 1000, 1000, 1000, 1000, 240])
at_bus = np.zeros((5, 5))
at_bus[[0, 0, 2, 3, 4], range(5)] = 1
offers, largest = np.array([14, 15, 30, 40, 10]), np.array([40, 170, 520, 200, 600])
incidence = np.zeros((5, 6))
incidence[ends[:, 0], range(6)], incidence[ends[:, 1], range(6)] = 1, -1

load = dp.cvxpy.PrivateParameter(3, lower=[200, 200, 300], upper=450, radius=1, name="load")
angle, shed = cp.Variable(5), cp.Variable(5, nonneg=True)
dispatch = cp.Variable(5, bounds=[0, largest])
flow = cp.multiply(100 / reactance, incidence.T @ angle)
surplus = at_bus @ dispatch + shed - incidence @ flow
rows = [surplus[1:4] >= load, surplus[[0, 4]] >= 0, cp.abs(flow) <= rating, angle[3] == 0]
problem = cp.Problem(cp.Minimize(offers @ dispatch + 1000 * cp.sum(shed)), rows)
found = dp.solve(problem, {load: [300, 300, 400]}, epsilon=2, delta=1e-3)
print(dispatch.value.round(1), found.certificate)
print(f"cost {problem.value:.0f}; without the loads {found.robust.value:.0f}")
