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

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Rows A [x, t] ≤ b, and the rows A_aux [x, t] ≤ b_aux that define the variables t."""

    A: sparse.csr_array
    b: FloatArray
    A_aux: sparse.csr_array
    b_aux: FloatArray
    num_auxiliary: int


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

    def weights(self, x: FloatArray) -> FloatArray:
        """w_p(x) = Σ_j g_kij x_j − h_ik of every pair, in floats."""
        w = np.zeros(self._num_pairs)
        np.add.at(w, self.A_pair, self._A.coefficient * x[self._A.col])
        np.subtract.at(w, self.b_pair, self._b.coefficient)
        return w

    def counterpart(self, low: FloatArray, high: FloatArray) -> Counterpart:
        """The rows that hold for every θ in [low, high]."""
        A, b = self._A, self._b
        theta, undecided = self._worst_ends(low, high)
        fixed = np.where(undecided, 0.0, theta)
        moved = sparse.csr_array(
            (A.coefficient * fixed[self.A_pair], (A.row, A.col)), shape=(A.shape[0], A.shape[1])
        )
        shift = np.bincount(b.row, weights=b.coefficient * fixed[self.b_pair], minlength=b.shape[0])
        pairs = np.flatnonzero(undecided)
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

    def _worst_ends(
        self, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """θ_k at its worst for each pair, and the pairs whose worst end depends on x."""
        at_lower = self._A.coefficient * self._x_lower[self._A.col]
        at_upper = self._A.coefficient * self._x_upper[self._A.col]
        h = np.bincount(self.b_pair, weights=self._b.coefficient, minlength=self._num_pairs)
        w_min, w_max = (
            np.bincount(self.A_pair, weights=pick(at_lower, at_upper), minlength=self._num_pairs)
            - h
            for pick in (np.minimum, np.maximum)
        )
        start, end = low[self.entry], high[self.entry]
        return np.where(w_min >= 0, end, start), (w_min < 0) & (w_max > 0) & (start < end)

    def _epigraph(
        self, pairs: NDArray[np.intp], low: FloatArray, high: FloatArray
    ) -> tuple[sparse.csr_array, FloatArray]:
        """θ w_p(x) − t_p ≤ 0 at both ends of the interval, for the given pairs."""
        A, b = self._A, self._b
        count = pairs.size
        number = np.full(self._num_pairs, -1)
        number[pairs] = np.arange(count)
        in_A, in_b = number[self.A_pair] >= 0, number[self.b_pair] >= 0
        which = number[self.A_pair[in_A]]
        h = np.bincount(number[self.b_pair[in_b]], weights=b.coefficient[in_b], minlength=count)
        ends = low[self.entry[pairs]], high[self.entry[pairs]]
        rows = [
            sparse.hstack(
                [
                    sparse.csr_array(
                        (A.coefficient[in_A] * end[which], (which, A.col[in_A])),
                        shape=(count, A.shape[1]),
                    ),
                    -sparse.eye_array(count),
                ]
            )
            for end in ends
        ]
        return sparse.vstack(rows, format="csr"), np.concatenate([end * h for end in ends])

    def exact_slack(self, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Smallest b_i(θ) − A_i(θ)x over the box, in exact arithmetic, each rounded once."""
        A, b = self._A, self._b
        in_A, in_b = x[A.col], np.ones(b.coefficient.size)
        w = exact.row_sums(
            np.concatenate([self.A_pair, self.b_pair]),
            [np.concatenate([A.coefficient, -b.coefficient]), np.concatenate([in_A, in_b])],
            num_rows=self._num_pairs,
        )
        theta = np.where(w > 0, high[self.entry], low[self.entry])
        m = b.shape[0]
        base = np.repeat(np.arange(m), np.diff(A.constant.indptr))
        return exact.row_sums(
            np.concatenate([base, np.arange(m), A.row, b.row]),
            [
                np.concatenate([-A.constant.data, b.constant, -A.coefficient, b.coefficient]),
                np.concatenate([x[A.constant.indices], np.ones(m), in_A, in_b]),
                np.concatenate([np.ones(base.size + m), theta[self.A_pair], theta[self.b_pair]]),
            ],
            num_rows=m,
        )
