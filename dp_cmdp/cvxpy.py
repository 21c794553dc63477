"""Any cvxpy model, private by changing one word: ``cp.Parameter`` becomes ``PrivateParameter``."""

from dp_cmdp._src.base.extras import require

require("cvxpy")

from dp_cmdp._src.frontends.cvxpy.parameter import PrivateParameter  # noqa: E402
from dp_cmdp._src.frontends.cvxpy.problem import load  # noqa: E402

__all__ = ["PrivateParameter", "load"]
