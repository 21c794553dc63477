"""Linear programs as plain arrays, and what an engine returns.

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
