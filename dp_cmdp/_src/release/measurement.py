"""Measurements: the one thing that is ever read of a database.

A measurement is a query, integer weights w of the lattice cells n_k(θ) = ⌊θ_k/h_k⌋, and a law of
noise on the integers; both are fixed, and proved private, before anything is read. It publishes

    y_i = Σ_k w_ik n_k(θ) + Z_i,   low ≤ Z_i ≤ high,   hence   y_i − high ≤ Σ_k w_ik n_k ≤ y_i − low

with certainty. As h_k n_k ≤ θ_k ≤ h_k(n_k + 1), every outcome says linear inequalities of θ, of
which both sides are rounded outwards.

What record R moves is counted in integers. By t_Rk cells of entry k it moves query i by at most
m_Ri = Σ_k |w_ik| t_Rk. The sensitivity holds the maxima over R of Σ_i m_Ri (ℓ1), Σ_i m_Ri² (ℓ2²),
max_i m_Ri (largest) and #{i : m_Ri > 0} (count). Where a record changes at most c entries at once
(``entries_per_record``), ℓ1 and largest are sums over its worst c entries, and

    count ≤ the c largest #{i : w_ik ≠ 0},     and count without c,
    ℓ2²  ≤ (the c largest t_Rk ‖w_·k‖₂)²,     ℓ1·largest,     and ℓ2² without c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from math import isqrt
from os import urandom
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.exact import float_above, float_below
from dp_cmdp._src.base.validation import FloatArray, instance, validated
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.uncertainty import UncertaintySet
from dp_cmdp._src.noise.laws import Law, Sensitivity

#: Weights up to this are floats, so that inequalities have them exactly.
LARGEST_WEIGHT = 1 << 53
#: Quotients and products of weights and steps above this are exact in floats.
SMALLEST_STEP = 2.0**-400
#: Sums of int64 that stay below this in floats do not overflow.
SAFE = 2.0**61
#: What a law must have.
_LAW = ("low", "high", "mean", "variance", "delta", "log_weight", "sample", "sample_floats")
#: Norms of columns are rounded up to 2^-NORM_BITS.
NORM_BITS = 32


@dataclass(frozen=True, eq=False)
class Query:
    """Linear queries of the lattice cells of a database.

    Parameters
    ----------
    envelope : Envelope
    weights : (queries, entries) array or sparse array of int
        Public, or a function of earlier outcomes; at most 2^53 in size.

    Raises
    ------
    InvalidArgumentError
        If the weights are no integers.

    Notes
    -----
    **Privacy.** *Public*: it says what is asked, not what is answered.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> from dp_cmdp.extend import Query
    >>> Query(dp.Envelope(0, 9, radius=1, shape=3), weights=[[1, 1, 1], [0, 2, 0]]).size
    2
    """

    envelope: Envelope
    weights: Any

    def __post_init__(self) -> None:
        instance("envelope", self.envelope, Envelope)
        given: Any = self.weights if sparse.issparse(self.weights) else np.asarray(self.weights)
        if given.dtype.kind not in "iu" or given.ndim != 2:
            raise InvalidArgumentError("weights must be a matrix of integers (queries × entries)")
        if given.shape[1] != self.envelope.size:
            raise InvalidArgumentError(
                f"weights must have one column per entry, {self.envelope.size}; they have "
                f"{given.shape[1]}"
            )
        weights = sparse.csr_array(given, copy=True)
        _refuse_beyond_floats(weights.data)
        weights = weights.astype(np.int64)
        weights.sum_duplicates()
        weights.eliminate_zeros()
        _refuse_beyond_floats(weights.data)
        step = self.envelope.step[weights.indices]
        if not ((step > SMALLEST_STEP) & (step < 1 / SMALLEST_STEP)).all():
            raise InvalidArgumentError("entries must have radii of 1e-100 to 1e100; rescale them")
        for buffer in (weights.data, weights.indices, weights.indptr):
            buffer.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @property
    def size(self) -> int:
        """How many integers are published."""
        return self.weights.shape[0]

    def sensitivity(self) -> Sensitivity:
        """What one record moves at most, in exact integers."""
        whole = self._all_entries()
        limit = self.envelope.entries_per_record
        return whole if limit is None else self._few_entries(limit, whole)

    def true_integers(self, values: FloatArray) -> list[int]:
        """Σ_k w_ik n_k of every query: private."""
        cells = self.envelope.cells(values)
        terms = [
            weight * cells[k]
            for weight, k in zip(self.weights.data.tolist(), self.weights.indices, strict=True)
        ]
        return [sum(terms[a:b]) for a, b in pairwise(self.weights.indptr.tolist())]

    def ranges(
        self, integers: tuple[int, ...], law: Law
    ) -> tuple[list[int] | None, list[int] | None]:
        """Between what Σ_k w_ik n_k of every row of the weights lies; None: nothing is known."""
        least = None if law.high is None else [y - law.high for y in integers]
        most = None if law.low is None else [y - law.low for y in integers]
        return least, most

    def _moved(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Record, query and size of every move |w_ik| t_Rk > 0; Python integers where needed."""
        W, moves = self.weights, sparse.csc_array(self.envelope.moves)
        owners = np.diff(moves.indptr)[W.indices]
        within = np.arange(owners.sum()) - np.repeat(np.cumsum(owners) - owners, owners)
        at = np.repeat(moves.indptr[W.indices], owners) + within
        weight, steps = np.repeat(np.abs(W.data), owners), moves.data[at]
        if float(weight.astype(float) @ steps.astype(float)) >= SAFE:
            weight, steps = weight.astype(object), steps.astype(object)
        query = np.repeat(np.repeat(np.arange(W.shape[0]), np.diff(W.indptr)), owners)
        found, amount = np.asarray(steps != 0, dtype=bool), weight * steps
        return moves.indices[at][found].astype(np.int64), query[found], amount[found]

    def _all_entries(self) -> Sensitivity:
        """Without a limit on the entries that a record changes at once."""
        record, query, amount = self._moved()
        if not amount.size:
            return Sensitivity(0, 0, 0, 0)
        order = np.lexsort((query, record))
        record, query, amount = record[order], query[order], amount[order]
        first = np.flatnonzero(np.diff(record, prepend=-1) | np.diff(query, prepend=-1))
        moved, record = np.add.reduceat(amount, first), record[first]
        start = np.flatnonzero(np.diff(record, prepend=-1))
        square = moved
        if float(moved.astype(float) @ moved.astype(float)) >= SAFE:
            square = moved.astype(object)
        return Sensitivity(
            l1=int(np.add.reduceat(moved, start).max()),
            l2_squared=int(np.add.reduceat(square * square, start).max()),
            largest=int(moved.max()),
            count=int(np.diff(np.append(start, record.size)).max()),
        )

    def _few_entries(self, limit: int, whole: Sensitivity) -> Sensitivity:
        """A record changes at most `limit` of its entries at once: sums over its worst ones."""
        columns = sparse.csc_array(self.weights)
        size, owner = columns.data.tolist(), columns.indices.tolist()
        spans = list(pairwise(columns.indptr.tolist()))
        sums = [sum(map(abs, size[a:b])) for a, b in spans]
        squares = [sum(w * w for w in size[a:b]) for a, b in spans]
        moves = self.envelope.moves
        l1 = norm = largest = count = 0

        def worst(moved: list[int]) -> int:
            return sum(nlargest(limit, moved))

        for a, b in pairwise(moves.indptr.tolist()):
            entries = [
                (k, t)
                for k, t in zip(moves.indices[a:b].tolist(), moves.data[a:b].tolist(), strict=True)
                if t
            ]
            by_query: dict[int, list[int]] = {}
            for k, t in entries:
                for p in range(*spans[k]):
                    by_query.setdefault(owner[p], []).append(abs(size[p]) * t)
            l1 = max(l1, worst([sums[k] * t for k, t in entries]))
            norm = max(norm, worst([_norm_above(squares[k] * t * t) for k, t in entries]))
            largest = max(largest, *map(worst, by_query.values()), 0)
            count = max(count, worst([spans[k][1] - spans[k][0] for k, _ in entries]))
        l2_squared = -(-(norm * norm) >> (2 * NORM_BITS))
        return Sensitivity(
            l1=l1,
            l2_squared=min(l2_squared, l1 * largest, whole.l2_squared),
            largest=largest,
            count=min(count, whole.count),
        )


