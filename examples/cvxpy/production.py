"""Tons of steel to roll in a week (steel3 and steel4 of the AMPL book, chapter 1).

Private: hours that two mills have left, and what the market takes of each product. A radius of 0.1
means that six minutes of a mill, a radius of 50 that as many tons of a buyer, cannot be told.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

rate = np.array([[200, 200, 160], [200, 140, 160]])  # tons per hour: reheat and roll
profit = np.array([25, 30, 29])  # bands, coils, plate
committed = np.array([1000, 500, 750])
hours = dp.cvxpy.PrivateParameter(2, lower=20, upper=45, radius=0.1, name="hours")
market = dp.cvxpy.PrivateParameter(3, lower=1500, upper=8000, radius=50, name="market")

tons = cp.Variable(3)
rows = [(1 / rate) @ tons <= hours, tons >= committed, tons <= market]
problem = cp.Problem(cp.Maximize(profit @ tons), rows)
books = {hours: [35, 40], market: [6000, 4000, 3500]}
found = dp.solve(problem, books, epsilon=2, delta=1e-3)
print(tons.value.round(), found.certificate)
print(f"profit {problem.value:.0f}; without the books {found.robust.value:.0f}")
