"""How much privacy costs: bounds that hold, for the curator who chooses a budget.

With x* optimal for the true data and x̃ the private answer, c̃ = c + e its objective, a point y that
the release accepts gives cᵀx* − cᵀx̃ ≤ (cᵀx* − cᵀy) + eᵀ(x̃ − y) (``docs/theory.md``, section 5).

* **certain**: y = x_W, optimal for the most tightened data that the noise can produce.
* **likely**: y accepted with probability 1 − β (:mod:`paper.bounds.accepted_points`).
* **mean**: the best accepted one of several points; of a private objective coordinate by coordinate
  or by prices (:mod:`paper.bounds.price_bound`), whichever is smaller.
* **sampled**: an upper limit of the mean from simulated losses, too small with probability
  `FAILURE` at most (:mod:`paper.bounds.mean_limit`). The closest one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.bounds.accepted_points import Candidate, Comparison, staircase
from paper.bounds.mean_limit import mean_upper_limit
from paper.bounds.noise import ReleaseNoise, release_noise
from paper.bounds.price_bound import PricedError
from paper.bounds.worst_answer import WorstAnswer, direction_ranges, objective_directions
from paper.linear import Floats, Integers, LinearProgram, coordinate_ranges, solve

#: Probability with which a sampled limit may be too small.
FAILURE = 1e-6
#: Room for the solver's tolerances, relative to the optimum and the values.
OPTIMUM_ROOM = 1e-7


@dataclass(frozen=True, slots=True)
class AccuracyBound:
    """Bounds of cᵀx* − cᵀx̃."""

    optimum: float  # cᵀx*
    tightening: float  # cᵀx* − cᵀx_W: the part that comes from the constraints, with certainty
    certain: float  # no draw exceeds it; ∞ only for a private objective on an unbounded set
    mean: float  # the mean over draws does not exceed it
    likely: float  # exceeded with probability at most `failure`
    failure: float


def accuracy_bound(
    program: dp.ParametricLP,
    values: Floats,
    budget: dp.PrivacyBudget,
    *,
    mechanism: str = "entries",
    failure: float = 0.05,
) -> AccuracyBound:
    """The certified bound of what privacy will cost on this database.

    `mechanism` is "entries", the database released once, or "blocks", Algorithm 1 with equal
    shares.
    """
    case = _Case.of(release_noise(program, budget, mechanism=mechanism), values)
    found = case.points.candidates()
    certain = found[-1]
    likely = next(part for part in found if part.rejection <= failure)
    largest = case.worst.loss(certain.y)
    return AccuracyBound(
        optimum=case.optimum,
        tightening=certain.loss,
        certain=largest,
        mean=min(case.mean(found), largest),
        likely=min(case.worst.loss(likely.y), largest),
        failure=failure,
    )


def sampled_limit(losses: Floats, *, optimum: float, largest: float) -> float:
    """What the mean loss exceeds with probability `FAILURE` at most, from simulated losses.

    `largest` is a certain bound of the loss, such as :attr:`AccuracyBound.certain`.
    """
    if not np.isfinite(largest):
        raise dp.errors.InvalidArgumentError(
            "draws need a bounded loss: bound the variables of the program (upper, or a row)"
        )
    top = largest + OPTIMUM_ROOM * (abs(optimum) + largest)
    return mean_upper_limit(np.clip(losses, 0.0, top), top=top, failure=FAILURE)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One true program and the noise it would meet."""

    noise: ReleaseNoise
    entries: Floats  # that are released
    truth: LinearProgram
    optimum: float
    points: Comparison
    direction: sparse.csr_array  # h_k as rows, one per entry that the objective reads
    read: Integers  # those entries' numbers
    worst: WorstAnswer
    priced: PricedError | None

    @classmethod
    def of(cls, noise: ReleaseNoise, values: Floats) -> _Case:
        entries, objective = noise.entries(values), noise.part.c
        truth = noise.part.at(entries)
        read, direction = objective_directions(objective, truth.c.size)
        up, down = noise.error_means(entries)
        optimum = solve(truth).objective
        private = read.size > 0
        ranges = coordinate_ranges(truth) if private else (np.empty(0), np.empty(0))
        span = direction_ranges(truth, direction, ranges)
        limits = noise.error_limits(entries)
        return cls(
            noise=noise,
            entries=entries,
            truth=truth,
            optimum=optimum,
            points=Comparison(
                noise, entries, truth.c, truth.c + (up - down)[read] @ direction, optimum
            ),
            direction=direction,
            read=read,
            worst=WorstAnswer(truth, optimum, direction, span, (limits[0][read], limits[1][read])),
            priced=PricedError(noise, entries, truth, optimum, ranges) if private else None,
        )

    def mean(self, found: list[Candidate]) -> float:
        """Bound of the mean, over the best accepted candidate."""
        if self.priced is None:
            return staircase(found)
        nested = [[part for part in found if part.rejection <= p] for p in (0.5, 0.05, 0.0)]
        distinct = {len(part): part for part in nested}.values()
        return min(bound for part in distinct for bound in self._private_means(part, self.priced))

    def _private_means(self, found: list[Candidate], priced: PricedError) -> tuple[float, float]:
        """The coordinatewise bound and the bound by prices, over the given candidates."""
        lost = staircase(found)
        up, down = (part[self.read] for part in self.noise.error_means(self.entries))
        low, high = self.worst.span
        at = np.array([self.direction @ part.y for part in found])
        error = up @ (high - at.min(axis=0)) + down @ (at.max(axis=0) - low)
        moved = np.zeros(self.read.size)
        if self.noise.mechanism == "entries":  # else the noise of c is independent of the rest
            chance = np.array([part.rejection for part in found[:-1]])
            steps = np.abs(np.diff(at, axis=0))
            moved = np.maximum(*self.worst.limits) * (chance @ steps)
        gain = self.optimum - lost + float((up - down) @ at[0] - moved.sum())
        return lost + float(error), priced.best(gain)
