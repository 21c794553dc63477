"""Linear programs as plain arrays, their units, and what an engine returns.

maximise  cᵀx   subject to   A x ≤ b,   A_eq x = b_eq,   lower ≤ x ≤ upper
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.validation import FloatArray

#: Variables keep their units unless a coefficient is this small beside the largest of its row.
TINY = 2.0**-24
_SCALING_SWEEPS = 8


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """maximise cᵀx subject to A x ≤ b, A_eq x = b_eq, lower ≤ x ≤ upper."""

    c: FloatArray
    A: sparse.csr_array
    b: FloatArray
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray

    def slack(self, x: FloatArray) -> FloatArray:
        """b − A x per row: signs and minimum are exact, other values lower bounds."""
        return exact.tight_sums(*slack_terms(self.A, self.b, x), num_rows=self.b.size)


def slack_terms(
    A: sparse.csr_array, b: FloatArray, x: FloatArray
) -> tuple[NDArray[np.intp], list[FloatArray]]:
    """The terms of b − A x: rows and factors, but for x_j = 0."""
    m, x_term = b.size, x[A.indices]
    used = np.flatnonzero(x_term)
    rows = np.repeat(np.arange(m), np.diff(A.indptr))[used]
    return np.concatenate([rows, np.arange(m)]), [
        np.concatenate([-A.data[used], b]),
        np.concatenate([x_term[used], np.ones(m)]),
    ]


@dataclass(frozen=True)
class RawSolution:
    """What an engine returns before anything is verified; `basis` starts one of the same shape."""

    x: FloatArray
    dual: FloatArray
    dual_eq: FloatArray
    basis: Any = None
    iterations: int = 0


def magnification(gap: FloatArray, gap_eq: FloatArray) -> float:
    """The power of two, at least 1, that brings the largest violation to size 1."""
    worst = max(-float(gap.min(initial=0.0)), float(np.abs(gap_eq).max(initial=0.0)))
    return 2.0 ** min(max(0.0, -np.floor(np.log2(worst))), 900.0) if worst > 0.0 else 1.0


def elastic_program(
    lp: LinearProgram, rows: NDArray[np.integer[Any]] | None = None
) -> LinearProgram:
    """How far rows must give: max −Σ(s + p + q), A x − s ≤ b, A_eq x + p − q = b_eq, s, p, q ≥ 0.

    It has a solution whatever the rows say; but not where some of the inequality `rows` alone give.
    """
    m, n, chosen = lp.b.size, lp.c.size, np.arange(lp.b.size) if rows is None else rows
    k = lp.b_eq.size if rows is None else 0
    give = chosen.size + 2 * k
    relief = sparse.csr_array((-np.ones(chosen.size), (chosen, np.arange(chosen.size))), (m, give))
    places = (np.tile(np.arange(k), 2), np.arange(chosen.size, give))
    signs = sparse.csr_array((np.repeat([1.0, -1.0], k), places), (lp.b_eq.size, give))
    return LinearProgram(
        np.concatenate([np.zeros(n), -np.ones(give)]),
        sparse.csr_array(sparse.hstack([lp.A, relief])),
        lp.b,
        sparse.csr_array(sparse.hstack([lp.A_eq, signs])),
        lp.b_eq,
        np.concatenate([lp.lower, np.zeros(give)]),
        np.concatenate([lp.upper, np.full(give, np.inf)]),
    )


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
