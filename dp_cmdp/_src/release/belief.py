"""What one may believe of a database before and after a release: never what is certain of it.

Beliefs decide what is worth measuring and optimising. Entry by entry a belief is a density on a
grid of the entry's certain interval. An outcome of one entry multiplies it by the likelihood of its
noise, public prior numbers by exp(−|θ − prior|/error). An outcome of several entries *tilts* them,
multiplies by exp(a·weight·θ), until their sum has the mean that was measured. So does the plain sum
of a row's draws: clipping draws one by one makes their sum biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.program.answer import Problem

if TYPE_CHECKING:
    from dp_cmdp._src.release.release import Release

#: Places of the grid of an interval, as shares of it.
PLACES = ((np.arange(21) + 0.5) / 21)[:, None]
#: Largest tilt over an interval, as an exponent: all weight at one end.
STEEPEST = 60.0
#: Halvings of the bisection for a tilt: more digits than a belief deserves.
HALVINGS = 40
#: Logarithm of the chance of what cannot be.
UNLIKELY = -1e4
#: Where an entry is believed to be without any draw, as a share of its range.
LEVEL = 0.35
#: How far public prior numbers are trusted to be off, as a share of an entry's range.
PRIOR_ERROR = 0.125
#: Standard deviation of databases invented around prior numbers, as a share of the range.
AROUND_PRIOR = 0.1
#: (level, concentration) of invented databases, in turn.
STRATA = ((0.35, 2.0), (0.5, 2.0), (0.35, 0.5))


@dataclass(frozen=True, eq=False)
class Prior:
    """Public numbers near which the entries are believed to be; None: nothing is known."""

    values: FloatArray | None = None

    def sample(self, problem: Problem, rng: np.random.Generator, number: int) -> FloatArray:
        """Invented database `number`: entries at one level of their ranges, or around the prior.

        Entries that can only help (limits, capacities) are uniform.
        """
        envelope = problem.envelope
        width = envelope.upper - envelope.lower
        if self.values is not None:
            moved = self.values + AROUND_PRIOR * width * rng.standard_normal(width.size)
            return np.clip(moved, envelope.lower, envelope.upper)
        level, a = STRATA[number % len(STRATA)]
        share = rng.beta(a * level, a * (1.0 - level), size=width.size)
        share = np.where(helping(problem), rng.random(width.size), share).round(6)
        return np.clip(envelope.lower + share * width, envelope.lower, envelope.upper)


NOTHING_KNOWN = Prior()


def helping(problem: Problem) -> NDArray[np.bool_]:
    """Entries of which more never makes any row worse, and which no objective reads."""
    signs = problem.signs.tocoo()
    found = np.zeros(problem.envelope.size, dtype=bool)
    found[signs.col[signs.data < 0]] = True
    found[signs.col[signs.data >= 0]] = False
    found[objective_entries(problem)] = False
    return found


def objective_entries(problem: Problem) -> Any:
    """The entries that the value of a decision depends on, as far as the problem says so."""
    objective = getattr(getattr(problem, "linear", problem), "objective", None)
    if isinstance(objective, Affine):
        return np.unique(objective.entry)
    return np.asarray(getattr(problem, "objective_entries", []), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Belief:
    """Log densities on the grids of certain intervals, one column per entry."""

    lower: FloatArray
    width: FloatArray
    log: FloatArray

    def moments(self, entry: Any = None) -> tuple[FloatArray, FloatArray]:
        """Means and variances, of all entries or of some."""
        entry = slice(None) if entry is None else entry
        density = np.exp(self.log[:, entry] - self.log[:, entry].max(axis=0))
        density = density / density.sum(axis=0)
        mean = (PLACES * density).sum(axis=0)
        variance = ((PLACES - mean) ** 2 * density).sum(axis=0)
        width = self.width[entry]
        return self.lower[entry] + width * mean, width**2 * variance

    def tilt(self, entry: NDArray[np.integer[Any]], weight: FloatArray, goal: float) -> None:
        """Change the densities of `entry` so that Σ weight·mean is `goal`, as near as can be."""
        scaled, log = self.width[entry] * weight, self.log[:, entry]
        slope, steepness = PLACES * scaled, float(np.abs(scaled).max(initial=0.0))
        if steepness == 0.0:
            return
        low, high = -STEEPEST / steepness, STEEPEST / steepness
        base = float(weight @ self.lower[entry])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried = log + middle * slope
            tried = np.exp(tried - tried.max(axis=0))
            found = base + float((slope * (tried / tried.sum(axis=0))).sum())
            low, high = (middle, high) if found < goal else (low, middle)
        self.log[:, entry] = log + (low + high) / 2 * slope


def believed(problem: Problem, release: Release, prior: Prior) -> Belief:
    """The belief about every entry, given all that was published."""
    known = release.uncertainty
    width = np.maximum(known.upper - known.lower, 0.0)
    belief = Belief(known.lower, width, np.zeros((PLACES.size, width.size)))
    grid = belief.lower + PLACES * width
    envelope = problem.envelope
    weighed, precision = np.zeros(width.size), np.zeros(width.size)
    if prior.values is not None:
        error = PRIOR_ERROR * (envelope.upper - envelope.lower)
        live = np.flatnonzero(error > 0.0)
        error = error[live]
        belief.log[:, live] -= np.abs(grid[:, live] - prior.values[live]) / error
        precision[live] += 1.0 / (2.0 * error**2)
        weighed[live] += prior.values[live] / (2.0 * error**2)
    sums: list[tuple[Any, FloatArray, float, float]] = []
    for outcome in release.outcomes:
        query, law = outcome.measurement.query, outcome.measurement.law
        if not query.linear:
            continue
        W = query.weights
        seen = np.array(outcome.integers, dtype=object).astype(np.float64) - law.mean
        count = np.diff(W.indptr)
        single = np.flatnonzero(count == 1)
        entry = W.indices[W.indptr[single]]
        weight = W.data[W.indptr[single]] / envelope.step[entry]
        missed = seen[single] + law.mean - weight * grid[:, entry]
        likelihood = np.nan_to_num(law.log_weight(missed), neginf=UNLIKELY)
        np.add.at(belief.log.T, entry, likelihood.T)
        information = weight**2 / law.variance
        np.add.at(precision, entry, information)
        # the true integer is a cell, on average half a cell below the value
        value = (seen[single] + W.data[W.indptr[single]] / 2) / weight
        np.add.at(weighed, entry, information * value)
        for i in np.flatnonzero(count > 1):
            entry = W.indices[W.indptr[i] : W.indptr[i + 1]]
            cells = W.data[W.indptr[i] : W.indptr[i + 1]]
            weight = cells / envelope.step[entry]
            unit = float(np.abs(weight).max())
            middle = (seen[i] + cells.sum() / 2) / unit
            sums.append((entry, weight / unit, middle, law.variance / unit**2))
    _level(problem, belief, weighed, precision)
    for entry, weight, measured, noise in sums:
        mean, variance = belief.moments(entry)
        expected, spread = float(weight @ mean), float(weight**2 @ variance)
        if spread > 0.0:
            gain = spread / (spread + noise)
            belief.tilt(entry, weight, expected + gain * (measured - expected))
    return belief


def _level(problem: Problem, belief: Belief, weighed: FloatArray, precision: FloatArray) -> None:
    """Tilt each row's harmful entries to what their draws together say of the plain sum."""
    signs, envelope = problem.signs, problem.envelope
    for a, b in pairwise(signs.indptr.tolist()):
        entry = signs.indices[a:b][signs.data[a:b] > 0]
        if not entry.size:
            continue
        start, far = float(envelope.lower[entry].sum()), float(envelope.upper[entry].sum())
        total = start + LEVEL * (far - start)
        known = precision[entry] > 0.0
        if known.any() and far > start:
            # entries that nothing is published of stand at the middle level
            rest = entry[~known]
            width = envelope.upper[rest] - envelope.lower[rest]
            shown = weighed[entry[known]] / precision[entry[known]]
            shown = shown.sum() + (envelope.lower[rest] + LEVEL * width).sum()
            error = (1.0 / precision[entry[known]]).sum() + (width**2 / 12).sum()
            levels = np.linspace(start, far, 101)
            log = -0.5 * np.square(shown - levels) / error
            chance = np.exp(log - log.max())
            total = float(levels @ chance / chance.sum())
        belief.tilt(entry, np.ones(entry.size), total)


def estimated(problem: Problem, release: Release, prior: Prior) -> FloatArray:
    """The entries at which an objective is taken: within their certain intervals.

    Where entries alone were measured these are their draws, clipped: means of beliefs are no better
    then (in auctions whose prices may change to anything they lose up to a tenth more).
    """
    longest = 0
    for outcome in release.outcomes:
        terms = np.diff(outcome.measurement.query.weights.indptr)
        longest = max(longest, int(terms.max(initial=0)))
    if longest <= 1 and prior.values is None:
        return release.estimate
    known = release.uncertainty
    return np.clip(believed(problem, release, prior).moments()[0], known.lower, known.upper)
