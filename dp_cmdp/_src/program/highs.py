"""HiGHS, kept warm between solves that differ only in right-hand sides and bounds.

highspy rather than scipy's wrapper because a certificate changes right-hand sides and bounds and
solves again: that is a warm start from the last basis here and a cold solve there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError, SolverError, UnboundedError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.program.linear import (
    LinearProgram,
    RawSolution,
    elastic_program,
    magnification,
)

#: Feasibility asked of HiGHS, primal and dual, on rows and objective scaled to size 1.
TOLERANCE = 1e-9
#: Iterations of the simplex per row and column, at most: usual are one or two, and without a limit
#: HiGHS circles for ever on some infeasible programs.
ITERATIONS = 100
#: Programs with at least so many rows and no basis to start from are solved by interior points:
#: 3 to 40 times as fast as simplex, and no faster in small ones.
INTERIOR_ROWS = 1_000
#: Squares of the lengths of its columns, summed, beyond which a program is left to simplex: long
#: columns make what interior points factorise dense (2.1 against .1 s, 20 rows of 1,000 entries).
LONG_COLUMNS = 1e7
#: Variables keep their units unless a coefficient is this small beside the largest of its row.
TINY = 2.0**-24
_SCALING_SWEEPS = 8
_STATUS = highspy.HighsModelStatus
_DECIDED = (_STATUS.kOptimal, _STATUS.kInfeasible, _STATUS.kUnbounded)
#: First verdicts that are taken at their word; presolve calls programs infeasible that are not.
_TRUSTED = (_STATUS.kOptimal, _STATUS.kUnbounded)
#: Options under which an undecided program is tried again, from scratch.
_OTHER_WAYS: tuple[dict[str, Any], ...] = (
    {"presolve": "off"},
    {"presolve": "off", "simplex_strategy": 4},
    {"presolve": "off", "solver": "ipm"},
)
_DEFAULTS: dict[str, Any] = {"presolve": "choose", "simplex_strategy": 1, "solver": "choose"}


@dataclass(frozen=True)
class Scale:
    """Rows are multiplied by `rows`, the objective by `objective`; x = `columns` × variables.

    All are powers of two, so that scaling is exact: HiGHS has absolute tolerances and drops tiny
    coefficients.
    """

    rows: FloatArray
    columns: FloatArray
    objective: float

    @classmethod
    def unit(cls, lp: LinearProgram) -> Scale:
        """No change of units."""
        return cls(np.ones(lp.b.size + lp.b_eq.size), np.ones(lp.c.size), 1.0)

    @classmethod
    def of(cls, lp: LinearProgram) -> Scale:
        """Units in which the largest coefficient of every row, and of the objective, is near 1."""
        matrix = abs(sparse.vstack([lp.A, lp.A_eq], format="csr"))
        rows = _row_units(matrix)
        columns = np.ones(lp.c.size)
        scaled = matrix.data * np.repeat(rows, np.diff(matrix.indptr))
        if scaled[scaled > 0.0].min(initial=1.0) < TINY:
            columns = _balanced(matrix)
            matrix.data *= columns[matrix.indices]
            rows = _row_units(matrix)
        top = float(np.abs(lp.c * columns).max(initial=0.0))
        return cls(rows, columns, float(2.0 ** -np.round(np.log2(top))) if top > 0 else 1.0)


def _row_units(matrix: sparse.csr_array) -> FloatArray:
    if not matrix.nnz:
        return np.ones(matrix.shape[0])
    largest = matrix.max(axis=1).toarray().ravel()
    return np.exp2(-np.round(np.log2(np.where(largest > 0.0, largest, 1.0))))


def _balanced(matrix: sparse.csr_array) -> FloatArray:
    """Units of the variables that make coefficients alike, in the mean of their logarithms."""
    entries = matrix.tocoo()
    used = entries.data > 0.0
    row, column, size = entries.row[used], entries.col[used], np.log2(entries.data[used])
    in_row = np.maximum(np.bincount(row, minlength=matrix.shape[0]), 1)
    in_column = np.maximum(np.bincount(column, minlength=matrix.shape[1]), 1)
    by_column = np.zeros(matrix.shape[1])
    for _ in range(_SCALING_SWEEPS):
        by_row = -np.bincount(row, size + by_column[column], minlength=in_row.size) / in_row
        by_column = -np.bincount(column, size + by_row[row], minlength=in_column.size) / in_column
    return np.exp2(np.clip(np.round(by_column), -500, 500))


class HighsEngine:
    """One HiGHS instance holding one program; each run starts from the last basis.

    The first run is by simplex from the basis `start`, of a program of the same shape; without one,
    where `interior` is set, by interior points and a crossover to a vertex.
    """

    def __init__(
        self,
        lp: LinearProgram,
        *,
        tolerance: float = TOLERANCE,
        start: highspy.HighsBasis | None = None,
        interior: bool = False,
    ) -> None:
        self._lp = lp
        self._scale = scale = Scale.of(lp)
        self._highs = _quiet_highs(lp, scale, tolerance)
        self._limits = (lp.b, lp.b_eq, lp.lower, lp.upper)
        if start is not None:
            self._highs.setBasis(start)
        elif interior:
            self._highs.setOptionValue("solver", "ipx")

    def correct(self, x: FloatArray, gap: FloatArray, gap_eq: FloatArray) -> RawSolution:
        """Move x by the best d with A d ≤ gap, A_eq d = gap_eq and x + d within the bounds.

        d is magnified, by a power of two, so that the largest violation counts as 1.
        """
        m = self._lp.b.size
        zoom = magnification(gap * self._scale.rows[:m], gap_eq * self._scale.rows[m:])
        low, high = self._lp.lower - x, self._lp.upper - x
        with np.errstate(over="ignore"):  # what is out of reach at this scale is infinite
            moved = self.run(zoom * gap, zoom * gap_eq, (zoom * low, zoom * high))
        return replace(moved, x=x + moved.x / zoom)

    def run(
        self,
        b: FloatArray | None = None,
        b_eq: FloatArray | None = None,
        bounds: tuple[FloatArray, FloatArray] | None = None,
    ) -> RawSolution:
        """Maximise, with other right-hand sides and bounds than the program's where given."""
        lp, (old_b, old_b_eq, old_lower, old_upper) = self._lp, self._limits
        b, b_eq = lp.b if b is None else b, lp.b_eq if b_eq is None else b_eq
        lower, upper = (lp.lower, lp.upper) if bounds is None else bounds
        m = b.size
        high = np.concatenate([b, b_eq]) * self._scale.rows
        low = np.concatenate([np.full(m, -np.inf), high[m:]])
        rows = np.flatnonzero(np.concatenate([b != old_b, b_eq != old_b_eq])).astype(np.int32)
        if rows.size:
            engine: Any = self._highs  # its stubs lack this call
            engine.changeRowsBounds(rows.size, rows, low[rows], high[rows])
        columns = np.flatnonzero((lower != old_lower) | (upper != old_upper)).astype(np.int32)
        if columns.size:
            unit = self._scale.columns[columns]
            low, high = lower[columns] / unit, upper[columns] / unit
            self._highs.changeColsBounds(columns.size, columns, low, high)
        self._limits = (b, b_eq, lower, upper)
        self._highs.run()
        self._highs.setOptionValue("solver", _DEFAULTS["solver"])
        status = self._highs.getModelStatus()
        if status not in _TRUSTED:
            status = self._settle()
        if status != _STATUS.kOptimal:
            raise _failure(status)
        solution = self._highs.getSolution()
        dual = np.asarray(solution.row_dual, dtype=np.float64)
        dual = dual * self._scale.rows / self._scale.objective
        return RawSolution(
            x=np.asarray(solution.col_value, dtype=np.float64) * self._scale.columns,
            dual=np.maximum(dual[:m], 0.0),
            dual_eq=dual[m:].copy(),
            basis=self._highs.getBasis(),
            iterations=max(self._highs.getInfo().simplex_iteration_count, 0),
        )

    def _settle(self) -> highspy.HighsModelStatus:
        """A verdict without presolve: feasibility apart from the objective, then other ways."""
        status = self._in_two_phases()
        for options in _OTHER_WAYS:
            if status in _DECIDED:
                return status
            self._highs.clearSolver()
            status = self._run_with(options)
        if status not in _DECIDED and self._contradiction():
            return _STATUS.kInfeasible
        return status

    def _contradiction(self) -> bool:
        """Whether the rows cannot all hold, by the elastic program in the units of this engine."""
        b, b_eq, lower, upper = self._limits
        scale, m = self._scale, b.size
        if not np.isfinite(b).all():
            return False
        own = LinearProgram(
            self._lp.c,
            _scaled(self._lp.A, scale.rows[:m], scale.columns),
            b * scale.rows[:m],
            _scaled(self._lp.A_eq, scale.rows[m:], scale.columns),
            b_eq * scale.rows[m:],
            lower / scale.columns,
            upper / scale.columns,
        )
        program = elastic_program(own)
        solver = _quiet_highs(program, Scale.unit(program), TOLERANCE)
        solver.run()
        missing = -solver.getInfo().objective_function_value
        return solver.getModelStatus() == _STATUS.kOptimal and missing > TOLERANCE

    def _in_two_phases(self) -> highspy.HighsModelStatus:
        """Any feasible point first, without an objective; then the best, from its basis."""
        columns = np.arange(self._lp.c.size, dtype=np.int32)
        cost = self._scale.objective * self._lp.c * self._scale.columns
        self._highs.clearSolver()
        self._highs.changeColsCost(columns.size, columns, np.zeros(columns.size))
        status = self._run_with({"presolve": "off"})
        self._highs.changeColsCost(columns.size, columns, cost)
        if status != _STATUS.kOptimal:
            return status
        return self._run_with({"presolve": "off", "simplex_strategy": 4})

    def _run_with(self, options: dict[str, Any]) -> highspy.HighsModelStatus:
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.run()
        status = self._highs.getModelStatus()
        for name in options:
            self._highs.setOptionValue(name, _DEFAULTS[name])
        return status


