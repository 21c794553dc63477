"""Constraints A(θ)x ≤ b(θ) for every database of a set, by weak duality in fractions.

With w_k(x) the weight of θ_k in a constraint, any λ ≥ 0 proves

    max Σ_k w_k θ_k ≤ Σ_j λ_j q_j + Σ_k max{(w_k − Σ_j λ_j W_jk) θ_k : lower_k ≤ θ_k ≤ upper_k}.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.checking.verify.known import Known, Row
from dp_cmdp._src.checking.verify.reading import (
    integers,
    member,
    numbers,
    refuse_unless,
    triples,
)

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
        parts = [
            integers(member(said, name), f"{name} of {what}") for name in ("row", "col", "entry")
        ]
        factor = numbers(member(said, "coefficient"), f"coefficients of {what}")
        refuse_unless(
            len({len(factor), *map(len, parts)}) == 1, f"the terms of {what} differ in length"
        )
        terms = list(zip(*parts, factor, strict=True))
        refuse_unless(
            all(0 <= i < rows and 0 <= j < columns and 0 <= k < entries for i, j, k, _ in terms),
            f"{what} has a term at a place or of an entry that does not exist",
        )
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

    def sizes(self, x: Point) -> list[Fraction]:
        """Per constraint the size of the terms that its weights add up: they may cancel."""
        found = [Fraction(0)] * self.A.shape[0]
        for row, column, _, factor in self.A.terms:
            found[row] += abs(Fraction(factor) * x.get(column, Fraction(0)))
        for row, _, _, factor in self.b.terms:
            found[row] += abs(Fraction(factor))
        return found

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
