"""Robust counterparts of rows A(θ)x ≤ b(θ) over a box of databases.

Asking A(θ)x ≤ b(θ) of every θ with L ≤ θ ≤ U means, for row i,

    A0_i x − b0_i + Σ_k max{θ_k w_ik(x) : L_k ≤ θ_k ≤ U_k} ≤ 0,    w_ik(x) = Σ_j g_kij x_j − h_ik

so all places where θ_k meets row i are optimised *jointly*; taking each matrix entry at its own
worst would be safe but too cautious. Where the bounds of x fix the sign of w_ik, the maximum sits
at one end of the interval. Elsewhere (free variables, an entry on both sides of a row) a variable
t_ik ≥ U_k w_ik, t_ik ≥ L_k w_ik stands for it. Either way the counterpart is exact and linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Rows A [x, t] ≤ b, and the rows A_aux [x, t] ≤ b_aux that define the variables t.

    The last `num_positive` auxiliary variables are ≥ 0, the last `num_multipliers` of these are
    the multipliers that prove the rows over row facts (:mod:`dp_cmdp.program.polytope_rows`).
    """

    A: sparse.csr_array
    b: FloatArray
    A_aux: sparse.csr_array
    b_aux: FloatArray
    num_auxiliary: int
    num_positive: int = 0
    num_multipliers: int = 0


