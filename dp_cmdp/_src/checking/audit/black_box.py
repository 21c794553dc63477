"""The black box: a lower bound on ε from runs alone.

A mechanism is (ε, δ)-private only if p − e^ε q ≤ δ for every event, p and q being its probabilities
on two adjacent databases. Half of the runs choose a few events; the other half give one-sided
Clopper–Pearson limits p ≥ p_lo, q ≤ q_hi, which hold for all of the chosen events together with
probability 1 − α. The layer objects iff p_lo − e^ε q_hi > δ for one of them, so a private mechanism
is accused with probability at most α. Equivalently ε ≥ ln((p_lo − δ)/q_hi) exceeds the claim. A
pass proves nothing: an event that was not looked for may exist.

Outputs are looked at through *features*: each coordinate, their sum, least and greatest one, the
number of zeros, the exception raised (it is an output, too), and the exponent of the lowest bit
that is set (through which float noise leaks: 0 + z and 1 + z do not fill the same floats). A
feature is cut into cells and an event is a union of cells: the tails, and the cells in which one
database is more likely by a factor e^t, the best event of a divergence (Neyman and Pearson).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.checking.report import Finding

#: Confidence with which training counts are compared.
TRAINING_ALPHA = 0.01
#: Cells a feature is cut into, where it has more values than that.
EVENT_CELLS = 192
#: A value seen in more than this share of the runs is a cell of its own.
ATOM = 0.004
#: Coordinates beyond this are looked at through sums and extremes only.
COORDINATES = 12
#: Binary exponent given to zero: above that of every double.
ZERO_EXPONENT = 2000.0
#: Characters of an exception's text that are kept.
LONGEST_TEXT = 1000
VECTOR = "vector"
CLAIM = "black box: runs do not tell two adjacent databases apart further than (ε, δ)"

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]
Mechanism = Callable[[FloatArray, np.random.Generator], ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Independent runs on one database: vectors (NaN where there was none), the kind of output
    (``"vector"``, or the type of what was raised or returned), and that with its text."""

    values: FloatArray
    kind: NDArray[Any]
    text: NDArray[Any]

    def __getitem__(self, part: slice) -> Outcomes:
        return Outcomes(self.values[part], self.kind[part], self.text[part])


Feature = Callable[[Outcomes], FloatArray]


def repeated(
    mechanism: Mechanism,
    pair: tuple[FloatArray, FloatArray],
    *,
    runs: int,
    rng: np.random.Generator,
) -> list[Outcomes]:
    """Runs of a mechanism on both databases of a pair."""
    seen = [[_run(mechanism, values, rng) for _ in range(runs)] for values in pair]
    size = max((vector.size for side in seen for vector, _, _ in side), default=0)
    found: list[Outcomes] = []
    for side in seen:
        values = np.full((len(side), size), np.nan)
        kinds: list[str] = []
        for row, (vector, kind, _) in enumerate(side):
            values[row, : vector.size] = vector
            odd = kind == VECTOR and vector.size != size
            kinds.append(f"{vector.size} entries" if odd else kind)
        texts = [text or kind for kind, (_, _, text) in zip(kinds, side, strict=True)]
        found.append(Outcomes(values, np.array(kinds), np.array(texts)))
    return found


def _run(
    mechanism: Mechanism, values: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, str, str]:
    """The vector, its kind and text of one run."""
    try:
        said: Any = mechanism(values.copy(), rng)
        vector = np.asarray(said)
        if vector.dtype.kind in "fiub" and not hasattr(said, "mask"):
            return vector.astype(np.float64).ravel(), VECTOR, ""
    except Exception as error:  # somebody else's function
        said = error
    try:
        text = repr(said) if hasattr(said, "dtype") else str(said)
    except Exception as error:  # somebody else's text
        text = f"no text: {type(error).__name__}"
    kind = type(said).__name__
    return np.empty(0), kind, f"{kind}: {text[:LONGEST_TEXT]}"


def black_box(
    subject: str,
    mechanism: Mechanism,
    pair: tuple[FloatArray, FloatArray],
    claim: PrivacyBudget,
    *,
    runs: int,
    rng: np.random.Generator,
    alpha: float,
    representation: bool = True,
) -> Finding:
    """Judge a mechanism by `runs` training and `runs` held-out runs on each database.

    `alpha` is the probability of accusing a private mechanism; `representation`: look at the bits
    of floats, too. A mechanism that raised in every run, and so never answered, is refused.
    """
    epsilon, delta = float(claim.epsilon), float(claim.delta)
    one, two = repeated(mechanism, pair, runs=2 * runs, rng=rng)
    chosen = [
        (event, a, b)
        for a, b in ((one, two), (two, one))
        for event in _best_events(a[:runs], b[:runs], epsilon, delta, representation)
    ]
    share = alpha / max(2 * len(chosen), 1)
    best, words = 0.0, "no event told the databases apart"
    numbers = {"runs": float(2 * runs)}
    for event, a, b in chosen:
        low = lower_limit(event.count(a[runs:]), runs, alpha=share)
        high = upper_limit(event.count(b[runs:]), runs, alpha=share)
        bound = epsilon_bound(low, high, delta)
        if bound > best:
            best, words = bound, f"best event: {event.name}"
            numbers |= {"p_low": low, "q_high": high}
    kinds = sorted({*one.kind.tolist(), *two.kind.tolist()})
    if best <= epsilon and kinds and VECTOR not in kinds:
        raise InvalidArgumentError(
            "mechanism raised in every run on both databases, or returned what is no vector "
            f"({', '.join(kinds)}), so there is nothing to audit; it is called as "
            "mechanism(values, rng) and must return a vector"
        )
    numbers["epsilon_lower_bound"] = best
    why = f"{2 * runs} runs on each; {words}; ε ≥ {best:.3g} with certainty 1 − {alpha:.0e}"
    word = "passed" if best <= epsilon else None
    return Finding(subject, CLAIM, best <= epsilon, why, word, numbers=numbers)


