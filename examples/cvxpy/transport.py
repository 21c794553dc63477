"""Shipping from canneries to markets at least cost (Dantzig 1963, in GAMS as trnsport).

Private: what each market orders. A radius of 1 means that an order of one case more or less cannot
be told from the plan that is published.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

capacity = np.array([350, 600])  # Seattle, San Diego
miles = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])  # to New York, Chicago, Topeka; thousands
orders = dp.cvxpy.PrivateParameter(
    3, lower=[150, 150, 150], upper=[340, 310, 290], radius=1, name="orders"
)
shipped = cp.Variable((2, 3), nonneg=True)
problem = cp.Problem(
    cp.Minimize(0.09 * cp.sum(cp.multiply(miles, shipped))),
    [cp.sum(shipped, axis=1) <= capacity, cp.sum(shipped, axis=0) >= orders],
)
found = dp.solve(problem, {orders: [325, 300, 275]}, epsilon=2, delta=1e-3)
print(shipped.value.round(1), found.certificate)
print(f"cost {problem.value:.2f}; without the orders {found.robust.value:.2f}")
