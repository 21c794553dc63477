"""The portfolio of highest return within a client's limits (data: Cornuejols and Tütüncü, ch. 8).

Private: the most that the client's mandate allows in each asset and away from today's holdings. A
radius of 0.01 means that a mandate with a limit of one percent more or less looks the same.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

mean = np.array([0.1206, 0.0785, 0.0632])  # stocks, bonds, money market
today = np.array([0.4, 0.3, 0.3])
most = dp.cvxpy.PrivateParameter(3, lower=0.4, upper=1, radius=0.01, name="most")
turnover = dp.cvxpy.PrivateParameter(lower=0.1, upper=1, radius=0.01, name="turnover")

w = cp.Variable(3, nonneg=True)
limits = [w <= most, cp.norm1(w - today) <= turnover]
problem = cp.Problem(cp.Maximize(mean @ w), [cp.sum(w) == 1, *limits])
mandate = {most: [0.7, 0.6, 1], turnover: 0.6}
found = dp.solve(problem, mandate, epsilon=2, delta=1e-3)
print(w.value.round(4), found.certificate)
print(f"return {problem.value:.4f}; without the mandate {found.robust.value:.4f}")
