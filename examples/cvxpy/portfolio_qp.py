"""The portfolio of least variance within an investor's limits (the setting of Munoz et al. 2021).

Private: the most that the investor holds of each asset and the return that is needed (data:
Cornuejols and Tütüncü, ch. 8). A radius of 0.01 means that a limit, a radius of 0.001 that the
return may be as much more or less without being told.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

mean = np.array([0.1206, 0.0785, 0.0632])  # stocks, bonds, money market
covariance = 1e-5 * np.array([[2778, 387, 21], [387, 1112, -20], [21, -20, 115]])

most = dp.cvxpy.PrivateParameter(3, lower=0.5, upper=1, radius=0.01, name="most")
needed = dp.cvxpy.PrivateParameter(lower=0.06, upper=0.09, radius=0.001, name="needed")
w = cp.Variable(3, nonneg=True)
rows = [cp.sum(w) == 1, w <= most, mean @ w >= needed]
problem = cp.Problem(cp.Minimize(cp.quad_form(w, covariance)), rows)
investor = {most: [0.6, 0.9, 0.8], needed: 0.075}
found = dp.solve(problem, investor, epsilon=2, delta=1e-3)

print(w.value.round(4), found.certificate)
print(f"variance {problem.value:.5f}; without the investor's data {found.robust.value:.5f}")