class UncertainRows:
    """Rows A(θ)x ≤ b(θ), seen as pairs p = (row i, database entry k).

    A pair collects every coefficient g_kij of A and h_ik of b through which θ_k enters row i.

    Attributes
    ----------
    row, entry : IntArray
        i and k of each pair.
    A_pair, b_pair : IntArray
        The pair of each term of A and of b.
    """

    def __init__(
        self,
        A: Affine,
        b: Affine,
        *,
        num_entries: int,
        x_lower: FloatArray,
        x_upper: FloatArray,
    ) -> None:
        self._A, self._b = A, b
        self._x_lower, self._x_upper = x_lower, x_upper
        keys, pair = np.unique(
            np.concatenate([A.row * num_entries + A.entry, b.row * num_entries + b.entry]),
            return_inverse=True,
        )
        self.row: IntArray = keys // num_entries
        self.entry: IntArray = keys % num_entries
        self.A_pair: IntArray = pair[: A.row.size]
        self.b_pair: IntArray = pair[A.row.size :]
        self._num_pairs = int(keys.size)

    @property
    def num_rows(self) -> int:
        return self._b.shape[0]

    def weights(self, x: FloatArray) -> FloatArray:
        """w_p(x) = Σ_j g_kij x_j − h_ik of every pair, in floats."""
        w = np.zeros(self._num_pairs)
        np.add.at(w, self.A_pair, self._A.coefficient * x[self._A.col])
        np.subtract.at(w, self.b_pair, self._b.coefficient)
        return w

    def weight_rows(
        self, pairs: IntArray, *, times: FloatArray | None = None
    ) -> tuple[sparse.csr_array, FloatArray]:
        """G and h with w_p(x) = Gx − h for the given pairs, or both `times` a number per pair."""
        number = np.full(self._num_pairs, -1)
        number[pairs] = np.arange(pairs.size)
        in_A, in_b = number[self.A_pair] >= 0, number[self.b_pair] >= 0
        which = number[self.A_pair[in_A]]
        each = np.ones(pairs.size) if times is None else times
        G = sparse.csr_array(
            (self._A.coefficient[in_A] * each[which], (which, self._A.col[in_A])),
            shape=(pairs.size, self._A.shape[1]),
        )
        h = np.zeros(pairs.size)
        np.add.at(h, number[self.b_pair[in_b]], self._b.coefficient[in_b])
        return G, h * each

    def signs(self) -> NDArray[np.int64]:
        """Sign of w_p(x) for every x within its bounds: 1, −1, or 0 where both occur."""
        w_min, w_max = self._weight_range
        return np.where(w_min >= 0, 1, np.where(w_max <= 0, -1, 0))

    def counterpart(
        self, low: FloatArray, high: FloatArray, *, at_low: IntArray | None = None
    ) -> Counterpart:
        """The rows that hold for every θ in [low, high], an interval per pair.

        The pairs `at_low` are taken at the lower end of theirs, whatever x is.
        """
        A, b = self._A, self._b
        theta, undecided = self._worst_ends(low, high)
        if at_low is not None:
            theta[at_low], undecided[at_low] = low[at_low], False
        fixed = np.where(undecided, 0.0, theta)
        moved = sparse.csr_array(
            (A.coefficient * fixed[self.A_pair], (A.row, A.col)), shape=(A.shape[0], A.shape[1])
        )
        shift = np.bincount(b.row, weights=b.coefficient * fixed[self.b_pair], minlength=b.shape[0])
        pairs = np.flatnonzero(undecided)
        if not pairs.size:
            none = sparse.csr_array((0, A.shape[1]))
            rows = sparse.csr_array(A.constant + moved)
            return Counterpart(rows, b.constant + shift, none, np.empty(0), num_auxiliary=0)
        in_rows = sparse.csr_array(
            (np.ones(pairs.size), (self.row[pairs], np.arange(pairs.size))),
            shape=(A.shape[0], pairs.size),
        )
        A_aux, b_aux = self._epigraph(pairs, low, high)
        return Counterpart(
            A=sparse.hstack([A.constant + moved, in_rows], format="csr"),
            b=b.constant + shift,
            A_aux=A_aux,
            b_aux=b_aux,
            num_auxiliary=pairs.size,
        )

    @cached_property
    def _weight_range(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest w_p(x) for x within its bounds."""
        at_lower = self._A.coefficient * self._x_lower[self._A.col]
        at_upper = self._A.coefficient * self._x_upper[self._A.col]
        w_min, w_max = np.zeros(self._num_pairs), np.zeros(self._num_pairs)
        np.add.at(w_min, self.A_pair, np.minimum(at_lower, at_upper))
        np.add.at(w_max, self.A_pair, np.maximum(at_lower, at_upper))
        h = np.zeros(self._num_pairs)
        np.add.at(h, self.b_pair, self._b.coefficient)
        return w_min - h, w_max - h

    def _worst_ends(
        self, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """θ_k at its worst for each pair, and the pairs whose worst end depends on x."""
        w_min, w_max = self._weight_range
        return np.where(w_min >= 0, high, low), (w_min < 0) & (w_max > 0) & (low < high)

    def _epigraph(
        self, pairs: NDArray[np.intp], low: FloatArray, high: FloatArray
    ) -> tuple[sparse.csr_array, FloatArray]:
        """θ w_p(x) − t_p ≤ 0 at both ends of the interval, for the given pairs."""
        ends = low[pairs], high[pairs]
        parts = [self.weight_rows(pairs, times=end) for end in ends]
        rows = [sparse.hstack([G, -sparse.eye_array(pairs.size)]) for G, _ in parts]
        return sparse.vstack(rows, format="csr"), np.concatenate([h for _, h in parts])

    def weight_signs(self, x: FloatArray) -> FloatArray:
        """The sign of w_p(x) of every pair, exactly."""
        rows, factors = self.weight_terms(x)
        return exact.row_signs(rows, factors, num_rows=self._num_pairs)

    def weight_terms(self, x: FloatArray) -> tuple[IntArray, list[FloatArray]]:
        """The terms of which w_p(x) is the sum: their pairs and their factors, but for x_j = 0."""
        A, b = self._A, self._b
        x_term = x[A.col]
        used = np.flatnonzero(x_term)
        return np.concatenate([self.A_pair[used], self.b_pair]), [
            np.concatenate([A.coefficient[used], -b.coefficient]),
            np.concatenate([x_term[used], np.ones(b.coefficient.size)]),
        ]

    def slack_terms(self, x: FloatArray, theta: FloatArray) -> tuple[IntArray, list[FloatArray]]:
        """The terms of b_i(θ) − A_i(θ)x, θ_p given per pair: rows and factors, but for x_j = 0."""
        A, b, m = self._A, self._b, self.num_rows
        x_base, x_term = x[A.constant.indices], x[A.col]
        fixed, used = np.flatnonzero(x_base), np.flatnonzero(x_term)
        base = np.repeat(np.arange(m), np.diff(A.constant.indptr))[fixed]
        return np.concatenate([base, np.arange(m), A.row[used], b.row]), [
            np.concatenate(
                [-A.constant.data[fixed], b.constant, -A.coefficient[used], b.coefficient]
            ),
            np.concatenate([x_base[fixed], np.ones(m), x_term[used], np.ones(b.coefficient.size)]),
            np.concatenate([np.ones(base.size + m), theta[self.A_pair[used]], theta[self.b_pair]]),
        ]

    def exact_slack(self, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Smallest b_i(θ) − A_i(θ)x over a box of databases: exact values, each rounded once."""
        theta = np.where(self.weight_signs(x) > 0, high[self.entry], low[self.entry])
        rows, factors = self.slack_terms(x, theta)
        return exact.row_sums(rows, factors, num_rows=self.num_rows)
