"""Linear programs in rational arithmetic: a float basis is proved best, or pivoted until it is.

    max cᵀx   s.t.   A x = b, x ≥ 0,   A of full row rank, every number a fraction.

HiGHS hands over a basis. Its primal and dual solutions are computed exactly, by elimination without
fractions (Bareiss); where a sign is wrong, the exact simplex method goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

Row = list[Fraction]
#: Exact pivots at most: HiGHS's basis is a few away at worst.
PIVOTS = 400


class SingularError(ArithmeticError):
    """The columns of a basis do not span the rows."""


def solve_exactly(matrix: Sequence[Sequence[Fraction]], side: Sequence[Fraction]) -> Row:
    """x with M x = side, for a square matrix."""
    n = len(side)
    rows = [_integers([*row, b]) for row, b in zip(matrix, side, strict=True)]
    last = 1
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            raise SingularError
        rows[k], rows[pivot] = rows[pivot], rows[k]
        top, lead = rows[k], rows[k][k]
        for i in range(k + 1, n):
            row, factor = rows[i], rows[i][k]
            if factor:
                rows[i] = [0] * (k + 1) + [
                    (lead * row[j] - factor * top[j]) // last for j in range(k + 1, n + 1)
                ]
            else:
                rows[i] = [0] * (k + 1) + [lead * row[j] // last for j in range(k + 1, n + 1)]
        last = lead
    return _substituted(rows)


def _substituted(rows: list[list[int]]) -> Row:
    """Back substitution, with the determinant as the common denominator."""
    n = len(rows)
    whole = rows[-1][n - 1] if n else 1
    x = [0] * n
    for k in reversed(range(n)):
        rest = rows[k][n] * whole - sum(rows[k][j] * x[j] for j in range(k + 1, n))
        x[k] = rest // rows[k][k]
    return [Fraction(value, whole) for value in x]


def _integers(row: Sequence[Fraction]) -> list[int]:
    scale = lcm(*(value.denominator for value in row))
    return [value.numerator * (scale // value.denominator) for value in row]


@dataclass(slots=True)
class ExactProgram:
    """A program by its columns, and the basis that the last call left."""

    columns: list[dict[int, Fraction]]
    b: Row
    c: Row
    basis: list[int] = field(default_factory=list)

    def maximum(self, basis: Sequence[int]) -> Fraction | None:
        """The largest cᵀx; None where no x is feasible."""
        self.basis = list(basis)
        dearer = [max(d, Fraction(0)) for d in self._reduced(self.c)]
        lowered = [c - more for c, more in zip(self.c, dearer, strict=True)]
        if not self._make_feasible(lowered):
            return None
        for pivot in range(PIVOTS):
            reduced = self._reduced(self.c)
            gains = [j for j, d in enumerate(reduced) if d > 0]
            if not gains:
                x = self.point()
                return sum((self.c[j] * v for j, v in zip(self.basis, x, strict=True)), Fraction(0))
            bland = pivot >= PIVOTS // 2  # never circles
            self._enter(min(gains) if bland else max(gains, key=reduced.__getitem__))
        raise ArithmeticError(f"no optimum after {PIVOTS} exact pivots")

    def point(self) -> Row:
        """The values of the basic variables."""
        return solve_exactly(self._matrix(), self.b)

    def _matrix(self) -> list[Row]:
        none = Fraction(0)
        return [[self.columns[j].get(i, none) for j in self.basis] for i in range(len(self.b))]

    def _transposed(self, side: Row) -> Row:
        none, m = Fraction(0), len(self.b)
        matrix = [[self.columns[j].get(i, none) for i in range(m)] for j in self.basis]
        return solve_exactly(matrix, side)

    def _against(self, y: Row) -> Row:
        """yᵀA."""
        return [
            sum((y[i] * value for i, value in column.items()), Fraction(0))
            for column in self.columns
        ]

    def _reduced(self, c: Row) -> Row:
        y = self._transposed([c[j] for j in self.basis])
        return [own - used for own, used in zip(c, self._against(y), strict=True)]

    def _make_feasible(self, c: Row) -> bool:
        """Dual simplex at costs for which the basis is dual feasible; Bland's rule in the end."""
        for pivot in range(PIVOTS):
            x = self.point()
            wrong = [place for place, value in enumerate(x) if value < 0]
            if not wrong:
                return True
            order = x if pivot < PIVOTS // 2 else self.basis
            leaving = min(wrong, key=order.__getitem__)
            unit = [Fraction(int(place == leaving)) for place in range(len(x))]
            row = self._against(self._transposed(unit))
            reduced = self._reduced(c)
            inside = set(self.basis)
            ratios = [
                (reduced[j] / row[j], j) for j in range(len(c)) if j not in inside and row[j] < 0
            ]
            if not ratios:
                return False
            self.basis[leaving] = min(ratios)[1]
        raise ArithmeticError(f"not feasible after {PIVOTS} exact pivots")

    def _enter(self, entering: int) -> None:
        """Primal pivot, Bland's rule."""
        none = Fraction(0)
        column = [self.columns[entering].get(i, none) for i in range(len(self.b))]
        step, x = solve_exactly(self._matrix(), column), self.point()
        ratios = [(x[place] / d, self.basis[place], place) for place, d in enumerate(step) if d > 0]
        if not ratios:
            raise ArithmeticError("the program is unbounded")
        self.basis[min(ratios)[2]] = entering
