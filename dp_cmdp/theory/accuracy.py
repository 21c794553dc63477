"""How much privacy costs: bounds that hold, for the curator who chooses a budget.

Let x* be optimal for the true data (A, b, c), X its feasible set, and x̃ the private answer, optimal
for c̃ = c + e over X̃ ⊆ X, the points that are feasible for everything a release allows. Whenever a
point y is in X̃, c̃ᵀx̃ ≥ c̃ᵀy gives

    cᵀx* − cᵀx̃  ≤  (cᵀx* − cᵀy) + (c̃ − c)ᵀ(x̃ − y).                                      (∗)

* **certain**: y = x_W, optimal for the most tightened data that the noise can produce. The second
  term vanishes for a public objective; else :mod:`dp_cmdp.theory.worst_answer` bounds the whole.
* **likely**: y accepted with probability 1 − β (:mod:`dp_cmdp.theory.accepted_points`).
* **mean**: the best accepted one of several points y. With c̃ − c = Σ_k e_k h_k and
  χ⁻_k ≤ h_kᵀx ≤ χ⁺_k on X the second term has mean at most
  Σ_k E e_k⁺(χ⁺_k − h_kᵀy) + E e_k⁻(h_kᵀy − χ⁻_k); or the bound by prices of
  :mod:`dp_cmdp.theory.price_bound`, whichever is smaller.
* **sampled**, when draws are asked for: an upper limit from simulated releases, right but for a
  stated chance (:mod:`dp_cmdp.theory.simulated_loss`). The closest one.

Also here: :func:`~dp_cmdp.theory.one_release.instance_bound`, for one release that was made, and
:func:`~dp_cmdp.public_interval.public_interval`, from no data at all. The proofs are in
``docs/theory.md``; the paper's own theorem is in :mod:`dp_cmdp.theory.paper.printed_bound`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.accepted_points import Candidate, Comparison, staircase
from dp_cmdp.theory.feasible_set import concentration_radius, coordinate_ranges, diameter_bound
from dp_cmdp.theory.one_release import instance_bound
from dp_cmdp.theory.price_bound import PricedError
from dp_cmdp.theory.public_interval import as_program, public_interval
from dp_cmdp.theory.release_noise import ReleaseNoise, release_noise
from dp_cmdp.theory.simulated_loss import SampledMean, sampled_mean
from dp_cmdp.theory.worst_answer import WorstAnswer

__all__ = [
    "AccuracyBound",
    "SampledMean",
    "accuracy_bound",
    "concentration_radius",
    "diameter_bound",
    "instance_bound",
    "public_interval",
]


@dataclass(frozen=True, slots=True)
class AccuracyBound:
    """Bounds of cᵀx* − cᵀx̃: *curator only*.

    Attributes
    ----------
    optimum : CuratorOnly
        cᵀx*.
    tightening : CuratorOnly
        cᵀx* − cᵀx_W: the part that comes from the constraints; it holds with certainty.
    certain : CuratorOnly
        No draw exceeds it; ∞ only when the objective is private and the feasible set unbounded.
    mean : CuratorOnly
        The mean over draws does not exceed it.
    likely : CuratorOnly
        Exceeded with probability at most `failure`.
    failure : float
    sampled : SampledMean or None
        From simulated releases: :attr:`SampledMean.limit` bounds the mean but for its own failure
        probability (1e-6). None when no draws were asked for.
    """

    optimum: CuratorOnly
    tightening: CuratorOnly
    certain: CuratorOnly
    mean: CuratorOnly
    likely: CuratorOnly
    failure: float
    sampled: SampledMean | None = None


@door
def accuracy_bound(
    program: ParametricLP | ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    mechanism: str = "database",
    alphas: Mapping[str, Number] | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] = "upper",
    failure: float = 0.05,
    draws: int = 0,
    rng: np.random.Generator | None = None,
) -> AccuracyBound:
    """The certified bound of what privacy will cost on this database.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    database : Database
    budget : PrivacyBudget
    mechanism, alphas, calibration, close
        The release, see :func:`dp_cmdp.theory.release_noise.release_noise`.
    failure : float
        Probability with which :attr:`AccuracyBound.likely` may be exceeded.
    draws : int
        Simulated releases for :attr:`AccuracyBound.sampled`; none by default. A few hundred bring
        it within a factor of 1.5 of the mean loss, a thousand within about 1.2.
    rng : numpy.random.Generator, optional
        Randomness of the simulation; required with `draws`.

    Returns
    -------
    AccuracyBound

    Notes
    -----
    A handful of linear programs, two per variable when the objective is private, one per draw.
    **Paper.** Ours; it answers ``prob:accurate`` and replaces ``thm:lp_accuracy_e``.
    **Privacy.** *Curator only*: the bound is computed from the true data and must not be published.
    """
    beta = _check.real("failure", failure, low=0.0, high=0.999)
    count = _check.size("draws", draws)
    source = _check.generator("rng", rng) if count else None
    noise = release_noise(
        as_program(program),
        budget,
        mechanism=mechanism,
        alphas=alphas,
        calibration=calibration,
        close=close,
    )
    case = _Case.of(noise, database)
    found = case.points.candidates()
    certain = found[-1]
    likely = next(part for part in found if part.rejection <= beta)
    largest = case.worst.loss(certain.y)
    return AccuracyBound(
        optimum=CuratorOnly(case.optimum),
        tightening=CuratorOnly(certain.loss),
        certain=CuratorOnly(largest),
        mean=CuratorOnly(min(case.mean(found), largest)),
        likely=CuratorOnly(min(case.worst.loss(likely.y), largest)),
        failure=beta,
        sampled=None
        if source is None
        else sampled_mean(
            noise,
            database.values,
            optimum=case.optimum,
            largest=largest,
            draws=count,
            rng=source,
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One true program and the noise it would meet."""

    noise: ReleaseNoise
    entries: FloatArray
    truth: LinearProgram
    optimum: float
    points: Comparison
    direction: sparse.csr_array  # h_k as rows, one per entry that the objective reads
    read: IntArray  # those entries' numbers
    worst: WorstAnswer
    priced: PricedError | None

    @classmethod
    def of(cls, noise: ReleaseNoise, database: Database) -> _Case:
        noise.program.check_owns(database)
        truth, objective = noise.program.at(database.values), noise.target.c
        entries = noise.entries(database.values)
        read, number = np.unique(objective.entry, return_inverse=True)
        shape = (read.size, truth.num_variables)
        direction = sparse.csr_array((objective.coefficient, (number, objective.row)), shape=shape)
        up, down = noise.error_means(entries)
        optimum = solve(truth, certify=False).objective
        private = read.size > 0
        ranges = coordinate_ranges(truth) if private else (np.empty(0), np.empty(0))
        span = _direction_ranges(truth, direction, ranges)
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
        if self.noise.mechanism == "database":  # else the noise of c is independent of the rest
            chance = np.array([part.rejection for part in found[:-1]])
            steps = np.abs(np.diff(at, axis=0))
            moved = np.maximum(*self.worst.limits) * (chance @ steps)
        gain = self.optimum - lost + float((up - down) @ at[0] - moved.sum())
        return lost + float(error), priced.best(gain)


def _direction_ranges(
    truth: LinearProgram, direction: sparse.csr_array, ranges: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """χ⁻, χ⁺ of the h_kᵀx: from the coordinates where h_k has one non-zero, else by programs."""
    if direction.shape[0] == 0:
        return np.empty(0), np.empty(0)
    if (np.diff(direction.indptr) > 1).any():
        return coordinate_ranges(truth, direction)
    low, high = (direction.data * end[direction.indices] for end in ranges)
    return np.minimum(low, high), np.maximum(low, high)
