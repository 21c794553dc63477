"""Events that may tell two databases apart, found on training runs.

Every output is looked at through simple *features*: each coordinate, their sum, least and greatest
one, the number of zeros, the exception raised, and the exponent of the lowest bit that is set
(through which float noise leaks: 0 + z and 1 + z do not fill the same floats). A feature is cut
into cells; an event is a union of cells. Two families are tried per feature: the tails, and the
cells in which one database is more likely by a factor e^t, which is the best event of a hockey-
stick divergence by the Neyman–Pearson lemma.

Whatever is found here is only a proposal: :mod:`dp_cmdp._src.checking.audit.black_box` judges it on new
runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.checking.audit.outcomes import FloatArray, Outcomes

#: Cells a coordinate is cut into, where it has more values than that.
EVENT_CELLS = 192
#: A value seen in more than this share of the runs is a cell of its own.
ATOM = 0.004
#: Coordinates beyond this are looked at through sums and extremes only.
COORDINATES = 12
#: Binary exponent given to zero: above that of every double.
ZERO_EXPONENT = 2000.0

Labels = NDArray[np.int64]
Feature = Callable[[Outcomes], FloatArray]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs: those whose feature falls into the chosen cells."""

    name: str
    feature: Feature
    edges: FloatArray
    chosen: NDArray[np.bool_]

    def count(self, outcomes: Outcomes) -> int:
        """How many runs fall into the event."""
        return int(self.chosen[_cells(self.feature(outcomes), self.edges)].sum())


def lowest_bit(values: FloatArray) -> FloatArray:
    """e such that the value is an odd multiple of 2^e; a large number for 0 and NaN."""
    finite = np.where(np.isfinite(values), values, 0.0)
    fraction, exponent = np.frexp(finite)
    mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    low = (mantissa & -mantissa).astype(np.float64)
    found = exponent - 53.0 + np.log2(np.maximum(low, 1.0))
    return np.where(mantissa == 0, ZERO_EXPONENT, found)


def features(first: Outcomes, second: Outcomes, *, representation: bool) -> dict[str, Feature]:
    """Named features that fit the outputs of both databases."""
    size = min(first.values.shape[1], COORDINATES)
    found: dict[str, Feature] = {}
    for kind, attribute in (("kind of output", "kind"), ("text of output", "text")):
        labels = np.union1d(getattr(first, attribute), getattr(second, attribute))
        if labels.size > 1:
            found[kind] = _category(attribute, labels)
    for place in range(size):
        found[f"coordinate {place}"] = lambda o, j=place: o.values[:, j]
        if representation:
            found[f"lowest bit of coordinate {place}"] = lambda o, j=place: lowest_bit(
                o.values[:, j]
            )
    if first.values.shape[1] > 1:
        found["sum"] = lambda o: o.values.sum(axis=1)
        found["least"] = lambda o: o.values.min(axis=1)
        found["greatest"] = lambda o: o.values.max(axis=1)
        found["zeros"] = lambda o: (o.values == 0).sum(axis=1).astype(np.float64)
    return found


def _category(attribute: str, labels: NDArray[np.str_]) -> Feature:
    def code(outcomes: Outcomes) -> FloatArray:
        shown: NDArray[np.str_] = getattr(outcomes, attribute)
        place = np.minimum(np.searchsorted(labels, shown), labels.size - 1)
        return np.where(labels[place] == shown, place, -1).astype(np.float64)

    return code


def candidates(
    first: Outcomes, second: Outcomes, *, epsilon: float, representation: bool
) -> Iterator[tuple[Event, int, int]]:
    """Events with their training counts on both databases."""
    for name, feature in features(first, second, representation=representation).items():
        one, two = feature(first), feature(second)
        edges = _edges(one, two)
        number = edges.size + 2
        count_one = np.bincount(_cells(one, edges), minlength=number)
        count_two = np.bincount(_cells(two, edges), minlength=number)
        for label, chosen in _unions(count_one, count_two, epsilon):
            yield (
                Event(f"{name}: {label}", feature, edges, chosen),
                int(count_one[chosen].sum()),
                int(count_two[chosen].sum()),
            )


def _unions(one: Labels, two: Labels, epsilon: float) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    share_one, share_two = one / max(one.sum(), 1), two / max(two.sum(), 1)
    for factor in sorted({1.0, math.exp(epsilon), math.exp(2 * epsilon), math.inf}):
        bound = np.where(share_two > 0, factor * share_two, 0.0) if factor < math.inf else 0.0
        likely = share_one > bound
        if factor == math.inf:
            likely = likely & (two == 0)
        if likely.any():
            yield f"likelihood ratio above {factor:.3g}", likely
    place = np.arange(one.size)
    for cut in range(2, one.size):
        yield "lower tail", (place >= 1) & (place < cut)
        yield "upper tail", place >= cut


def _edges(one: FloatArray, two: FloatArray) -> FloatArray:
    """Cell borders: quantiles of both samples, their extremes, and both sides of every atom."""
    pooled = np.concatenate([one, two])
    pooled = pooled[~np.isnan(pooled)]
    if pooled.size == 0:
        return np.empty(0)
    values, counts = np.unique(pooled, return_counts=True)
    if values.size <= EVENT_CELLS:
        return values
    atoms = values[counts > ATOM * pooled.size]
    parts = [np.quantile(pooled, np.linspace(0, 1, EVENT_CELLS), method="nearest")]
    parts += [atoms, np.nextafter(atoms, np.inf)]
    for side in (one, two):
        if not np.isnan(side).all():
            parts.append(np.array([np.nanmin(side), np.nextafter(np.nanmax(side), np.inf)]))
    return np.unique(np.concatenate(parts))


def _cells(values: FloatArray, edges: FloatArray) -> Labels:
    """0 for NaN (no vector), then 1 + the number of edges not above the value."""
    place = 1 + np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), 0, place).astype(np.int64)
