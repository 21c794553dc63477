"""Units for rows, variables and objective in which a program has size 1.

HiGHS has absolute tolerances and drops tiny coefficients. All units are powers of two: scaling is
exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray

if TYPE_CHECKING:
    from dp_cmdp.program.linear_program import LinearProgram

#: Variables keep their units unless a coefficient is this small beside the largest of its row.
TINY = 2.0**-24
_SCALING_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """Rows are multiplied by `rows`, the objective by `objective`; x = `columns` × variables."""

    rows: FloatArray
    columns: FloatArray
    objective: float

    @classmethod
    def unit(cls, lp: LinearProgram) -> Scale:
        """No change of units."""
        return cls(np.ones(lp.num_rows + lp.b_eq.size), np.ones(lp.num_variables), 1.0)


def program_scale(lp: LinearProgram) -> Scale:
    """Units in which the largest coefficient of every row, and of the objective, is near 1."""
    matrix = abs(sparse.vstack([lp.A, lp.A_eq], format="csr"))
    rows = _row_units(matrix)
    columns = np.ones(lp.num_variables)
    scaled = matrix.data * np.repeat(rows, np.diff(matrix.indptr))
    if scaled[scaled > 0.0].min(initial=1.0) < TINY:
        columns = _balanced(matrix)
        matrix.data *= columns[matrix.indices]
        rows = _row_units(matrix)
    top = float(np.abs(lp.c * columns).max())
    return Scale(rows, columns, float(2.0 ** -np.round(np.log2(top))) if top > 0 else 1.0)


def _row_units(matrix: sparse.csr_array) -> FloatArray:
    if not matrix.nnz:
        return np.ones(matrix.shape[0])
    largest = np.asarray(matrix.max(axis=1).todense()).ravel()
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
