"""Names for what verbs take, for type checkers; at run time the verbs check it themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    import cvxpy as cp
    import pandas as pd
    from numpy.typing import ArrayLike

    from dp_cmdp._src.cmdp.parametric import ParametricCMDP
    from dp_cmdp._src.data.database import Database
    from dp_cmdp._src.program.parametric import ParametricLP
    from dp_cmdp._src.verbs.problems import UserProblem

    Numbers: TypeAlias = ArrayLike | pd.DataFrame | pd.Series | Mapping[Any, Any] | PathLike[str]
    Data: TypeAlias = Numbers | Callable[[], Any] | Database
    Problem: TypeAlias = ParametricLP | ParametricCMDP | cp.Problem | UserProblem
else:
    Data = Problem = object
