"""The cheapest cat food that keeps its label (the blending problem of PuLP's documentation).

Private: what suppliers measured of protein and fat in their ingredients. A radius of 0.001 means
that a measurement that differs by a tenth of a percent cannot be told.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

price = np.array([0.013, 0.008, 0.010, 0.002, 0.005, 0.001])  # chicken, beef, mutton, rice, …
fibre = np.array([0.001, 0.005, 0.003, 0.1, 0.15, 0])
salt = np.array([0.002, 0.005, 0.007, 0.002, 0.008, 0])
measured = np.array([[0.1, 0.2, 0.15, 0, 0.04, 0], [0.08, 0.1, 0.11, 0.01, 0.01, 0]])

content = dp.cvxpy.PrivateParameter(
    (2, 6), lower=0, upper=measured + 0.05, radius=0.001, name="content"
)
grams = cp.Variable(6, nonneg=True)
short = cp.Variable(2, nonneg=True)  # label not reached: relabelled at a price
label = [content @ grams + short >= [8, 6], fibre @ grams <= 2, salt @ grams <= 0.4]
problem = cp.Problem(cp.Minimize(price @ grams + cp.sum(short)), [cp.sum(grams) == 100, *label])

found = dp.solve(problem, {content: measured}, epsilon=2, delta=1e-3)
print(grams.value.round(1), found.certificate)
print(f"price {problem.value:.3f}; without the measurements {found.robust.value:.3f}")
