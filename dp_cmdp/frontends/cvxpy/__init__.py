"""Any cvxpy model, private by changing one word: ``cp.Parameter`` becomes ``PrivateParameter``.

Models that are linear programs after cvxpy's reductions (free variables, ≥ and ==, ``abs``,
``max``, norms 1 and ∞, ``sum_largest``, …) become a ``ParametricLP`` through the affine map from
parameters to data that cvxpy makes of every problem that follows its rules for parameters (DPP).
Objectives may be curved where no private parameter enters the curve.

Notes
-----
**Privacy.** *Public*, but for :func:`solve`, which spends a budget: private values are handed to
that call and kept nowhere else.

Examples
--------
>>> import cvxpy as cp
>>> import dp_cmdp as dp
>>> price = dp.cvxpy.PrivateParameter(2, lower=0.5, upper=1, radius=0.01, name="price")
>>> x = cp.Variable(2, nonneg=True)
>>> problem = cp.Problem(cp.Maximize(3 * x[0] + 2 * x[1]), [price @ x <= 4])
>>> answer = dp.cvxpy.solve(problem, {price: [0.7, 0.8]}, epsilon=1, delta="1/1000")
>>> problem.status, answer.certificate.verified  # feasible for the true prices
('optimal', True)
"""

from dp_cmdp._extras import require

require("cvxpy")

from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem, compile  # noqa: E402
from dp_cmdp.frontends.cvxpy.parameter import PrivateParameter  # noqa: E402
from dp_cmdp.frontends.cvxpy.solve import Answer, check, solve  # noqa: E402

__all__ = ["Answer", "CompiledProblem", "PrivateParameter", "check", "compile", "solve"]
