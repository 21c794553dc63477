"""The cheapest menu that meets a patient's needs (the diet of the AMPL book, chapter 2).

Private: the four daily needs, from a medical file. A radius of 10 means that two files whose needs
differ by 10 in one nutrient cannot be told apart.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

cost = np.array([3.19, 2.59, 2.29, 2.89, 1.89, 1.99, 1.99, 2.49])  # beef, chicken, fish, ham, …
content = np.array(  # vitamins A, C, B1, B2 per package
    [
        [60, 8, 8, 40, 15, 70, 25, 60],
        [20, 0, 10, 40, 35, 30, 50, 20],
        [10, 20, 15, 35, 15, 15, 25, 15],
        [15, 20, 10, 10, 15, 15, 15, 10],
    ]
)
need = dp.cvxpy.PrivateParameter(4, lower=300, upper=900, radius=10, name="need")
packages = cp.Variable(8, bounds=[0, 100])
problem = cp.Problem(cp.Minimize(cost @ packages), [content @ packages >= need])

found = dp.solve(problem, {need: [700, 700, 700, 700]}, epsilon=2, delta=1e-3)
print(packages.value.round(2), found.certificate)
print(f"cost {problem.value:.2f}; without looking at the file {found.robust.value:.2f}")
