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

from paper.blocks import Block, Form
from paper.linear import Floats, Integers

#: More than the rounding of a sum of sizes: no sensitivity is rounded down.
ROUND_UP = 1.0 + 2.0**-40


@dataclass(frozen=True, slots=True)
class SimplexRows:
    """Rows a·y ≤ β; the first `num_own` are those of A x ≤ b."""

    a: sparse.csr_array
    beta: Floats
    width: float  # public bound on |a_ij|
    num_own: int
    mask: sparse.csr_array  # ones where the own rows read the database
    # where a record meets a row: row, column (the slack column stands for β), the pair (record,
    # row), and how far it moves
    term_row: Integers
    term_col: Integers
    term_pair: Integers
    term_size: Floats

    def score_sensitivity(self, y: Floats) -> float:
        """How far one record can move any score a_i·y − β_i at this (public) y."""
        if not self.term_size.size:
            return 0.0
        factor = np.append(y[:-1], 1.0)  # β is counted in the slack column, where a is zero
        moved = np.bincount(self.term_pair, weights=self.term_size * factor[self.term_col])
        return float(moved.max()) * ROUND_UP

    def row_sensitivity(self) -> Floats:
        """Per own row, how far (ℓ1) one record can move a_i."""
        largest = np.zeros(self.num_own)
        if self.term_size.size:
            in_a = self.term_col < self.a.shape[1] - 1
            moved = np.bincount(self.term_pair, weights=self.term_size * in_a)
            np.maximum.at(largest, self.term_row, moved[self.term_pair] * ROUND_UP)
        return largest


def simplex_rows(part: Form, values: Floats, *, scale: float) -> SimplexRows:
    """The rows of a program at the database `values`, for x = scale·y."""
    upper = np.flatnonzero(np.isfinite(part.upper))
    n, m = part.num_variables, part.A.shape[0]
    bounds = sparse.eye_array(n, format="csr")[upper]
    public = sparse.vstack([part.A_eq, -part.A_eq, bounds], format="csr")
    rhs = np.concatenate([part.b_eq, -part.b_eq, part.upper[upper]])
    largest_A, largest_b = _largest(part.A, part), _largest(part.b, part)
    magnitude = np.concatenate(
        [
            np.where(largest_b > 0, largest_b, scale * largest_A),
            np.where(rhs != 0, np.abs(rhs), scale * _row_max(public)),
        ]
    )
    magnitude[magnitude == 0] = 1.0
    a = sparse.vstack([part.A.at(values), public], format="csr")
    a = sparse.csr_array(sparse.diags_array(scale / magnitude) @ a)
    top = np.concatenate([largest_A, _row_max(public)]) * scale / magnitude
    row, col, _ = part.A.places
    return SimplexRows(
        a=sparse.hstack([a, sparse.csr_array((a.shape[0], 1))], format="csr"),
        beta=np.concatenate([part.b.at(values).toarray().ravel(), rhs]) / magnitude,
        width=float(top.max(initial=0.0)),
        num_own=m,
        mask=sparse.csr_array((np.ones(row.size), (row, col)), shape=(m, n + 1)),
        **_terms(part, scale, magnitude),
    )


def _terms(part: Form, scale: float, magnitude: Floats) -> dict[str, np.ndarray]:
    """Every term as often as there are records that change its entry."""
    A, b = part.A, part.b
    row = np.concatenate([A.row, b.row])
    col = np.concatenate([A.col, np.full(b.row.size, part.num_variables)])
    entry = np.concatenate([A.entry, b.entry])
    factor = np.abs(np.concatenate([scale * A.coefficient, b.coefficient]))
    reads = sparse.csr_array(
        (np.ones(entry.size), (np.arange(entry.size), entry)),
        shape=(entry.size, part.envelope.size),
    )
    met = sparse.coo_array(reads @ part.change.T)
    term, record = met.coords
    keys = record * max(A.shape[0], 1) + row[term]
    return {
        "term_row": row[term],
        "term_col": col[term],
        "term_pair": np.unique(keys, return_inverse=True)[1],
        "term_size": factor[term] * met.data / magnitude[row[term]],
    }


def _largest(block: Block, part: Form) -> Floats:
    """Per row, the largest absolute number over the envelope: public."""
    low, high = block.extremes(part.envelope.lower, part.envelope.upper)
    return np.maximum(_row_max(low), _row_max(high))


def _row_max(matrix: sparse.csr_array) -> Floats:
    if not matrix.shape[0]:
        return np.zeros(0)
    return np.asarray(abs(matrix).max(axis=1).todense(), dtype=np.float64).ravel()
