"""The matrices of a parametric linear program, entry by entry.

A block is A, b or c of ``maximise c(θ)ᵀx, A(θ)x ≤ b(θ)``: a constant matrix and terms
coefficient·θ_entry at (row, col). Blocks without terms are public. Vectors are columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, nextafter
from typing import Any

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.linear import Floats, Integers, LinearProgram

BLOCKS = ("A", "b", "c")


@dataclass(frozen=True, eq=False)
class Block:
    """One matrix, affine in the database."""

    shape: tuple[int, int]
    constant: sparse.csr_array
    row: Integers
    col: Integers
    entry: Integers
    coefficient: Floats

    @classmethod
    def of(cls, part: dp.Affine) -> Block:
        """Of an affine array of the package."""
        rows, cols = part.constant.shape
        return cls((rows, cols), part.constant, part.row, part.col, part.entry, part.coefficient)

    @property
    def is_public(self) -> bool:
        return not self.entry.size

    @cached_property
    def places(self) -> tuple[Integers, Integers, Integers]:
        """Rows and columns that read the database, in order, and the place of each term."""
        keys, place = np.unique(self.row * self.shape[1] + self.col, return_inverse=True)
        return keys // self.shape[1], keys % self.shape[1], place

    def at(self, values: Floats) -> sparse.csr_array:
        """The matrix at a database."""
        terms = sparse.csr_array(
            (self.coefficient * values[self.entry], (self.row, self.col)), shape=self.shape
        )
        return sparse.csr_array(self.constant + terms)

    def ends(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest number at each place, over a box."""
        row, col, place = self.places
        fixed = at_places(self.constant, row, col)
        low, high = fixed.copy(), fixed.copy()
        pair = self.coefficient * lower[self.entry], self.coefficient * upper[self.entry]
        np.add.at(low, place, np.minimum(*pair))
        np.add.at(high, place, np.maximum(*pair))
        return low, high

    def extremes(self, lower: Floats, upper: Floats) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The matrices of smallest and of largest numbers over a box."""
        row, col, _ = self.places
        public = self.public
        low, high = (
            sparse.csr_array((end, (row, col)), shape=self.shape) for end in self.ends(lower, upper)
        )
        return sparse.csr_array(public + low), sparse.csr_array(public + high)

    @cached_property
    def public(self) -> sparse.csr_array:
        """The constants, with zeros wherever the database is read."""
        row, col, _ = self.places
        kept = sparse.lil_array(self.constant)
        kept[row, col] = 0.0
        found = sparse.csr_array(kept)
        found.eliminate_zeros()
        return found

    def numbers(self, values: Floats) -> list[Fraction]:
        """The true numbers at the places, in rationals."""
        row, col, place = self.places
        found = [Fraction(number) for number in at_places(self.constant, row, col).tolist()]
        terms = zip(place.tolist(), self.coefficient.tolist(), self.entry.tolist(), strict=True)
        for at, coefficient, entry in terms:
            found[at] += Fraction(coefficient) * Fraction(float(values[entry]))
        return found

    def around(self, values: Floats) -> tuple[Floats, Floats]:
        """Floats just below and just above the true numbers; the numbers where floats hold them."""
        exact = self.numbers(values)
        near = [float(number) for number in exact]
        low = [f if f <= n else nextafter(f, -inf) for f, n in zip(near, exact, strict=True)]
        high = [f if f >= n else nextafter(f, inf) for f, n in zip(near, exact, strict=True)]
        return np.array(low), np.array(high)


def at_places(matrix: sparse.csr_array, row: Integers, col: Integers) -> Floats:
    """Numbers of a matrix, place by place."""
    return np.asarray(matrix[row, col]).ravel() if row.size else np.empty(0)


@dataclass(frozen=True, eq=False)
class Form:
    """A parametric linear program as blocks, to be maximised."""

    envelope: dp.Envelope
    A: Block
    b: Block
    c: Block
    A_eq: sparse.csr_array
    b_eq: Floats
    lower: Floats
    upper: Floats

    @property
    def num_variables(self) -> int:
        return self.A.shape[1]

    def weights(self, x: Floats) -> sparse.csr_array:
        """w_ik(x), how fast A_i(θ)x − b_i(θ) grows with θ_k: all pairs of a row and an entry."""
        A, b = self.A, self.b
        data = np.concatenate([A.coefficient * x[A.col], -b.coefficient])
        at = np.concatenate([A.row, b.row]), np.concatenate([A.entry, b.entry])
        return sparse.csr_array((data, at), shape=(A.shape[0], self.envelope.size))

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The blocks that read the database."""
        return tuple(name for name in BLOCKS if not getattr(self, name).is_public)

    def at(self, values: Floats) -> LinearProgram:
        """The true program."""
        c, b = (getattr(self, name).at(values).toarray().ravel() for name in "cb")
        return LinearProgram(c, self.A.at(values), b, self.A_eq, self.b_eq, self.lower, self.upper)

    def sensitivity(self, block: str) -> float:
        """The most (ℓ1, entrywise) that one record changes a block."""
        part: Block = getattr(self, block)
        return float((self.change[:, part.entry] @ np.abs(part.coefficient)).max(initial=0.0))

    @cached_property
    def change(self) -> sparse.csc_array:
        """The most that a record (row) changes an entry (column)."""
        return sparse.csc_array(self.envelope.change)