def lower_limit(count: int, runs: int, *, alpha: float) -> float:
    """Clopper–Pearson: the probability is at least this, with confidence 1 − alpha."""
    return 0.0 if count == 0 else float(beta.ppf(alpha, count, runs - count + 1))


def upper_limit(count: int, runs: int, *, alpha: float) -> float:
    """Clopper–Pearson: the probability is at most this, with confidence 1 − alpha."""
    return 1.0 if count == runs else float(beta.ppf(1 - alpha, count + 1, runs - count))


def epsilon_bound(p_low: float, q_high: float, delta: float) -> float:
    """The ε below which p_low − e^ε q_high > δ; 0 when there is none."""
    return max(0.0, math.log((p_low - delta) / q_high)) if p_low > delta else 0.0


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


def _best_events(
    first: Outcomes, second: Outcomes, epsilon: float, delta: float, representation: bool
) -> list[Event]:
    """On training runs, the event of greatest excess and the one of greatest bound."""
    found: list[Event] = []
    hits: list[int] = []
    misses: list[int] = []
    for name, feature in _features(first, second, representation).items():
        one, two = feature(first), feature(second)
        edges = _edges(one, two)
        a, b = (np.bincount(_cells(x, edges), minlength=edges.size + 2) for x in (one, two))
        for label, chosen in _unions(a, b, epsilon):
            found.append(Event(f"{name}: {label}", feature, edges, chosen))
            hits.append(int(a[chosen].sum()))
            misses.append(int(b[chosen].sum()))
    if not found:
        return []
    hit, missed, runs = np.array(hits, float), np.array(misses, float), len(first.kind)
    low = np.nan_to_num(beta.ppf(TRAINING_ALPHA, hit, runs - hit + 1), nan=0.0)
    high = np.nan_to_num(beta.ppf(1 - TRAINING_ALPHA, missed + 1, runs - missed), nan=1.0)
    excess = low - math.exp(epsilon) * high - delta
    bound = np.log(np.maximum(low - delta, 1e-300) / high)
    return [found[place] for place in sorted({int(excess.argmax()), int(bound.argmax())})]


def _features(first: Outcomes, second: Outcomes, representation: bool) -> dict[str, Feature]:
    """Named features that fit the outputs of both databases."""
    found: dict[str, Feature] = {}
    for name in ("kind", "text"):
        labels = np.union1d(getattr(first, name), getattr(second, name))
        if labels.size > 1:
            found[f"{name} of output"] = _category(name, labels)
    for place in range(min(first.values.shape[1], COORDINATES)):
        found[f"coordinate {place}"] = lambda o, j=place: o.values[:, j]
        if representation:
            bit = f"lowest bit of coordinate {place}"
            found[bit] = lambda o, j=place: lowest_bit(o.values[:, j])
    if first.values.shape[1] > 1:
        found["sum"] = lambda o: o.values.sum(axis=1)
        found["least"] = lambda o: o.values.min(axis=1)
        found["greatest"] = lambda o: o.values.max(axis=1)
        found["zeros"] = lambda o: (o.values == 0).sum(axis=1).astype(np.float64)
    return found


def _category(name: str, labels: NDArray[Any]) -> Feature:
    def code(outcomes: Outcomes) -> FloatArray:
        seen: NDArray[Any] = getattr(outcomes, name)
        place = np.minimum(np.searchsorted(labels, seen), labels.size - 1)
        return np.where(labels[place] == seen, place, -1).astype(np.float64)

    return code


def lowest_bit(values: FloatArray) -> FloatArray:
    """e such that the value is an odd multiple of 2^e; a large number for 0 and NaN."""
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    low = (mantissa & -mantissa).astype(np.float64)
    found = exponent - 53.0 + np.log2(np.maximum(low, 1.0))
    return np.where(mantissa == 0, ZERO_EXPONENT, found)


def _unions(one: Labels, two: Labels, epsilon: float) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    share_one, share_two = one / max(one.sum(), 1), two / max(two.sum(), 1)
    for factor in sorted({1.0, math.exp(epsilon), math.exp(2 * epsilon)}):
        likely = share_one > factor * share_two
        if likely.any():
            yield f"likelihood ratio above {factor:.3g}", likely
    alone = (one > 0) & (two == 0)
    if alone.any():
        yield "never on the other", alone
    place = np.arange(one.size)
    for cut in range(2, one.size):
        yield "lower tail", (place >= 1) & (place < cut)
        yield "upper tail", place >= cut


def _edges(one: FloatArray, two: FloatArray) -> FloatArray:
    """Cell borders: quantiles of both samples, their extremes, and both sides of every atom."""
    pooled = np.concatenate([one, two])
    pooled = pooled[~np.isnan(pooled)]
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
