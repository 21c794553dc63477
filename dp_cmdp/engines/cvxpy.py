"""cvxpy with Clarabel: an interior-point method, independent of HiGHS, for second opinions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InfeasibleError, SolverError, UnboundedError
from dp_cmdp.lp import RawSolution

if TYPE_CHECKING:
    from dp_cmdp.lp import LinearProgram


class CvxpyEngine:
    """One cvxpy problem with b as a Parameter."""

    def __init__(self, lp: LinearProgram) -> None:
        self._lp = lp
        self._x = cp.Variable(lp.num_variables)
        self._rows: list[Any] = []
        self._b = cp.Parameter(lp.num_rows) if lp.num_rows else None
        if self._b is not None:
            self._rows.append(lp.A @ self._x <= self._b)
        self._equalities = [lp.A_eq @ self._x == lp.b_eq] if lp.b_eq.size else []
        bounds = []
        for side, finite in ((1.0, np.isfinite(lp.upper)), (-1.0, np.isfinite(lp.lower))):
            if finite.any():
                limit = lp.upper if side > 0 else lp.lower
                bounds.append(side * self._x[finite] <= side * limit[finite])
        self._problem = cp.Problem(
            cp.Maximize(lp.c @ self._x), [*self._rows, *self._equalities, *bounds]
        )

    def run(self, b: FloatArray) -> RawSolution:
        """Maximise with right-hand side `b`."""
        if self._b is not None:
            self._b.value = b
        try:
            self._problem.solve(solver=cp.CLARABEL)
        except cp.SolverError as error:
            raise SolverError(f"Clarabel failed ({error}); rescale the program") from None
        if self._problem.status in ("infeasible", "infeasible_inaccurate"):
            raise InfeasibleError("no point satisfies the constraints; relax a row or a bound")
        if self._problem.status in ("unbounded", "unbounded_inaccurate"):
            raise UnboundedError("the objective grows without limit; add upper bounds")
        if self._x.value is None:
            raise SolverError(f"Clarabel stopped with status {self._problem.status}")
        return RawSolution(
            x=np.array(self._x.value),
            dual=_multipliers(self._rows, self._lp.num_rows),
            dual_eq=_multipliers(self._equalities, self._lp.b_eq.size),
        )


def _multipliers(constraints: list[Any], size: int) -> FloatArray:
    return np.array(constraints[0].dual_value).reshape(size) if constraints else np.empty(0)
