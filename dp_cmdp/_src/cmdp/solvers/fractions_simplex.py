"""The best mixture of a few columns, in fractions: no tolerance decides anything.

    max Σ value_j w_j   s.t.   Σ costs_j w_j ≤ b,   Σ w_j = 1,   w ≥ 0,

by the simplex method with Bland's rule; first for the least excess over b, then for the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Row = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights by number of the column, multipliers of the costs, and the excess over b.

    Where some excess is left, the multipliers are those of the excess. `kept` is b, raised where it
    is exceeded.
    """

    weights: dict[int, Fraction]
    prices: Row
    excess: Fraction
    kept: Row


def best_mixture(worths: Sequence[tuple[Fraction, Row]], b: Row, unit: Row) -> Mixture:
    """The mixture of (value, costs); excess is counted in `unit`, one per cost."""
    count, K = len(worths), len(b)
    columns = [
        [*((cost - own) / size for cost, own, size in zip(costs, b, unit, strict=True)), ONE]
        for _, costs in worths
    ]
    sides = [[ONE if i == k else ZERO for i in range(K + 1)] for k in range(K)]
    columns += sides + [[-entry for entry in side] for side in sides]
    over = [k for k in range(K) if columns[0][k] > 0]
    basis = [count + K + k if k in over else count + k for k in range(K)] + [0]
    least = [ZERO] * (count + K) + [-ONE] * K
    weights, prices = _optimise(columns, least, basis)
    above = [sum((w for j, w in weights.items() if j == count + K + k), ZERO) for k in range(K)]
    excess = sum(above, ZERO)
    if excess == 0:
        basis[:] = [j - K if j >= count + K else j for j in basis]
        gains = [value for value, _ in worths] + [ZERO] * K
        weights, prices = _optimise(columns[: count + K], gains, basis)
    return Mixture(
        weights={j: w for j, w in weights.items() if j < count},
        prices=[max(price / size, ZERO) for price, size in zip(prices[:K], unit, strict=True)],
        excess=excess,
        kept=[own + more * size for own, more, size in zip(b, above, unit, strict=True)],
    )


def _optimise(columns: list[Row], gains: Row, basis: list[int]) -> tuple[dict[int, Fraction], Row]:
    """Weights of the best basis, which `basis` becomes, and prices of the rows; Σ w = 1 is last."""
    size = len(basis)
    while True:
        inverse = _inverse([columns[j] for j in basis])
        weights = [row[-1] for row in inverse]
        prices = [sum((gains[j] * row[i] for j, row in zip(basis, inverse, strict=True)), ZERO)
                  for i in range(size)]  # fmt: skip
        entering = next((j for j, column in enumerate(columns)
                         if j not in basis and gains[j] > _dot(prices, column)), None)  # fmt: skip
        if entering is None:
            return dict(zip(basis, weights, strict=True)), prices
        steps = [_dot(row, columns[entering]) for row in inverse]
        leaving = min((i for i in range(size) if steps[i] > 0),
                      key=lambda i: (weights[i] / steps[i], basis[i]))  # fmt: skip
        basis[leaving] = entering


def _dot(one: Row, other: Row) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), ZERO)


def _inverse(columns: list[Row]) -> list[Row]:
    """Rows of the inverse of the matrix with these columns."""
    size = len(columns)
    work = [[columns[j][i] for j in range(size)] + [ONE if i == j else ZERO for j in range(size)]
            for i in range(size)]  # fmt: skip
    for i in range(size):
        pivot = next(row for row in range(i, size) if work[row][i] != 0)
        work[i], work[pivot] = work[pivot], work[i]
        work[i] = [entry / work[i][i] for entry in work[i]]
        for row in range(size):
            factor = work[row][i]
            if row != i and factor != 0:
                work[row] = [a - factor * b for a, b in zip(work[row], work[i], strict=True)]
    return [row[size:] for row in work]
