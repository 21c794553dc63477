"""Exact privacy of integer noise by enumeration; nothing here knows the package but its numbers.

``weights`` are the integer weights of a law on consecutive integers. Databases at which the queries
are n and n + d publish n + Z and n + d + Z, so the least δ at ε is

    Σ_y max(Π_i P(y_i − n_i) − e^ε Π_i P(y_i − n_i − d_i), 0),

the hockey-stick divergence, here with a rational lower bound of e^ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

WHOLE = 1 << 256


def exp_below(x: Fraction) -> Fraction:
    """A rational below e^x, closer than 1e-60 for 0 ≤ x ≤ 20."""
    term = total = Fraction(1)
    for order in range(1, 150):
        term = Fraction(math.floor(term * x / order * (1 << 400)), 1 << 400)
        total += term
    return total


def digit_weights(thresholds: Sequence[int]) -> list[int]:
    """Weights of the magnitudes 0, 1, … whose binary digits are coins of these chances."""
    found = [1]
    for threshold in thresholds:
        found = [w * (WHOLE - threshold) for w in found] + [w * threshold for w in found]
    return found


def laplace_weights(thresholds: Sequence[int], support: int) -> list[int]:
    """Two-sided, cut at the support."""
    half = digit_weights(thresholds)[: support + 1]
    assert len(half) == support + 1
    return half[:0:-1] + half


def table_weights(weights: Sequence[int], cell: int) -> list[int]:
    """Each cell spread evenly over its points."""
    return [weight for weight in weights for _ in range(cell)]


def divergence(weights: Sequence[int], epsilon: Fraction, move: Sequence[int]) -> Fraction:
    """Of independent noise on numbers that move by `move`, exactly."""
    ratio, size = exp_below(epsilon), len(weights)
    here: list[tuple[int, int]] = [(1, 1)]
    for far in move:
        pairs = [
            (weight, weights[z - far] if 0 <= z - far < size else 0)
            for z, weight in enumerate(weights)
            if weight
        ]
        here = [(a * p, b * q) for a, b in here for p, q in pairs]
    top, bottom = ratio.numerator, ratio.denominator
    excess = sum(max(bottom * a - top * b, 0) for a, b in here)
    return Fraction(excess, bottom * sum(weights) ** len(move))


def rough(weights: Sequence[int], epsilon: Fraction, move: Sequence[int]) -> float:
    """The same in floats."""
    law = np.array([float(Fraction(weight, sum(weights))) for weight in weights])
    here = there = np.ones(1)
    for far in move:
        shifted = np.zeros(law.size)
        if abs(far) < law.size:
            shifted[max(far, 0) : law.size + min(far, 0)] = law[
                max(-far, 0) : law.size - max(far, 0)
            ]
        here, there = np.outer(here, law).ravel(), np.outer(there, shifted).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


def worst(weights: Sequence[int], epsilon: Fraction, moves: Iterable[Sequence[int]]) -> Fraction:
    """The greatest divergence: floats find the moves worth an exact count."""
    kept = {tuple(move) for move in moves if any(move)}
    if list(weights) == list(weights)[::-1]:  # symmetric: signs and order of moves are immaterial
        kept = {tuple(sorted(map(abs, move))) for move in kept}
    found = {move: rough(weights, epsilon, move) for move in kept}
    highest = max(found.values(), default=0.0)
    near = [move for move, value in found.items() if value >= highest * (1 - 1e-6)]
    return max((divergence(weights, epsilon, move) for move in near[:3]), default=Fraction(0))


def allowed_moves(*, l1: int, largest: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every d with |d_i| ≤ largest and Σ|d_i| ≤ l1, up to sign and order."""
    for sizes in product(range(largest + 1), repeat=count):
        if sum(sizes) <= l1 and list(sizes) == sorted(sizes):
            yield sizes
