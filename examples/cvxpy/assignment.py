"""Who does what at least cost (the costs of scipy's linear_sum_assignment).

Private: what each worker asks for each job; the total must stay within a public budget. All bids of
a worker are one record: a radius of 0.05 means that all of them may change by as much unseen.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

workers = np.repeat([["Ann"], ["Bob"], ["Cid"]], 3, axis=1)
bid = dp.cvxpy.PrivateParameter((3, 3), lower=0, upper=5, radius=0.05, records=workers, name="bid")
share = cp.Variable((3, 3), nonneg=True)
unfilled = cp.Variable(3, nonneg=True)
paid = cp.sum(cp.multiply(bid, share))
rows = [cp.sum(share, axis=1) <= 1, cp.sum(share, axis=0) + unfilled == 1]
problem = cp.Problem(cp.Minimize(paid + 10 * cp.sum(unfilled)), [*rows, paid <= 8])

bids = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
found = dp.solve(problem, {bid: bids}, epsilon=2, delta=1e-3)
print(share.value.round(3), found.certificate)
print(f"cost {problem.value:.2f}; without the bids {found.robust.value:.2f}")
