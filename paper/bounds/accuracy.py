"""How much privacy costs: bounds that hold, for the curator who chooses a budget.

With x* optimal for the true data and x̃ the private answer, c̃ = c + e its objective, a point y that
the release accepts gives cᵀx* − cᵀx̃ ≤ (cᵀx* − cᵀy) + eᵀ(x̃ − y) (``docs/theory.md``, section 5).

* **certain**: y = x_W, optimal for the most tightened data that the noise can produce.
* **likely**: y accepted with probability 1 − β (:mod:`paper.bounds.accepted_points`).
* **mean**: the best accepted one of several points; a private objective costs, besides, what each
  of its entries can be off by.
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
from paper.bounds.worst_answer import WorstAnswer, objective_directions
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

    @classmethod
    def of(cls, noise: ReleaseNoise, values: Floats) -> _Case:
        entries, objective = noise.entries(values), noise.part.c
        truth = noise.part.at(entries)
        read, direction = objective_directions(objective, truth.c.size)
        up, down = noise.error_means(entries)
        optimum = solve(truth).objective
        span = coordinate_ranges(truth, direction)
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
        )

    def mean(self, found: list[Candidate]) -> float:
        """Bound of the mean, over the best accepted candidate."""
        if not self.read.size:
            return staircase(found)
        nested = [[part for part in found if part.rejection <= p] for p in (0.5, 0.05, 0.0)]
        distinct = {len(part): part for part in nested}.values()
        return min(map(self._private_mean, distinct))

    def _private_mean(self, found: list[Candidate]) -> float:
        """The coordinatewise bound, over the given candidates."""
        up, down = (part[self.read] for part in self.noise.error_means(self.entries))
        low, high = self.worst.span
        at = np.array([self.direction @ part.y for part in found])
        error = up @ (high - at.min(axis=0)) + down @ (at.max(axis=0) - low)
        return staircase(found) + float(error)
