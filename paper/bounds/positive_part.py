"""E f(N)⁺ for what one released entry does to one coordinate of a priced objective.

    f(N) = a + p e(N) − q U(N) + r D(N)

with the error of the estimate e(N) = min(max(N, −cut⁻), cut⁺), the distance of the interval's upper
end U(N) = min(s + N, room⁺) and of its lower end D(N) = min(s − N, room⁻), all driven by
one noise N. f is linear between its at most four breakpoints, so on each piece α + βN is positive
on one interval I, and E[α + βN; I] = αP(I) + βE[N; I] follows from the law's tail and excess.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from paper.bounds.noise import Law, ReleaseNoise
from paper.linear import Floats, Integers


@dataclass(frozen=True, slots=True)
class PositivePart:
    """E f⁺, P(f > 0), and E[e; f > 0], E[U; f > 0], E[D; f > 0]: its slopes in a, p, −q, r."""

    mean: Floats
    chance: Floats
    error: Floats
    up: Floats
    down: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EntryNoise:
    """The noise of chosen entries with all that cuts it: *curator only*."""

    law: Law
    cut: tuple[Floats, Floats]  # of the estimate, up and down
    room: tuple[Floats, Floats]  # of the interval's ends, up and down

    @classmethod
    def of(cls, noise: ReleaseNoise, entries: Floats, *, which: Integers) -> EntryNoise:
        cut, room = noise.error_room(entries), noise.room(entries)
        return cls(
            noise.law.only(which), (cut[0][which], cut[1][which]), (room[0][which], room[1][which])
        )

    def positive_part(self, a: Floats, *, p: Floats, q: Floats, r: Floats) -> PositivePart:
        """The mean of f⁺ and its slopes; plain Laplace noise needs q = r = 0."""
        weights = np.stack([a, p, -q, r])
        sums = np.zeros((5, a.size))
        for low, high in pairwise(self._breakpoints()):
            constants, slopes = self._pieces(_inside(low, high))
            alpha, beta = (weights * constants).sum(axis=0), (weights * slopes).sum(axis=0)
            chance, moment = self._where_positive(alpha, beta, low, high)
            sums[0] += alpha * chance + beta * moment
            sums[1:] += constants * chance + slopes * moment
        return PositivePart(*sums)

    def _breakpoints(self) -> Floats:
        """Ends of the linear pieces, in increasing order."""
        law, (cut_up, cut_down), (room_up, room_down) = self.law, self.cut, self.room
        inner = np.stack([-cut_down, cut_up, room_up - law.support, law.support - room_down])
        ends = np.clip(inner, -law.support, law.support)
        return np.sort(np.vstack([-law.support, ends, law.support]), axis=0)

    def _pieces(self, at: Floats) -> tuple[Floats, Floats]:
        """Constants and slopes of 1, e, U and D on the pieces that contain `at`."""
        law, (cut_up, cut_down), (room_up, room_down) = self.law, self.cut, self.room
        free = (at > -cut_down) & (at < cut_up)
        rising, falling = at + law.support < room_up, law.support - at < room_down
        stuck = np.where(at >= cut_up, cut_up, -cut_down)
        constants = np.stack(
            [
                np.ones(at.size),
                np.where(free, 0.0, stuck),
                np.where(rising, law.support, room_up),
                np.where(falling, law.support, room_down),
            ]
        )
        slopes = np.zeros(constants.shape)
        slopes[1], slopes[2], slopes[3] = free, rising, -1.0 * falling
        return constants, slopes

    def _where_positive(
        self, alpha: Floats, beta: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """P and E[N; ·] of {low < N < high, α + βN > 0}."""
        root = -alpha / np.where(beta == 0, 1.0, beta)
        first = np.where(beta > 0, np.clip(root, low, high), low)
        last = np.where(beta < 0, np.clip(root, low, high), high)
        last = np.where((beta == 0) & (alpha <= 0), first, last)
        (tail, moment), (tail_end, moment_end) = self._beyond(first), self._beyond(last)
        return tail - tail_end, moment - moment_end

    def _beyond(self, t: Floats) -> tuple[Floats, Floats]:
        """P(N > t) and E[N; N > t]."""
        tail = self.law.tail(t)
        finite = np.isfinite(t)
        at = np.where(finite, t, 0.0)
        return tail, np.where(finite, self.law.excess(at) + at * tail, 0.0)


def _inside(low: Floats, high: Floats) -> Floats:
    """A point of each piece."""
    start, end = np.isfinite(low), np.isfinite(high)
    ends = np.where(start, low, 0.0), np.where(end, high, 0.0)
    middle = np.where(start, ends[0] + 1.0, np.where(end, ends[1] - 1.0, 0.0))
    return np.where(start & end, (ends[0] + ends[1]) / 2, middle)
