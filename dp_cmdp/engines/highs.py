"""HiGHS, kept warm between solves that differ only in the right-hand side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InfeasibleError, SolverError, UnboundedError
from dp_cmdp.lp import RawSolution

if TYPE_CHECKING:
    from dp_cmdp.lp import LinearProgram

_STATUS = highspy.HighsModelStatus


class HighsEngine:
    """One HiGHS instance holding one program; each run changes b and starts from the last basis."""

    def __init__(self, lp: LinearProgram) -> None:
        self._lp = lp
        self._rows, self._gain = _scales(lp)
        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
        self._highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
        self._highs.passModel(_model(lp, self._rows, self._gain))
        self._b = lp.b

    def run(self, b: FloatArray) -> RawSolution:
        """Maximise with right-hand side `b`."""
        changed = np.flatnonzero(b != self._b).astype(np.int32)
        for row in changed:
            limit = float(b[row] * self._rows[row])
            self._highs.changeRowBounds(int(row), -highspy.kHighsInf, limit)
        self._b = b
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == _STATUS.kUnboundedOrInfeasible:
            self._highs.setOptionValue("presolve", "off")
            self._highs.run()
            status = self._highs.getModelStatus()
        if status != _STATUS.kOptimal:
            raise _failure(status)
        solution = self._highs.getSolution()
        dual = np.asarray(solution.row_dual, dtype=np.float64) * self._rows / self._gain
        m = self._lp.num_rows
        return RawSolution(
            x=np.asarray(solution.col_value, dtype=np.float64),
            dual=np.maximum(dual[:m], 0.0),
            dual_eq=dual[m:].copy(),
        )


def _scales(lp: LinearProgram) -> tuple[FloatArray, float]:
    """Powers of two that bring every row and the objective to size 1.

    HiGHS has absolute tolerances and drops tiny coefficients; scaling by powers of two is exact.
    """
    rows = sparse.vstack([lp.A, lp.A_eq], format="csr")
    largest = np.asarray(abs(rows).max(axis=1).todense()).ravel() if rows.nnz else np.ones(0)
    largest = np.where(largest > 0.0, largest, 1.0) if rows.nnz else np.ones(rows.shape[0])
    top = float(np.abs(lp.c).max())
    return np.exp2(-np.round(np.log2(largest))), 2.0 ** -round(np.log2(top)) if top > 0 else 1.0


def _model(lp: LinearProgram, scale: FloatArray, gain: float) -> highspy.HighsLp:
    rows = sparse.vstack([lp.A, lp.A_eq], format="csr")
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = lp.num_variables, rows.shape[0]
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_, model.col_lower_, model.col_upper_ = gain * lp.c, lp.lower, lp.upper
    b, b_eq = lp.b * scale[: lp.num_rows], lp.b_eq * scale[lp.num_rows :]
    model.row_lower_ = np.concatenate([np.full(lp.num_rows, -highspy.kHighsInf), b_eq])
    model.row_upper_ = np.concatenate([b, b_eq])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.indptr
    model.a_matrix_.index_ = rows.indices
    model.a_matrix_.value_ = rows.data * np.repeat(scale, np.diff(rows.indptr))
    return model


def _failure(status: highspy.HighsModelStatus) -> SolverError:
    if status == _STATUS.kInfeasible:
        return InfeasibleError(
            "no point satisfies A x ≤ b, A_eq x = b_eq and the bounds; relax a row or a bound "
            "(ParametricLP.check_robust_feasibility names the rows and the amount)"
        )
    if status in (_STATUS.kUnbounded, _STATUS.kUnboundedOrInfeasible):
        return UnboundedError(
            "the objective grows without limit; add upper bounds on the variables or a budget row"
        )
    return SolverError(f"HiGHS stopped with status {status.name}; rescale the program")
