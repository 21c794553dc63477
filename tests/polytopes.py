"""Polytopes of databases in fractions: vertices by enumeration, rows at every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from dp_cmdp import ParametricLP
from dp_cmdp._check import FloatArray
from dp_cmdp.data.polytope import Polytope

Point = tuple[Fraction, ...]


def vertices(polytope: Polytope) -> list[Point]:
    """All corners; none when the facts contradict each other."""
    size = polytope.num_entries
    rows = [[Fraction(v) for v in row] for row in polytope.W.toarray().tolist()]
    right = [Fraction(v) for v in polytope.q.tolist()]
    for k, (low, high) in enumerate(zip(polytope.lower, polytope.upper, strict=True)):
        unit = [Fraction(int(j == k)) for j in range(size)]
        rows += [unit, [-u for u in unit]]
        right += [Fraction(float(high)), -Fraction(float(low))]
    found = set()
    for active in combinations(range(len(rows)), size):
        point = _solved([rows[i] for i in active], [right[i] for i in active])
        if point is not None and all(
            _product(row, point) <= limit for row, limit in zip(rows, right, strict=True)
        ):
            found.add(point)
    return sorted(found)


def slacks(program: ParametricLP, x: Sequence[float] | FloatArray, theta: Point) -> list[Fraction]:
    """b_i(θ) − A_i(θ)x of the sensitive rows."""
    point = [Fraction(float(v)) for v in x]
    A, b = program.A, program.b
    left = [_product([Fraction(v) for v in row], point) for row in A.constant.toarray().tolist()]
    for i, j, k, g in zip(A.row, A.col, A.entry, A.coefficient, strict=True):
        left[i] += Fraction(float(g)) * theta[k] * point[j]
    right = [Fraction(float(v)) for v in b.constant]
    for i, k, h in zip(b.row, b.entry, b.coefficient, strict=True):
        right[i] += Fraction(float(h)) * theta[k]
    return [limit - total for limit, total in zip(right, left, strict=True)]


def worst_slacks(
    program: ParametricLP, x: Sequence[float] | FloatArray, polytope: Polytope
) -> list[Fraction]:
    """The smallest slack of every sensitive row over a polytope: at one of its corners."""
    at = [slacks(program, x, corner) for corner in vertices(polytope)]
    return [min(row) for row in zip(*at, strict=True)]


def _product(row: Sequence[Fraction], point: Sequence[Fraction]) -> Fraction:
    return sum((a * v for a, v in zip(row, point, strict=True)), Fraction(0))


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> Point | None:
    """The point at which as many equations as unknowns hold; None when there is no single one."""
    table = [[*row, limit] for row, limit in zip(rows, right, strict=True)]
    size = len(table)
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i in range(size):
            if i != k and (factor := table[i][k]):
                table[i] = [v - factor * p for v, p in zip(table[i], table[k], strict=True)]
    return tuple(row[-1] for row in table)


def corner_rows(program: ParametricLP, polytope: Polytope) -> tuple[np.ndarray, np.ndarray]:
    """The sensitive rows at every corner, stacked: what the counterpart stands for."""
    corners = [np.array([float(v) for v in corner]) for corner in vertices(polytope)]
    return (
        np.concatenate([program.A.at(corner).toarray() for corner in corners]),
        np.concatenate([program.b.at(corner) for corner in corners]),
    )
