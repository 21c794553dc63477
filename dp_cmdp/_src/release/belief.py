"""What one may believe of a database before and after a release: never what is certain of it.

Beliefs decide what is worth measuring and optimising. Entry by entry a belief is a density on a
grid of the entry's certain interval: a prior times the likelihood of the noise of what was
measured. The prior is one of each public group of entries, as shares of their ranges, and is fitted
to the group's own outcomes by expectation and maximisation (empirical Bayes): what is known of a
group says how its entries lie. Before any outcome entries that harm stand at a public level, and
others anywhere. Public prior numbers take the place of both: exp(−|θ − prior|/error). An outcome of
several entries *tilts* them, multiplies by exp(a·weight·θ), until their sum has the mean that was
measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
#: Places of a group's prior, as shares of the range of its entries: closer than noise can tell.
SHAPE = (np.arange(24) + 0.5) / 24
#: Steps of expectation and maximisation: a prior that is not run to its end stays smooth.
FITTINGS = 60
#: Entries, in all, that are added to a group's, spread evenly: no place is impossible because no
#: entry of a group was seen there.
SPREAD = 0.5
#: A weight below which a prior's logarithm does not fall.
LEAST_WEIGHT = 1e-12
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
#: (level, concentration) of invented databases, in turn: low and at both ends, anywhere, …
STRATA = ((0.3, 0.5), (0.5, 2.0), (0.2, 1.0), (0.6, 1.0))


@dataclass(frozen=True, eq=False)
class Prior:
    """Public numbers near which the entries are believed to be; None: nothing is known."""

    values: FloatArray | None = None

    def sample(self, problem: Problem, rng: np.random.Generator, number: int) -> FloatArray:
        """Invented database `number`: entries at one level of their ranges, or around the prior.

        Entries that can only help (limits, capacities) are uniform, and so are those that the
        objective reads: what is at an end of its range is harmless or worth nothing.
        """
        envelope = problem.envelope
        width = envelope.upper - envelope.lower
        if self.values is not None:
            moved = self.values + AROUND_PRIOR * width * rng.standard_normal(width.size)
            return np.clip(moved, envelope.lower, envelope.upper)
        level, a = STRATA[number % len(STRATA)]
        share = rng.beta(a * level, a * (1.0 - level), size=width.size)
        anywhere = helping(problem)
        anywhere[objective_entries(problem)] = True
        share = np.where(anywhere, rng.random(width.size), share).round(6)
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

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A database of this belief, entry by entry."""
        density = np.exp(self.log - self.log.max(axis=0))
        ends = np.cumsum(density, axis=0)
        place = (ends < ends[-1] * rng.random(self.width.size)).sum(axis=0)
        share = (place + rng.random(self.width.size)) / PLACES.size
        return self.lower + self.width * np.minimum(share, 1.0)

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
    known, envelope = release.uncertainty, problem.envelope
    width = np.maximum(known.upper - known.lower, 0.0)
    belief = Belief(known.lower, width, np.zeros((PLACES.size, width.size)))
    places = belief.lower + PLACES * width
    belief.log[:], seen = _likelihood(release, places)
    if prior.values is not None:
        error = PRIOR_ERROR * (envelope.upper - envelope.lower)
        belief.log[:] -= np.abs(places - prior.values) / np.where(error > 0.0, error, 1.0)
    else:
        _shape(problem, release, belief, seen)
    for entry, weight, measured, noise in _sums(release):
        mean, variance = belief.moments(entry)
        expected, spread = float(weight @ mean), float(weight**2 @ variance)
        if spread > 0.0:
            gain = spread / (spread + noise)
            belief.tilt(entry, weight, expected + gain * (measured - expected))
    return belief


def _shape(problem: Problem, release: Release, belief: Belief, seen: NDArray[np.bool_]) -> None:
    """Multiply a belief by the prior of each group: as fitted, or as before any outcome."""
    envelope, known = problem.envelope, release.uncertainty
    low, width = envelope.lower, envelope.upper - envelope.lower
    seen, open_ = seen & (width > 0.0), ~helping(problem) & (width > 0.0)
    if seen.any():
        places = low + SHAPE[:, None] * width
        half = width / (2 * SHAPE.size)
        inside = (places >= known.lower - half) & (places <= known.upper + half)
        log = np.where(inside, _likelihood(release, places)[0], UNLIKELY)
        for group in envelope.groups:
            own = np.arange(group.start, group.stop)
            own = own[width[own] > 0.0]
            if seen[own].any():
                share = (belief.lower[own] + PLACES * belief.width[own] - low[own]) / width[own]
                weight = np.interp(share, SHAPE, _fitted(log[:, own[seen[own]]]))
                belief.log[:, own] += np.log(weight + LEAST_WEIGHT)
                open_[own] = False
    entry = np.flatnonzero(open_)
    unit = 1.0 / width[entry]
    belief.tilt(entry, unit, float(unit @ low[entry]) + LEVEL * entry.size)


def _fitted(log: FloatArray) -> FloatArray:
    """Weights of the places of a prior for entries of these log likelihoods, one per column."""
    chance = np.exp(log - log.max(axis=0))
    weight = np.full(SHAPE.size, 1.0 / SHAPE.size)
    for _ in range(FITTINGS):
        weight = weight * (chance @ (1.0 / (weight @ chance))) + SPREAD / SHAPE.size
        weight /= weight.sum()
    return weight


def _likelihood(release: Release, places: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Logarithms of the chance of what was measured of single entries, up to constants.

    At `places`, a column per entry; and which entries were measured.
    """
    step, log = release.envelope.step, np.zeros(places.shape)
    seen = np.zeros(places.shape[1], dtype=bool)
    for integers, W, law in _linear(release):
        lone = np.flatnonzero(np.diff(W.indptr) == 1)
        entry, weight = W.indices[W.indptr[lone]], W.data[W.indptr[lone]]
        missed = integers[lone] - weight / step[entry] * places[:, entry]
        np.add.at(log.T, entry, np.nan_to_num(law.log_weight(missed), neginf=UNLIKELY).T)
        seen[entry] = True
    return log, seen


def _sums(release: Release) -> Iterator[tuple[Any, FloatArray, float, float]]:
    """Measured queries of several entries: entries, weights, the value, the variance of its noise.

    Weights are at most 1. The true integer counts cells, on average half a cell below the value.
    """
    for integers, W, law in _linear(release):
        for i in np.flatnonzero(np.diff(W.indptr) > 1):
            inside = slice(W.indptr[i], W.indptr[i + 1])
            entry, cells = W.indices[inside], W.data[inside]
            weight = cells / release.envelope.step[entry]
            unit = float(np.abs(weight).max())
            middle = integers[i] - law.mean + cells.sum() / 2
            yield entry, weight / unit, middle / unit, law.variance / unit**2


def _linear(release: Release) -> Iterator[tuple[FloatArray, Any, Any]]:
    """Integers, weights and laws of the linear queries that were measured."""
    for outcome in release.outcomes:
        query = outcome.measurement.query
        if query.linear:
            integers = np.array(outcome.integers, dtype=object).astype(np.float64)
            yield integers, query.weights, outcome.measurement.law


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
