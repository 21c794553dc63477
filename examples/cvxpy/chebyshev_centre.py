"""The largest disc inside walls (Boyd and Vandenberghe, section 8.5; cvxpy's documentation).

Private: how far each wall is, from a survey that may not be published. A radius of 0.01 means that
a wall one centimetre further in or out cannot be told from the disc.
"""

import cvxpy as cp
import numpy as np

import dp_cmdp as dp

normals = np.array([[2.0, 1], [2, -1], [-1, 2], [-1, -2]])
distance = dp.cvxpy.PrivateParameter(4, lower=0.5, upper=1.5, radius=0.01, name="distance")
centre, radius = cp.Variable(2), cp.Variable()
inside = normals @ centre + np.linalg.norm(normals, axis=1) * radius <= distance
problem = cp.Problem(cp.Maximize(radius), [inside])

found = dp.solve(problem, {distance: np.ones(4)}, epsilon=2, delta=1e-3)
print(centre.value.round(3), found.certificate)
print(f"radius {problem.value:.3f}; without the survey {found.robust.value:.3f}")
