"""Truncated Laplace noise N on [−s, s], entry by entry, and the ends of its intervals.

Entry k is published as θ_k + N_k, and as the interval of half-width s_k around it, cut by the
envelope. All that bounds ask of the law are its tail P(N > t) and its excess
E(N − t)⁺ = ∫_t^∞ P(N > u) du; for instance

    E min(N⁺, r) = E(N)⁺ − E(N − r)⁺,        E[N; N > t] = E(N − t)⁺ + t P(N > t).

The distance D = min(s + N, r) of an interval's upper end from its value, cut by an envelope r away,
has mean s − E(N − (r − s))⁺. The law is symmetric: lower ends are upper ends of −N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paper.linear import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Density ∝ exp(−|z|/σ) on [−s, s], one (σ, s) per entry; s = ∞ is allowed."""

    scale: Floats
    support: Floats

    @property
    def variance(self) -> Floats:
        decay = np.exp(-self.support / self.scale)
        s = np.where(decay > 0, self.support, 0.0)
        inner = 2 * self.scale**2 - decay * (s**2 + 2 * s * self.scale + 2 * self.scale**2)
        return np.where(self.support < 1e-4 * self.scale, s**2 / 3.0, inner / (1.0 - decay))

    def tail(self, t: Floats | float) -> Floats:
        """P(N > t)."""
        decay = np.exp(-self.support / self.scale)
        near = np.exp(-np.minimum(np.abs(t), self.support) / self.scale)
        half = (near - decay) / (1.0 - decay) / 2
        return np.where(np.less(t, 0), 1.0 - half, half)

    def excess(self, t: Floats | float) -> Floats:
        """E(N − t)⁺."""
        size = np.minimum(np.abs(t), self.support)
        decay = np.exp(-self.support / self.scale)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = np.where(np.isinf(self.support), np.inf, (self.support - size) / self.scale)
            lost = np.where(decay > 0, decay * (1.0 + rest), 0.0)
            small = decay * (np.expm1(np.minimum(rest, 1.0)) - rest)
        part = np.where(rest < 1.0, small, np.exp(-size / self.scale) - lost)
        found = self.scale * part / (2.0 * (1.0 - decay))
        return found + np.maximum(-np.asarray(t), 0.0)

    def only(self, which: Integers) -> Law:
        """The noise of chosen entries."""
        return Law(self.scale[which], self.support[which])

    def end_mean(self, room: Floats) -> Floats:
        """E D, D = min(s + N, room)."""
        known = np.isfinite(self.support)
        with np.errstate(invalid="ignore"):
            cut = self.excess(np.where(known, room - self.support, 0.0))
            return np.where(known, self.support - cut, room)

    def end_below(self, distance: Floats, *, room: Floats | float) -> Floats:
        """P(D ≤ distance)."""
        return np.where(distance >= room, 1.0, 1.0 - self.tail(distance - self.support))

    def end_probability(self, room: Floats) -> Floats:
        """P(D = room): the end reaches an envelope `room` away from the value."""
        known = np.isfinite(self.support)
        with np.errstate(invalid="ignore"):
            return np.where(known, self.tail(np.where(known, room - self.support, 0.0)), 1.0)

    def mean_up_to(self, room: Floats | float) -> Floats:
        """E min(N⁺, room)."""
        return self.excess(0.0) - self.excess(room)