@lru_cache(maxsize=64)
def form(program: dp.ParametricLP) -> Form:
    """The blocks of a program that maximises."""
    if program.minimizes:
        raise dp.errors.InvalidArgumentError("state the program with maximize=, of −c")
    return Form(
        envelope=program.envelope,
        A=Block.of(program.A),
        b=Block.of(program.b),
        c=Block.of(program.objective),
        A_eq=program.A_eq,
        b_eq=program.b_eq,
        lower=program.lower,
        upper=program.upper,
    )


def equal_shares(part: Form) -> dict[str, Fraction]:
    """One share of ε for each block that reads the database."""
    return {name: Fraction(1, len(part.sensitive)) for name in part.sensitive}


def allocated(
    budget: dp.PrivacyBudget, alphas: Mapping[str, Fraction]
) -> dict[str, dp.PrivacyBudget]:
    """The part of every block with a share of ε; A and b, which need a δ, share it equally."""
    bounded = [name for name in "Ab" if alphas.get(name)]
    parts = {name: len(bounded) for name in bounded} | {"c": 1}
    return {
        name: dp.PrivacyBudget(alpha * budget.epsilon, budget.delta / parts[name])
        for name, alpha in alphas.items()
        if alpha
    }


@dataclass(frozen=True, eq=False)
class Entrywise:
    """A program over its own coefficients, which are what Algorithm 1 perturbs."""

    program: dp.ParametricLP
    part: Form

    def span(self, block: str) -> slice:
        """Where a block stands among the entries."""
        sizes = [getattr(self.part, name).places[0].size for name in BLOCKS]
        ends = np.cumsum([0, *sizes])
        at = BLOCKS.index(block)
        return slice(int(ends[at]), int(ends[at + 1]))

    def values(self, values: Floats) -> Floats:
        """The true coefficients, each rounded once."""
        numbers = [n for name in BLOCKS for n in getattr(self.part, name).numbers(values)]
        return np.array([float(number) for number in numbers])

    def around(self, values: Floats) -> tuple[Floats, Floats]:
        """Floats between which the true coefficients lie."""
        ends = [getattr(self.part, name).around(values) for name in BLOCKS]
        low, high = (np.concatenate([end[k] for end in ends]) for k in (0, 1))
        return low, high


@lru_cache(maxsize=64)
def entrywise(program: dp.ParametricLP) -> Entrywise:
    """The program over its own coefficients."""
    target, _, _ = program.entrywise()
    return Entrywise(target, form(program))


def true_slack(program: Any, values: Floats, x: Floats) -> Floats:
    """b_i(D) − A_i(D)x of every row: exact, rounded down once."""
    known = dp.extend.UncertaintySet.box(values, values)
    return program.certify(x, known).slack