@dataclass(frozen=True, eq=False)
class LargestQuery(Query):
    """One integer: the largest Σ_k w_ik n_k − centre_i, so that one noise bounds every row.

    Which row attains it is never published. Centres are integers, recorded before anything is
    read: with halves the lattice of the published value would tell which row it was.

    Parameters
    ----------
    envelope : Envelope
    weights : (rows, entries) array or sparse array of int
    centres : tuple of int
        One per row.

    Raises
    ------
    InvalidArgumentError
        If weights or centres are no integers.

    Notes
    -----
    **Privacy.** *Public*.
    """

    centres: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = all(
            isinstance(e, int | np.integer) and not isinstance(e, bool) for e in self.centres
        )
        if not kinds or len(self.centres) != self.weights.shape[0] or not self.centres:
            raise InvalidArgumentError("centres must be integers, one per row of the weights")
        object.__setattr__(self, "centres", tuple(map(int, self.centres)))

    @property
    def size(self) -> int:
        return 1

    def sensitivity(self) -> Sensitivity:
        """A maximum moves no more than one of its arguments does."""
        most = super().sensitivity().largest
        return Sensitivity(most, most * most, most, min(most, 1))

    def true_integers(self, values: FloatArray) -> list[int]:
        rows = super().true_integers(values)
        return [max(row - centre for row, centre in zip(rows, self.centres, strict=True))]

    def ranges(
        self, integers: tuple[int, ...], law: Law
    ) -> tuple[list[int] | None, list[int] | None]:
        (y,) = integers
        low = law.low
        return None, None if low is None else [y - low + centre for centre in self.centres]


