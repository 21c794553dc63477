"""cvxpy problems with private parameters."""

from typing import Any

import cvxpy as cp

from dp_cmdp._src.data.database import ENVELOPES
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.frontends.cvxpy.parameter import PrivateParameter, joined
from dp_cmdp._src.frontends.cvxpy.problem import CvxpyAnswer, CvxpyProblem, as_problem, load
from dp_cmdp._src.frontends.cvxpy.refusals import private_parameters, refuse_unfit

__all__ = ["CvxpyAnswer", "CvxpyProblem", "PrivateParameter", "as_problem", "load"]


def _envelope(problem: Any) -> Envelope | None:
    """The envelope of a cvxpy problem, for ``Database(values, problem)``."""
    if not isinstance(problem, cp.Problem):
        return None
    refuse_unfit(problem)
    return joined(private_parameters(problem))


ENVELOPES.append(_envelope)
