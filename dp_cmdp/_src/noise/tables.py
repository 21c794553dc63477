"""Laws given by a table of integer weights over 2^256, each cell spread evenly over `cell` points.

The noise is W = cell·J + U with P(J = j) = w_j/2^256 and U uniform on {0, …, cell − 1}.

**Shifts inside a cell cost nothing.** Shift the law by d·cell + f, 0 ≤ f < cell. A share
1 − f/cell of each cell then faces the cell d places back and a share f/cell the one d + 1 back, so
with H_d = Σ_j max(w_j − e^ε w_{j−d}, 0)/2^256 the hockey-stick divergence of d whole cells,

    H_{d·cell + f} = (1 − f/cell)·H_d + (f/cell)·H_{d+1}.

So (ε, δ)-privacy for whole cells d ≤ h is (ε, δ)-privacy for every shift of at most h·cell points.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.noise.digits import ONE, PRECISION, Source, random_bytes

#: Bits of a draw that are compared first, one machine word, and those that settle ties.
HEAD = 64
REST = PRECISION - HEAD


def hockey_stick(weights: Sequence[int], shift: int, ratio: Fraction) -> Fraction:
    """Greater of Σ max(w_j − ratio·w_{j∓shift}, 0)/2^256 over the two directions, exactly."""
    top, bottom = ratio.numerator, ratio.denominator
    size = len(weights)
    worst = 0
    for sign in (-shift, shift):
        total = 0
        for j, weight in enumerate(weights):
            other = weights[j + sign] if 0 <= j + sign < size else 0
            total += max(weight * bottom - top * other, 0)
        worst = max(worst, total)
    return Fraction(worst, bottom * ONE)


def worst_hockey_stick(weights: Sequence[int], shifts: int, ratio: Fraction) -> Fraction:
    """The greatest hockey-stick divergence over shifts of 1, …, `shifts` cells."""
    return max(hockey_stick(weights, shift, ratio) for shift in range(1, shifts + 1))


def integer_weights(masses: Sequence[Fraction]) -> tuple[int, ...]:
    """Non-negative masses as integers that sum to 2^256; the remainder goes to the heaviest."""
    total = sum(masses)
    weights = [int(mass * ONE / total) for mass in masses]
    heaviest = max(range(len(weights)), key=weights.__getitem__)
    weights[heaviest] += ONE - sum(weights)
    return tuple(weights)


def draw_cells(weights: Sequence[int], size: int, source: Source) -> NDArray[np.int64]:
    """`size` exact draws of J by inversion: 64 random bits, 192 more in a tie."""
    ends = list(accumulate(weights[:-1]))
    heads = np.array([min(end >> REST, (1 << HEAD) - 1) for end in ends], dtype=np.uint64)
    words = np.frombuffer(random_bytes(source, size * (HEAD // 8)), dtype=np.uint64)
    cells = np.searchsorted(heads, words, side="right")
    for tie in np.flatnonzero(np.isin(words, heads)):
        point = int(words[tie]) << REST | int.from_bytes(random_bytes(source, REST // 8), "little")
        cells[tie] = sum(end <= point for end in ends)
    return cells.astype(np.int64)


def draw_inside(cell: int, size: int, source: Source) -> NDArray[np.int64]:
    """`size` exact uniform draws from {0, …, cell − 1}: 64 random bits modulo `cell`.

    Words beyond the last whole multiple of `cell` (a share below cell/2^64) are drawn again.
    """
    if cell == 1:
        return np.zeros(size, dtype=np.int64)
    last = np.uint64((1 << HEAD) // cell * cell - 1)
    words = np.frombuffer(random_bytes(source, size * (HEAD // 8)), dtype=np.uint64).copy()
    while (again := np.flatnonzero(words > last)).size:
        words[again] = np.frombuffer(
            random_bytes(source, again.size * (HEAD // 8)), dtype=np.uint64
        )
    return (words % np.uint64(cell)).astype(np.int64)
