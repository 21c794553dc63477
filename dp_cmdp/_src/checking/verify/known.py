"""Constraints A(θ)x ≤ b(θ) for every database of a set, by weak duality in fractions.

With w_k(x) the weight of θ_k in a constraint, any λ ≥ 0 proves

    max Σ_k w_k θ_k ≤ Σ_j λ_j q_j + Σ_k max{(w_k − Σ_j λ_j W_jk) θ_k : lower_k ≤ θ_k ≤ upper_k}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp._src.checking.verify.adjacency import Adjacency
from dp_cmdp._src.checking.verify.reading import (
    integers,
    member,
    numbers,
    refuse_unless,
    table,
    triples,
)

Row = dict[int, Fraction]
#: Numbers that follow from a decision are sums of floats: they may miss the exact ones by this.
ROUNDING = Fraction(1, 10**9)


@dataclass
class Known:
    """{θ : lower ≤ θ ≤ upper, rows · θ ≤ limits}, exactly."""

    lower: list[Fraction]
    upper: list[Fraction]
    rows: list[Row] = field(default_factory=list[Row])
    limits: list[Fraction] = field(default_factory=list[Fraction])

    @classmethod
    def box(cls, adjacency: Adjacency) -> Known:
        return cls(list(map(Fraction, adjacency.lower)), list(map(Fraction, adjacency.upper)))

    def bound(
        self, entry: int, weight: int, step: Fraction, least: int | None, most: int | None
    ) -> None:
        """least ≤ weight·n ≤ most of one entry's cell n, in whole cells."""
        if weight < 0:
            weight, least, most = -weight, *(None if y is None else -y for y in (most, least))
        if least is not None:
            self.lower[entry] = max(self.lower[entry], -(-least // weight) * step)
        if most is not None:
            self.upper[entry] = min(self.upper[entry], (most // weight + 1) * step)

    def add(
        self, weights: Mapping[int, int], step: Sequence[Fraction], most: int, *, sign: int
    ) -> None:
        """sign·Σ w n ≤ most, in units in which the largest coefficient lies in [1/2, 1)."""
        row = {entry: sign * weight / step[entry] for entry, weight in weights.items()}
        limit = most + sum(sign * weight for weight in weights.values() if sign * weight > 0)
        largest = max(map(abs, row.values()))
        unit = Fraction(2) ** (
            largest.denominator.bit_length() - 1 - largest.numerator.bit_length()
        )
        self.rows.append({entry: weight * unit for entry, weight in row.items()})
        self.limits.append(limit * unit)

    def is_empty(self) -> bool:
        """Whether it is proved that no database is in the set: Σλ(row·θ) > Σλ·limit in the box."""
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            return True
        total, combined = Fraction(0), Row()
        for place, factor in self.multipliers({}):
            total += factor * self.limits[place]
            for entry, weight in self.rows[place].items():
                combined[entry] = combined.get(entry, Fraction(0)) + factor * weight
        least = sum(
            weight * (self.lower[entry] if weight > 0 else self.upper[entry])
            for entry, weight in combined.items()
        )
        return least > total

    def multipliers(self, weights: Row) -> list[tuple[int, Fraction]]:
        """λ ≥ 0 that bound Σ w θ well over the set; without weights, that may prove it empty.

        They are guessed in floats: any λ proves a bound.
        """
        n, m = len(self.lower), len(self.rows)
        if not m:
            return []
        span = float(max(high - low for low, high in zip(self.lower, self.upper, strict=True))) or 1
        entries = [(i, k, float(w)) for i, row in enumerate(self.rows) for k, w in row.items()]
        i, k, weight = zip(*entries, *((row, n, -span) for row in range(m)), strict=True)
        rows: Any = sparse.csr_array((weight, (i, k)), shape=(m, n + 1))
        cost = np.append(np.zeros(n), float(not weights))
        for entry, size in weights.items():
            cost[entry] = -float(size)
        broken = (0, 0) if weights else (0, None)
        found: Any = linprog(
            cost,
            A_ub=rows,
            b_ub=list(map(float, self.limits)),
            bounds=[*zip(map(float, self.lower), map(float, self.upper), strict=True), broken],
            method="highs",
        )
        if found.status != 0:
            return []
        guessed = enumerate((-np.asarray(found.ineqlin.marginals)).tolist())
        return [(place, Fraction(dual)) for place, dual in guessed if dual > 0]


Multipliers = list[list[tuple[int, Fraction]]]
Term = tuple[int, int, int, float]
#: Variables that are not 0.
Point = dict[int, Fraction]


@dataclass(frozen=True)
class Table:
    """An affine array as a file states it: constants (row, column, value) and terms of entries."""

    shape: tuple[int, int]
    constants: list[tuple[int, int, float]]
    terms: list[Term]

    @classmethod
    def read(cls, said: Any, entries: int, what: str) -> Table:
        constant = matrix(member(said, "constant"), f"the constant part of {what}")
        shape = tuple(integers(member(said, "shape"), "the shape"))
        rows, columns = (*shape, 1, 1)[:2] if len(shape) < 2 else (shape[0], prod(shape[1:]))
        refuse_unless(constant.shape == (rows, columns), f"{what} has parts of different shapes")
        parts: list[Any] = [
            integers(member(said, name), f"{name} of {what}") for name in ("row", "col", "entry")
        ]
        factor = numbers(member(said, "coefficient"), f"coefficients of {what}")
        limits = (rows, columns, entries)
        terms: Any = table(f"the terms of {what}", [*parts, factor], limits, once=False)
        return cls((rows, columns), triples(constant), terms)


@dataclass(frozen=True)
class Rows:
    """Constraints: a table over the variables, and a column of limits."""

    A: Table
    b: Table

    def weights(self, x: Point) -> list[Row]:
        """Per constraint what it asks of each entry at x."""
        found: list[Row] = [{} for _ in range(self.A.shape[0])]
        for row, column, entry, factor in self.A.terms:
            if column in x:
                _add(found[row], entry, Fraction(factor) * x[column])
        for row, _, entry, factor in self.b.terms:
            _add(found[row], entry, -Fraction(factor))
        return found

    def rounding(self, x: Point, missed: Fraction) -> list[Fraction]:
        """Per constraint what weights in floats may miss: their terms may cancel.

        `missed` is what the point they were computed at may miss of x, in ℓ1.
        """
        found, largest = [Fraction(0)] * self.A.shape[0], [Fraction(0)] * self.A.shape[0]
        for row, column, _, factor in self.A.terms:
            found[row] += abs(Fraction(factor) * x.get(column, Fraction(0)))
            largest[row] = max(largest[row], abs(Fraction(factor)))
        for row, _, _, factor in self.b.terms:
            found[row] += abs(Fraction(factor))
        pairs = zip(found, largest, strict=True)
        return [ROUNDING * size + missed * most for size, most in pairs]

    def excess(self, x: Point, known: Known, multipliers: Multipliers) -> list[Fraction]:
        """Certain upper bounds on A(θ)x − b(θ) over all databases that are possible."""
        found = [Fraction(0)] * self.A.shape[0]
        for row, column, value in self.A.constants:
            if column in x:
                found[row] += Fraction(value) * x[column]
        for row, _, value in self.b.constants:
            found[row] -= Fraction(value)
        for number, row in enumerate(self.weights(x)):
            for place, factor in multipliers[number]:
                found[number] += factor * known.limits[place]
                for entry, weight in known.rows[place].items():
                    _add(row, entry, -factor * weight)
            found[number] += sum(
                weight * (known.upper[entry] if weight > 0 else known.lower[entry])
                for entry, weight in row.items()
            )
        return found

    def largest_costs(self, columns: Iterable[int], known: Known) -> list[Fraction]:
        """Per row a bound of |A_ij(θ)| over the given columns and all databases of the box."""
        used = set(columns)
        size: list[Row] = [{} for _ in range(self.A.shape[0])]
        for row, column, value in self.A.constants:
            if column in used:
                _add(size[row], column, abs(Fraction(value)))
        for row, column, entry, factor in self.A.terms:
            if column in used:
                far = max(abs(known.lower[entry]), abs(known.upper[entry]))
                _add(size[row], column, abs(Fraction(factor)) * far)
        return [max(row.values(), default=Fraction(0)) for row in size]


def read_multipliers(said: Any, rows: int, known: Known) -> Multipliers:
    """Stored multipliers: negative ones prove nothing and are refused."""
    table = matrix(said, "multipliers")
    refuse_unless(
        table.shape == (rows, len(known.rows)),
        "the multipliers are of other constraints or inequalities",
    )
    found: Multipliers = [[] for _ in range(rows)]
    for row, place, factor in triples(table):
        refuse_unless(factor >= 0, "a multiplier is negative")
        if factor:
            found[row].append((place, Fraction(factor)))
    return found


def matrix(said: Any, what: str) -> Any:
    """A sparse matrix of finite numbers, each place once."""
    refuse_unless(sparse.issparse(said), f"{what} must be a sparse matrix")
    found: Any = sparse.csr_array(said)
    refuse_unless(np.isfinite(found.data).all(), f"{what} must be finite")
    places = {(row, column) for row, column, _ in triples(found)}
    refuse_unless(len(places) == found.nnz, f"{what} states a place twice")
    return found


def point(values: Sequence[float]) -> Point:
    """The variables that are not 0, exactly."""
    return {place: Fraction(value) for place, value in enumerate(values) if value}


def _add(row: Row, entry: int, amount: Fraction) -> None:
    row[entry] = row.get(entry, Fraction(0)) + amount