class NoiseSource(Protocol):
    """Where noise comes from; `simulated` says that it is not private."""

    simulated: bool

    def draw(self, law: Law, size: int) -> list[int]: ...


class System:
    """Exact draws from the randomness of the operating system, or from other random bytes."""

    simulated = False

    def __init__(self, source: Callable[[int], bytes] = urandom) -> None:
        self.source = source

    def draw(self, law: Law, size: int) -> list[int]:
        return law.sample(size, self.source)


class Simulated:
    """Fast draws in floats from a seeded generator: not private."""

    simulated = True

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def draw(self, law: Law, size: int) -> list[int]:
        return [int(z) for z in law.sample_floats(self.rng, size).tolist()]


@dataclass(frozen=True, eq=False, init=False)
class Measurement:
    """What will be read, and the proof that reading it is private.

    Parameters
    ----------
    query : Query
    law : Law or class of laws
        A class is calibrated to the query and the budget.
    budget : PrivacyBudget
    name : str

    Raises
    ------
    InvalidArgumentError
        If the law is not private enough for what one record can move.

    Notes
    -----
    **Privacy.** *Public*: nothing is read before it is drawn.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> from dp_cmdp.extend import Laplace, Measurement, Query
    >>> query = Query(dp.Envelope(0, 9, radius=1, shape=3), weights=[[1, 1, 1]])
    >>> Measurement(query, Laplace, dp.PrivacyBudget(1, "1/1000")).sensitivity.count
    1
    """

    query: Query
    law: Law
    budget: PrivacyBudget
    name: str
    sensitivity: Sensitivity

    @validated
    def __init__(self, query: Query, law: Any, budget: PrivacyBudget, name: str = "") -> None:
        if not (budget.epsilon > 0 and budget.delta >= 0):
            raise InvalidArgumentError(
                "a measurement must have epsilon above 0 and no negative delta"
            )
        sensitivity = query.sensitivity()
        kind = isinstance(law, type) and hasattr(law, "calibrate")
        made = law.calibrate(sensitivity, budget) if kind else law
        missing = [part for part in _LAW if not hasattr(made, part)]
        if missing:  # found out after the debit, it would cost the budget
            raise InvalidArgumentError(f"law must have {', '.join(missing)} (dp.extend.Law)")
        if not made.delta(sensitivity, budget.epsilon) <= budget.delta:
            raise InvalidArgumentError(
                f"the law of measurement {name!r} must be private for what one record moves: "
                f"{sensitivity.largest} in one query, {sensitivity.l1} in all of its "
                f"{sensitivity.count} queries"
            )
        for field, value in (
            ("query", query),
            ("law", made),
            ("budget", budget),
            ("name", name),
            ("sensitivity", sensitivity),
        ):
            object.__setattr__(self, field, value)

    def draw(self, values: FloatArray, source: NoiseSource) -> Outcome:
        """Read the data, add noise: the only function that reads a database. Spends the budget."""
        noise = source.draw(self.law, self.query.size)
        if len(noise) != self.query.size or not all(self._can_draw(z) for z in noise):
            raise InvalidArgumentError("law must draw one integer of its support per query")
        true = self.query.true_integers(values)
        return Outcome(self, tuple(n + z for n, z in zip(true, noise, strict=True)))

    def _can_draw(self, noise: Any) -> bool:
        low, high = self.law.low, self.law.high
        inside = (low is None or low <= noise) and (high is None or noise <= high)
        return type(noise) is int and inside


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a measurement published: nothing else of the data can be reached from here."""

    measurement: Measurement
    integers: tuple[int, ...]

    def inequalities(self) -> UncertaintySet:
        """Every database of the envelope that the integers allow; rounded outwards."""
        query = self.measurement.query
        envelope, W = query.envelope, query.weights
        least, most = query.ranges(self.integers, self.measurement.law)
        found = UncertaintySet.box(envelope.lower, envelope.upper)
        terms = np.diff(W.indptr)
        lone, rows = np.flatnonzero(terms == 1), np.flatnonzero(terms > 1)
        if lone.size:
            place = W.indptr[lone]
            entry, weight = W.indices[place], W.data[place]
            low, high = _intervals(
                weight, _part(least, lone), _part(most, lone), envelope.step[entry]
            )
            found = found.tightened(entry, low, high)
        if not rows.size or (least is None and most is None):
            return found
        matrix, q = _row_bounds(W[rows], _part(least, rows), _part(most, rows), envelope.step)
        return UncertaintySet(found.lower, found.upper, matrix, q)


def _refuse_beyond_floats(weights: NDArray[np.integer]) -> None:
    if ((weights > LARGEST_WEIGHT) | (weights < -LARGEST_WEIGHT)).any():
        raise InvalidArgumentError("weights must be at most 2^53 in size")


def _norm_above(square: int) -> int:
    """√square in units of 2^-NORM_BITS, rounded up."""
    scaled = square << (2 * NORM_BITS)
    root = isqrt(scaled)
    return root + (root * root < scaled)


def _part(numbers: list[int] | None, chosen: NDArray[np.integer]) -> list[int] | None:
    return None if numbers is None else [numbers[i] for i in chosen.tolist()]


def _intervals(
    weight: NDArray[np.int64], least: list[int] | None, most: list[int] | None, step: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ends of θ_k, given least ≤ w·n_k ≤ most: h·n below and h·(n + 1) above."""
    low, high = np.full(weight.size, -np.inf), np.full(weight.size, np.inf)
    for i, (w, h) in enumerate(zip(weight.tolist(), step.tolist(), strict=True)):
        if least is not None:  # n ≥ least/w, or n ≤ least/w where w < 0
            if w > 0:
                low[i] = _product(-(-least[i] // w), h, float_below)
            else:
                high[i] = _product(least[i] // w + 1, h, float_above)
        if most is not None:
            if w > 0:
                high[i] = _product(most[i] // w + 1, h, float_above)
            else:
                low[i] = _product(-(-most[i] // w), h, float_below)
    return low, high


def _product(cell: int, step: float, rounded: Callable[[Fraction], float]) -> float:
    """cell·step: exact in floats where both are, rounded outwards elsewhere."""
    if abs(cell) < LARGEST_WEIGHT:
        return cell * step
    return rounded(cell * Fraction(step))


def _row_bounds(
    W: sparse.csr_array, least: list[int] | None, most: list[int] | None, step: FloatArray
) -> tuple[sparse.csr_array, FloatArray]:
    """Σ w n ≤ most and least ≤ Σ w n as Wθ ≤ q, every row scaled to weights near 1.

    θ_k/h_k lies at most one above n_k, so Σ (w/h)θ ≤ most + Σ_{w>0} w, and likewise from below.
    """
    scaled = W.data / step[W.indices]  # exact, as the scales are: powers of two
    largest = np.maximum.reduceat(np.abs(scaled), W.indptr[:-1])
    unit = np.ldexp(1.0, -np.frexp(largest)[1])
    data = scaled * np.repeat(unit, np.diff(W.indptr))
    weights, spans = W.data.tolist(), list(pairwise(W.indptr.tolist()))
    matrices, bounds = [], []
    for sign, limits in ((1, most), (-1, least)):
        if limits is not None:
            above = [sum(w for w in weights[a:b] if sign * w > 0) for a, b in spans]
            whole = [sign * (limit + more) for limit, more in zip(limits, above, strict=True)]
            bounds += [float_above(n * Fraction(u)) for n, u in zip(whole, unit, strict=True)]
            matrices.append(sparse.csr_array((sign * data, W.indices, W.indptr), shape=W.shape))
    return sparse.csr_array(sparse.vstack(matrices, format="csr")), np.array(bounds)
