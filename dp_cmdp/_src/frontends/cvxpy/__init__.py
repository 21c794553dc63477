"""cvxpy problems with private parameters."""

import cvxpy as cp

from dp_cmdp._src.data.database import ENVELOPES
from dp_cmdp._src.frontends.cvxpy.parameter import PrivateParameter
from dp_cmdp._src.frontends.cvxpy.problem import CvxpyAnswer, CvxpyProblem, as_problem, load

ENVELOPES.append(
    lambda found: as_problem(found).envelope if isinstance(found, cp.Problem) else None
)

__all__ = ["CvxpyAnswer", "CvxpyProblem", "PrivateParameter", "as_problem", "load"]
