"""Points that the private program will accept, each with the probability that it does not.

Boxes B_f grow from the true values (f = 0) over the mean ends of the released intervals (f = ½) to
their furthest ends (f = 1, the *worst box*); y_f is optimal for B_f. Whether a release accepts it
is bounded in two ways: *entrywise*, by a product of tails, because the released box lies in B_f
unless some interval leaves it, and *rowwise* (:mod:`paper.bounds.row_tails`). The losses L_f and
probabilities p_f of rejection give the *staircase* L_0 + Σ_f (L_{f+1} − L_f) p_f: section 5 of
``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import dp_cmdp as dp
from paper.bounds.noise import LATTICE_ROUNDING, ReleaseNoise
from paper.bounds.row_tails import RowTerms
from paper.linear import Floats

#: Positions of the boxes between the true values, the mean ends and the furthest ends.
POSITIONS = (*np.linspace(0.0, 0.4, 5), *np.linspace(0.45, 0.95, 11))


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A point, its loss cᵀx* − cᵀy, and a bound of the probability that it is rejected."""

    y: Floats
    loss: float
    rejection: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Comparison points for one database: *curator only*."""

    noise: ReleaseNoise
    entries: Floats
    c: Floats
    objective: Floats  # c + E e: what a comparison point should maximise
    optimum: float

    def candidates(self) -> list[Candidate]:
        """Points of increasing loss and decreasing rejection; the last is certainly accepted."""
        certain = self._candidate(*self.noise.worst_box(self.entries), rejection=0.0)
        found = [certain]
        if self.noise.in_rows().any() and certain.loss > 1e-12 * abs(self.optimum):
            rows = _Rows(self)
            for position in POSITIONS:
                low, high = self._box(position)
                point = self._candidate(low, high, rejection=self._leaves(low, high))
                chance = min(point.rejection, rows.rejection(point.y), 1.0)
                found.append(Candidate(point.y, point.loss, chance))
        return frontier(found)

    def _candidate(self, low: Floats, high: Floats, *, rejection: float) -> Candidate:
        y = self._best_in(low, high)
        return Candidate(y, max(self.optimum - float(self.c @ y), 0.0), rejection)

    def _best_in(self, lower: Floats, upper: Floats) -> Floats:
        """The best point that is feasible for every database of a box."""
        target = self.noise.target.with_objective(maximize=self.objective)
        return target.answer(dp.extend.UncertaintySet.box(lower, upper), certify=False).x

    def _box(self, position: float) -> tuple[Floats, Floats]:
        stops = zip(
            self.noise.mean_box(self.entries), self.noise.worst_box(self.entries), strict=True
        )
        inner, outer = min(2 * position, 1.0), max(2 * position - 1.0, 0.0)
        low, high = (
            self.entries + inner * (mean - self.entries) + outer * (far - mean)
            for mean, far in stops
        )
        return low, high

    def _leaves(self, low: Floats, high: Floats) -> float:
        """P(some released interval leaves the box), over the entries that a row reads."""
        read = self.noise.in_rows()
        inside, law = np.ones(self.entries.size), self.noise.law
        rooms = high - self.entries, self.entries - low
        for room, full in zip(rooms, self.noise.room(self.entries), strict=True):
            inside -= np.where(room >= full, 0.0, law.end_probability(room))
        return float(1.0 - np.prod(np.maximum(inside[read], 0.0)))


def frontier(found: list[Candidate]) -> list[Candidate]:
    """Candidates that no other beats in both loss and rejection, by increasing loss."""
    kept: list[Candidate] = []
    for part in sorted(found, key=lambda part: (part.loss, part.rejection)):
        if not kept or part.rejection < kept[-1].rejection:
            kept.append(part)
        if part.rejection == 0.0:
            break
    return kept


def staircase(candidates: list[Candidate]) -> float:
    """Mean loss of the best accepted candidate, bounded."""
    total = candidates[0].loss
    for first, second in pairwise(candidates):
        total += (second.loss - first.loss) * first.rejection
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The sensitive rows of the released program at a fixed point, as random sums."""

    case: Comparison

    def rejection(self, y: Floats) -> float:
        """Bound of the probability that some row fails at y."""
        case, part = self.case, self.case.noise.part
        A, (up, down) = part.A, case.noise.room(case.entries)
        weights = part.weights(y)
        w, entry = weights.data, weights.indices
        row = np.repeat(np.arange(A.shape[0]), np.diff(weights.indptr))
        room = np.where(w > 0, up[entry], down[entry])
        law, b = case.noise.law.only(entry.astype(np.int64)), part.b.constant.toarray().ravel()
        slack = b - A.constant @ y - weights @ case.entries
        slack -= 1e-9 * (np.abs(b) + abs(A.constant) @ np.abs(y) + 1e-12)
        moved = np.flatnonzero(w)  # pairs are sorted by row
        ends = np.searchsorted(row[moved], np.arange(A.shape[0] + 1))
        total = 0.0
        for i in np.unique(row[moved]).tolist():
            here = moved[ends[i] : ends[i + 1]]
            terms = RowTerms(law.only(here), np.abs(w[here]), room[here])
            total += terms.failure(float(slack[i]) / (1.0 + LATTICE_ROUNDING))
            if total >= 1.0:
                break
        return min(total, 1.0)
