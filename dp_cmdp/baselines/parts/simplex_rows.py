"""The rows of a program over the simplex, and how far one record can move them.

With x = S y, y in the simplex (one slack coordinate), each row divided by a public magnitude r_i:

    a_i = S A_i/r_i,   β_i = b_i/r_i,   a_i·y ≤ β_i

Equalities become two rows, finite upper bounds one row each. r_i is the largest |b_i| of the
envelope (or S·max|A_ij| where that is 0), so nothing here is scaled by private data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.program.parametric import ParametricLP

#: More than the rounding of a sum of sizes: no sensitivity is rounded down.
ROUND_UP = 1.0 + 2.0**-40


@dataclass(frozen=True, slots=True)
class SimplexRows:
    """Rows a·y ≤ β; the first `num_sensitive` read the database: *curator only*.

    Attributes
    ----------
    width : float
        Public bound on |a_ij|.
    mask : sparse.csr_array
        Ones at the sensitive positions of the sensitive rows.
    term_row, term_col, term_pair, term_size : arrays
        For each place where a database entry meets a row: row, column (the slack column stands
        for β), the pair (record, row), and how far it can move.
    """

    a: sparse.csr_array
    beta: FloatArray
    width: float
    num_sensitive: int
    mask: sparse.csr_array
    term_row: IntArray
    term_col: IntArray
    term_pair: IntArray
    term_size: FloatArray

    def score_sensitivity(self, y: FloatArray) -> float:
        """How far one record can move any score a_i·y − β_i at this (public) y."""
        if not self.term_size.size:
            return 0.0
        factor = np.append(y[:-1], 1.0)  # β is counted in the slack column, where a is zero
        moved = np.bincount(self.term_pair, weights=self.term_size * factor[self.term_col])
        return float(moved.max()) * ROUND_UP

    def row_sensitivity(self) -> FloatArray:
        """Per sensitive row, how far (ℓ1) one record can move a_i."""
        largest = np.zeros(self.num_sensitive)
        if self.term_size.size:
            in_a = self.term_col < self.a.shape[1] - 1
            moved = np.bincount(self.term_pair, weights=self.term_size * in_a)
            np.maximum.at(largest, self.term_row, moved[self.term_pair] * ROUND_UP)
        return largest


def simplex_rows(program: ParametricLP, values: FloatArray, *, scale: float) -> SimplexRows:
    """The rows of `program` at the database `values`, for x = scale·y: *curator only*."""
    upper = np.flatnonzero(np.isfinite(program.upper))
    n = program.num_variables
    bounds = sparse.eye_array(n, format="csr")[upper]
    public = sparse.vstack([program.A_ub, program.A_eq, -program.A_eq, bounds], format="csr")
    rhs = np.concatenate([program.b_ub, program.b_eq, -program.b_eq, program.upper[upper]])
    largest_A, largest_b = _largest(program.A, program), _largest(program.b, program)
    magnitude = np.concatenate(
        [
            np.where(largest_b > 0, largest_b, scale * largest_A),
            np.where(rhs != 0, np.abs(rhs), scale * _row_max(public)),
        ]
    )
    magnitude[magnitude == 0] = 1.0
    a = sparse.vstack([program.A.at(values), public], format="csr")
    a = sparse.csr_array(sparse.diags_array(scale / magnitude) @ a)
    top = np.concatenate([largest_A, _row_max(public)]) * scale / magnitude
    m = program.A.shape[0]
    row, col, _ = program.A.sensitive()
    return SimplexRows(
        a=sparse.hstack([a, sparse.csr_array((a.shape[0], 1))], format="csr"),
        beta=np.concatenate([program.b.at(values), rhs]) / magnitude,
        width=float(top.max(initial=0.0)),
        num_sensitive=m,
        mask=sparse.csr_array((np.ones(row.size), (row, col)), shape=(m, n + 1)),
        **_terms(program, scale, magnitude),
    )


def _terms(program: ParametricLP, scale: float, magnitude: FloatArray) -> dict[str, np.ndarray]:
    A, b, envelope = program.A, program.b, program.envelope
    row = np.concatenate([A.row, b.row])
    entry = np.concatenate([A.entry, b.entry])
    factor = np.abs(np.concatenate([scale * A.coefficient, b.coefficient]))
    keys = envelope.records[entry] * max(A.shape[0], 1) + row
    return {
        "term_row": row,
        "term_col": np.concatenate([A.col, np.full(b.row.size, program.num_variables)]),
        "term_pair": np.unique(keys, return_inverse=True)[1],
        "term_size": factor * envelope.radius[entry] / magnitude[row],
    }


def _largest(part: Affine, program: ParametricLP) -> FloatArray:
    """Per row, the largest absolute entry over the envelope: public."""
    low, high = part.bounds(program.envelope.lower, program.envelope.upper)
    vector = len(part.shape) == 1
    largest = np.abs(part.constant) if vector else _row_max(part.constant)
    row, _, _ = part.sensitive()
    if vector:
        largest[row] = 0.0
    np.maximum.at(largest, row, np.maximum(np.abs(low), np.abs(high)))
    return largest


def _row_max(matrix: sparse.csr_array) -> FloatArray:
    if not matrix.shape[0]:
        return np.zeros(0)
    return np.asarray(abs(matrix).max(axis=1).todense(), dtype=np.float64).ravel()