def suits_interior(lp: LinearProgram) -> bool:
    """Whether interior points should be faster, without a basis to start from."""
    length = np.bincount(lp.A.indices, minlength=1).astype(np.float64)
    return lp.b.size >= INTERIOR_ROWS and float(length @ length) <= LONG_COLUMNS


def _quiet_highs(lp: LinearProgram, scale: Scale, tolerance: float) -> highspy.Highs:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("primal_feasibility_tolerance", tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", tolerance)
    highs.setOptionValue("small_matrix_value", 1e-12)  # the least that HiGHS allows
    most = ITERATIONS * (lp.b.size + lp.b_eq.size + lp.c.size + ITERATIONS)
    highs.setOptionValue("simplex_iteration_limit", min(most, 2**31 - 1))
    # as arrays, which HiGHS reads without a detour through lists
    rows = _scaled(sparse.vstack([lp.A, lp.A_eq], format="csr"), scale.rows, scale.columns)
    right = np.concatenate([lp.b, lp.b_eq]) * scale.rows
    m = lp.b.size
    engine: Any = highs  # its stubs lack this form of the call
    taken = engine.passModel(
        lp.c.size,
        rows.shape[0],
        rows.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMaximize),
        0.0,
        scale.objective * lp.c * scale.columns,
        lp.lower / scale.columns,
        lp.upper / scale.columns,
        np.concatenate([np.full(m, -np.inf), right[m:]]),
        right,
        rows.indptr.astype(np.int32),
        rows.indices.astype(np.int32),
        rows.data,
        np.zeros(lp.c.size, dtype=np.int32),  # all continuous
    )
    if taken == highspy.HighsStatus.kError:  # solved all the same, it would end the process
        raise SolverError(
            "the program has numbers beyond what HiGHS takes, even scaled: rescale rows and "
            "variables so that coefficients and values are near 1"
        )
    return highs


def _scaled(matrix: sparse.csr_array, rows: FloatArray, columns: FloatArray) -> sparse.csr_array:
    data = matrix.data * np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    found = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    found.eliminate_zeros()  # of products that underflow
    return found


def _failure(status: highspy.HighsModelStatus) -> SolverError:
    if status == _STATUS.kInfeasible:
        return InfeasibleError(
            "no point satisfies the rows, the equality rows and the bounds; relax a row or a bound"
        )
    if status in (_STATUS.kUnbounded, _STATUS.kUnboundedOrInfeasible):
        return UnboundedError(
            "the objective grows without limit; add upper bounds on the variables or a budget row"
        )
    return SolverError(
        f"HiGHS found no optimum (status {status.name}), with and without presolve, by simplex and "
        "interior points; rescale rows and variables so that coefficients and values are near 1"
    )
