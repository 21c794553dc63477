"""Sailboats in four quarters, regular and overtime (Sailco: Winston, Operations Research, ch. 3).

Private: the orders of each quarter. A radius of 0.5 means that half an order of a quarter cannot be
told. An order counts in every later quarter: one private number in many rows, taken jointly.
"""

import cvxpy as cp

import dp_cmdp as dp

orders = dp.cvxpy.PrivateParameter(
    4, lower=[30, 40, 50, 15], upper=[50, 80, 90, 40], radius=0.5, name="orders"
)
regular = cp.Variable(4, bounds=[0, 40])
overtime = cp.Variable(4, nonneg=True)
stock = 10 + cp.cumsum(regular + overtime) - cp.cumsum(orders)
cost = 400 * cp.sum(regular) + 450 * cp.sum(overtime) + 20 * cp.sum(stock)
problem = cp.Problem(cp.Minimize(cost), [stock >= 0])

found = dp.solve(problem, {orders: [40, 60, 75, 25]}, epsilon=2, delta=1e-3)
print(regular.value.round(1), overtime.value.round(1), found.certificate)
print(f"cost {problem.value:.0f}; without the orders {found.robust.value:.0f}")
