"""The probability that one row of a released program fails at a fixed point.

The row exceeds its true left-hand side by S = Σ_k |w_k| D_k, D_k = min(s_k + N_k, room_k), and it
fails when S exceeds the slack T. Of moderately many terms each is rounded up to a multiple of
T/steps, which only enlarges S, and their laws are convolved. Of many, with q = T − E S and widths
R_k: exp(−2q²/Σ w²R²) (Hoeffding), exp(−q²/(2Σw²V + ⅔ q max|w|R)) (Bernstein), Σw²V/(Σw²V + q²)
(Cantelli).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve

from paper.bounds.noise import Law
from paper.linear import Floats

#: Cells into which the slack is cut; each rounds a term by at most one cell, to the safe side.
TAIL_STEPS = 2048
#: Rows with more terms than this use the inequalities only.
MOST_TERMS = 300
#: Room for the rounding of the transforms.
TRANSFORM_ERROR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RowTerms:
    """The random terms of one row at one point."""

    law: Law
    weight: Floats  # |w_k| > 0
    room: Floats  # from the value to the envelope, on the harmful side

    def failure(self, slack: float) -> float:
        """Bound of P(S > slack)."""
        furthest = float(self.weight @ self._width())
        if slack >= furthest * (1.0 + 1e-12):
            return 0.0
        if slack <= 0.0:
            return 1.0
        bounds = [1.0, self._inequalities(slack)]
        if self.weight.size <= MOST_TERMS:
            bounds.append(self._convolution(slack))
        return min(bounds)

    def _convolution(self, slack: float) -> float:
        ends = slack / TAIL_STEPS * np.arange(TAIL_STEPS + 1)
        total = np.zeros(TAIL_STEPS + 1)
        total[0] = 1.0
        for k, weight in enumerate(self.weight):
            below = self.law.only(np.array([k])).end_below(ends / weight, room=self.room[k])
            total = fftconvolve(total, np.diff(below, prepend=0.0))[: TAIL_STEPS + 1]
            total = np.maximum(total, 0.0)
        return float(min(1.0 - total.sum() + TRANSFORM_ERROR, 1.0))

    def _inequalities(self, slack: float) -> float:
        q = slack - float(self.weight @ self.law.end_mean(self.room))
        if q <= 0.0:
            return 1.0
        width = self.weight * self._width()
        spread = float(self.weight**2 @ self.law.variance)
        return min(
            math.exp(-2 * q**2 / float(width @ width)),
            math.exp(-(q**2) / (2 * spread + 2 / 3 * q * float(width.max()))),
            spread / (spread + q**2),
        )

    def _width(self) -> Floats:
        """The largest distances."""
        return np.minimum(self.room, 2.0 * self.law.support)
