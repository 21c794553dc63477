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
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from math import isqrt
from operator import add
from os import urandom
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.accounting.budget import HALF, PrivacyBudget
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.exact import float_above, float_below
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.affine import spans
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.noise.laws import Law, Sensitivity

#: Weights up to this are floats, so that inequalities have them exactly.
LARGEST_WEIGHT = 1 << 53
#: Quotients and products of weights and steps above this are exact in floats.
SMALLEST_STEP = 2.0**-400
#: Sums of int64 that stay below this in floats do not overflow.
SAFE = 2.0**61
#: The longest name of a measurement.
LONGEST_NAME = 200
#: What a law must have.
_LAW = ("low", "high", "mean", "variance", "delta", "log_weight", "sample", "sample_floats")
#: Python integers as an array of objects.
Integers = NDArray[Any] | None
#: Norms of columns are rounded up to 2^-NORM_BITS.
NORM_BITS = 32


@dataclass(frozen=True, eq=False)
class Query:
    """Linear queries of the lattice cells of a database.

    Parameters
    ----------
    envelope : Envelope
        Of the numbers that are weighed.
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
    #: How many integers are published.
    size: int = field(init=False)

    #: Whether these are the sums of the weights, and not the largest of them.
    linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given: Any = self.weights if sparse.issparse(self.weights) else np.asarray(self.weights)
        if given.dtype.kind not in "iu" or given.ndim != 2:
            raise InvalidArgumentError("weights must be a matrix of integers (queries × entries)")
        if given.shape[1] != self.envelope.size:
            raise InvalidArgumentError(
                f"weights must have one column per entry, {self.envelope.size}; they have "
                f"{given.shape[1]}"
            )
        table = sparse.coo_array(given)
        weights = sparse.csr_array(table, copy=True)
        weights.sum_duplicates()
        if weights.nnz != table.nnz:  # sums of int64 may overflow in silence
            raise InvalidArgumentError("weights must state each query and entry once")
        largest = max(int(table.data.max(initial=0)), -int(table.data.min(initial=0)))
        if largest > LARGEST_WEIGHT:
            raise InvalidArgumentError("weights must be at most 2^53 in size")
        weights = weights.astype(np.int64)
        weights.eliminate_zeros()
        step = self.envelope.step[weights.indices]
        if not ((step > SMALLEST_STEP) & (step < 1 / SMALLEST_STEP)).all():
            raise InvalidArgumentError("entries must have radii of 1e-100 to 1e100; rescale them")
        weights = check.frozen_sparse(weights)
        self.__dict__.update(weights=weights, size=weights.shape[0])

    def sensitivity(self) -> Sensitivity:
        """What one record moves at most, in exact integers.

        Returns
        -------
        Sensitivity
            Counted record by record, so that no rounding enters.
        """
        W, moves = self.weights, sparse.csc_array(self.envelope.moves)
        # every move |w_ik| t_Rk > 0 by its record and query; Python integers where needed
        term, at = spans(moves.indptr[W.indices], np.diff(moves.indptr)[W.indices])
        weight, steps = np.abs(W.data)[term], moves.data[at]
        if float(weight.astype(float) @ steps.astype(float)) >= SAFE:
            weight, steps = weight.astype(object), steps.astype(object)
        query = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))[term]
        found, amount = np.asarray(steps != 0, dtype=bool), weight * steps
        if not found.any():
            return Sensitivity(0, 0, 0, 0)
        record, query, amount = moves.indices[at][found], query[found], amount[found]
        order = np.lexsort((query, record))
        record, query, amount = record[order], query[order], amount[order]
        first = np.flatnonzero(np.diff(record, prepend=-1) | np.diff(query, prepend=-1))
        moved, record = np.add.reduceat(amount, first), record[first]
        start = np.flatnonzero(np.diff(record, prepend=-1))
        square = moved
        if float(moved.astype(float) @ moved.astype(float)) >= SAFE:
            square = moved.astype(object)
        whole = Sensitivity(
            l1=int(np.add.reduceat(moved, start).max()),
            l2_squared=int(np.add.reduceat(square * square, start).max()),
            largest=int(moved.max()),
            count=int(np.diff(np.append(start, record.size)).max()),
        )
        limit = self.envelope.entries_per_record
        return whole if limit is None else self._few_entries(limit, whole)

    def true_integers(self, values: FloatArray) -> list[int]:
        """Σ_k w_ik n_k of every query: private.

        Parameters
        ----------
        values : float array
            The private numbers.

        Returns
        -------
        list of int
            One per query, without noise.
        """
        cells = self.envelope._cells(values).astype(object)
        row = np.repeat(np.arange(self.weights.shape[0]), np.diff(self.weights.indptr))
        sums = np.zeros(self.weights.shape[0], dtype=object)
        np.add.at(sums, row, self.weights.data.astype(object) * cells[self.weights.indices])
        return sums.tolist()

    def _ranges(self, integers: tuple[int, ...], law: Law) -> tuple[Integers, Integers]:
        """Between what Σ_k w_ik n_k of every row of the weights lies; None: nothing is known."""
        y = np.array(integers, dtype=object)
        return None if law.high is None else y - law.high, None if law.low is None else y - law.low

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
        Of the numbers that are weighed.
    weights : (rows, entries) array or sparse array of int
        One row per sum.
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

    linear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = all(map(check.is_integer, self.centres))
        if not kinds or len(self.centres) != self.weights.shape[0] or not self.centres:
            raise InvalidArgumentError("centres must be integers, one per row of the weights")
        self.__dict__.update(centres=tuple(map(int, self.centres)), size=1)

    def sensitivity(self) -> Sensitivity:
        # a maximum moves no more than one of its arguments does
        most = super().sensitivity().largest
        return Sensitivity(most, most * most, most, min(most, 1))

    def true_integers(self, values: FloatArray) -> list[int]:
        rows = super().true_integers(values)
        return [max(row - centre for row, centre in zip(rows, self.centres, strict=True))]

    def _ranges(self, integers: tuple[int, ...], law: Law) -> tuple[Integers, Integers]:
        (y,) = integers
        return None, None if law.low is None else y - law.low + np.array(self.centres, dtype=object)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a measurement published: nothing else of the data can be reached from here."""

    measurement: Measurement
    integers: tuple[int, ...]

    def inequalities(self) -> UncertaintySet:
        """Every database of the envelope that the integers allow; rounded outwards."""
        query = self.measurement.query
        envelope, W = query.envelope, query.weights
        least, most = query._ranges(self.integers, self.measurement.law)
        known = UncertaintySet.box(envelope.lower, envelope.upper)
        terms = np.diff(W.indptr)
        lone, rows = np.flatnonzero(terms == 1), np.flatnonzero(terms > 1)
        matrices, q = [known.W], []
        for sign, ends in ((1, most), (-1, least)):  # sign·Σ w n ≤ sign·ends
            if ends is None:
                continue
            entry, weight = W.indices[W.indptr[lone]], sign * W.data[W.indptr[lone]]
            known = _bounded(known, entry, weight, sign * ends[lone], envelope.step[entry])
            if rows.size:
                matrix, right = _row_bounds(W[rows], sign, sign * ends[rows], envelope.step)
                matrices.append(matrix)
                q += right
        W = sparse.csr_array(sparse.vstack(matrices, format="csr"))
        return UncertaintySet(known.lower, known.upper, W, np.array(q))


