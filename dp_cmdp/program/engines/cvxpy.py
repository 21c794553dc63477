"""cvxpy with Clarabel: an interior-point method, independent of HiGHS, for second opinions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InfeasibleError, SolverError, UnboundedError
from dp_cmdp.program.linear_program import RawSolution, magnification

if TYPE_CHECKING:
    from dp_cmdp.program.linear_program import LinearProgram

#: A correction moves x by at most this many times the largest violation: Clarabel's accuracy is
#: relative to the size of its numbers.
_LARGEST_MOVE = 2.0**10


class CvxpyEngine:
    """One program in cvxpy, stated anew with every right-hand side."""

    def __init__(self, lp: LinearProgram) -> None:
        self._lp = lp
        self._A1 = np.asarray(abs(lp.A).sum(axis=1)).ravel()

    def run(self, b: FloatArray) -> RawSolution:
        """Maximise with right-hand side `b`."""
        return self._solve(b, self._lp.b_eq, self._lp.lower, self._lp.upper)

    def correct(self, x: FloatArray, gap: FloatArray, gap_eq: FloatArray) -> RawSolution:
        """Move x by the best d with A d ≤ gap, A_eq d = gap_eq and x + d within the bounds."""
        zoom = magnification(gap, gap_eq)
        low = np.maximum(zoom * (self._lp.lower - x), -_LARGEST_MOVE)
        high = np.minimum(zoom * (self._lp.upper - x), _LARGEST_MOVE)
        # a row cannot use more room than the range of its variables
        room = np.minimum(zoom * gap, 2.0 * _LARGEST_MOVE * self._A1)
        moved = self._solve(room, zoom * gap_eq, low, high)
        return RawSolution(x=x + moved.x / zoom, dual=moved.dual, dual_eq=moved.dual_eq)

    def _solve(
        self, b: FloatArray, b_eq: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> RawSolution:
        lp, x = self._lp, cp.Variable(self._lp.num_variables)
        rows: list[Any] = [lp.A @ x <= b] if b.size else []
        equalities: list[Any] = [lp.A_eq @ x == b_eq] if b_eq.size else []
        bounds = []
        for side, limit in ((1.0, upper), (-1.0, lower)):
            finite = np.isfinite(limit)
            if finite.any():
                bounds.append(side * x[finite] <= side * limit[finite])
        problem = cp.Problem(cp.Maximize(lp.c @ x), [*rows, *equalities, *bounds])
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.SolverError as error:
            raise SolverError(f"Clarabel failed ({error}); rescale the program") from None
        if problem.status in ("infeasible", "infeasible_inaccurate"):
            raise InfeasibleError("no point satisfies the constraints; relax a row or a bound")
        if problem.status in ("unbounded", "unbounded_inaccurate"):
            raise UnboundedError("the objective grows without limit; add upper bounds")
        if x.value is None:
            raise SolverError(f"Clarabel stopped with status {problem.status}")
        return RawSolution(
            x=np.array(x.value),
            dual=np.maximum(_multipliers(rows, b.size), 0.0),
            dual_eq=_multipliers(equalities, b_eq.size),
        )


def _multipliers(constraints: list[Any], size: int) -> FloatArray:
    return np.array(constraints[0].dual_value).reshape(size) if constraints else np.empty(0)
