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
plan = cp.Problem(cp.Minimize(cost), [stock >= 0])

answer = dp.cvxpy.solve(plan, {orders: [40, 60, 75, 25]}, epsilon=2, delta="1/1000")
print(regular.value.round(1), overtime.value.round(1), answer.certificate)
print(f"cost {plan.value:.0f}; without the orders {answer.robust_value:.0f}")