@dataclass(frozen=True)
class System:
    """Exact draws from the randomness of the operating system, or from other random bytes."""

    source: Callable[[int], bytes] = urandom
    simulated: ClassVar[bool] = False

    def draw(self, law: Law, size: int) -> list[int]:
        return law.sample(size, self.source)


@dataclass(frozen=True)
class Simulated:
    """Fast draws in floats from a seeded generator: not private."""

    rng: np.random.Generator
    simulated: ClassVar[bool] = True

    def draw(self, law: Law, size: int) -> list[int]:
        low, high = law.low, law.high  # which rounded floats may exceed
        drawn: list[int] = []
        for z in map(int, law.sample_floats(self.rng, size).tolist()):
            z = z if low is None else max(z, low)
            drawn.append(z if high is None else min(z, high))
        return drawn


@dataclass(frozen=True, eq=False, init=False)
class Measurement:
    """What will be read, and the proof that reading it is private.

    Parameters
    ----------
    query : Query
        What is asked.
    law : Law or class of laws
        A class is calibrated to the query and the budget.
    budget : PrivacyBudget
        What it spends.
    name : str
        For tables and reports.

    Raises
    ------
    InvalidArgumentError
        If the law is not private enough for what one record can move, or the name or budget is none
        that a release may have.

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
        if not (budget.epsilon > 0 and 0 <= budget.delta <= HALF):
            raise InvalidArgumentError(
                "a measurement must have epsilon above 0 and delta between 0 and 1/2"
            )
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise InvalidArgumentError(
                f"name must be at most {LONGEST_NAME} printable characters on one line"
            )
        sensitivity = query.sensitivity()
        kind = isinstance(law, type) and hasattr(law, "calibrate")
        made = law.calibrate(sensitivity, budget) if kind else law
        for part in _LAW:  # found out after the debit, it would cost the budget
            if not hasattr(made, part):
                raise InvalidArgumentError(f"law must have {part} (dp.extend.Law)")
        if not made.delta(sensitivity, budget.epsilon) <= budget.delta:
            raise InvalidArgumentError(
                f"the law of measurement {name!r} must be private for what one record moves: "
                f"{sensitivity.largest} in one query, {sensitivity.l1} in all of its "
                f"{sensitivity.count} queries"
            )
        self.__dict__.update(
            query=query, law=made, budget=budget, name=name, sensitivity=sensitivity
        )

    def draw(self, values: FloatArray, source: System | Simulated) -> Outcome:
        """Read the data, add noise: the only function that reads a database. Spends the budget.

        Parameters
        ----------
        values : float array
            The private numbers.
        source : System or Simulated
            Random bytes: of the operating system, or of a seed.

        Returns
        -------
        Outcome
            The measured integers with their noise: public.

        Raises
        ------
        InvalidArgumentError
            If the law draws a number outside its support.
        """
        low, high = self.law.low, self.law.high
        noise = source.draw(self.law, self.query.size)
        fits = len(noise) == self.query.size
        for z in noise:
            fits &= type(z) is int and (low is None or low <= z) and (high is None or z <= high)
        if not fits:
            raise InvalidArgumentError("law must draw one integer of its support per query")
        return Outcome(self, tuple(map(add, self.query.true_integers(values), noise)))


def _norm_above(square: int) -> int:
    """√square in units of 2^-NORM_BITS, rounded up."""
    scaled = square << (2 * NORM_BITS)
    root = isqrt(scaled)
    return root + (root * root < scaled)


def _bounded(
    known: UncertaintySet,
    entry: NDArray[np.integer],
    weight: NDArray[np.int64],
    most: NDArray[Any],
    step: FloatArray,
) -> UncertaintySet:
    """The set, where also w·n_k ≤ most: θ_k ≤ h(⌊most/w⌋ + 1), or θ_k ≥ h⌈most/w⌉ where w < 0."""
    w, up = weight.astype(object), weight > 0
    ends = np.where(up, most // w + 1, -(most // -w))
    bound = ends.astype(np.float64) * step  # exact where the integers are floats
    for i in np.flatnonzero(np.abs(ends) >= LARGEST_WEIGHT).tolist():
        rounded = float_above if up[i] else float_below
        bound[i] = rounded(ends[i] * Fraction(float(step[i])))
    low, high = known.lower.copy(), known.upper.copy()
    np.minimum.at(high, entry[up], bound[up])
    np.maximum.at(low, entry[~up], bound[~up])
    return UncertaintySet(low, high, known.W, known.q)


def _row_bounds(
    W: sparse.csr_array, sign: int, most: NDArray[Any], step: FloatArray
) -> tuple[sparse.csr_array, list[float]]:
    """sign·Σ w n ≤ most as a row of Wθ ≤ q, scaled to weights near 1.

    θ_k/h_k lies at most one above n_k, so Σ (w/h)θ ≤ most + Σ_{w>0} w, and likewise from below.
    """
    weights = sign * W.data
    scaled = weights / step[W.indices]  # exact, as the scales are: powers of two
    largest = np.maximum.reduceat(np.abs(scaled), W.indptr[:-1])
    unit = np.ldexp(1.0, -np.frexp(largest)[1])
    above = np.add.reduceat(np.maximum(weights, 0).astype(object), W.indptr[:-1])
    bounds = []
    for limit, factor in zip((most + above).tolist(), unit.tolist(), strict=True):
        bounds.append(float_above(limit * Fraction(factor)))
    data = scaled * np.repeat(unit, np.diff(W.indptr))
    return sparse.csr_array((data, W.indices, W.indptr), shape=W.shape), bounds
