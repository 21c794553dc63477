"""The largest flow from s to t (the network of Cormen, Leiserson, Rivest and Stein, chapter 26).

Private: the capacity of every edge, each a carrier's secret. A radius of 0.1 means that a carrier
with a tenth of a unit more or less cannot be told from the flow that is published.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

edges = ["s1", "s2", "13", "21", "24", "32", "3t", "43", "4t"]
balance = np.array([[(e[1] == v) - (e[0] == v) for e in edges] for v in "1234"], dtype=float)

capacity = dp.cvxpy.PrivateParameter(9, lower=0, upper=25, radius=0.1, name="capacity")
flow = cp.Variable(9, nonneg=True)
problem = cp.Problem(cp.Maximize(flow[0] + flow[1]), [balance @ flow == 0, flow <= capacity])
truth = [16, 13, 12, 4, 14, 9, 20, 7, 4]
found = dp.solve(problem, {capacity: truth}, epsilon=2, delta=1e-3)

print(dict(zip(edges, flow.value.round(2), strict=True)), found.certificate)
print(f"flow {problem.value:.2f} of 23; without the carriers' data {found.robust.value:.2f}")
