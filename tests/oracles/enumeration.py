"""Exact privacy of integer noise by enumeration, over every way a record may move it.

``weights`` are the integer weights of a law on consecutive integers. `count` numbers are perturbed
independently; adjacent data move them by d with 0 ≤ |d_i| ≤ largest and Σ|d_i| ≤ l1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

from tests.oracles.frozen.noise import Certificate, exp_lower, weight_below


def weights_of(proof: Certificate) -> list[int]:
    """The law that a certificate proves, from the least to the greatest integer."""
    if proof.law == "table":
        return [weight for weight in proof.thresholds for _ in range(proof.cell)]
    ends = [weight_below(proof.thresholds, end) for end in range(proof.support + 2)]
    half = [high - low for low, high in pairwise(ends)]
    return half[:0:-1] + half


def shifts(*, l1: int, largest: int, count: int) -> Iterator[tuple[int, ...]]:
    """Moves that no other one exceeds, up to order; both directions of each number."""
    for sizes in product(range(largest, -1, -1), repeat=count):
        room = l1 - sum(sizes)
        if list(sizes) != sorted(sizes, reverse=True) or room < 0:
            continue
        if room and min(sizes) < largest:
            continue
        for signs in product((1, -1), repeat=sum(size > 0 for size in sizes)):
            padded = (*signs, *[1] * (count - len(signs)))
            yield tuple(sign * size for sign, size in zip(padded, sizes, strict=True))


def divergence(
    weights: Sequence[int], epsilon: Fraction, *, l1: int, largest: int, count: int
) -> Fraction:
    """The least δ at which the noise is (epsilon, δ)-private, with a lower bound of e^ε for e^ε."""
    ratio, whole = exp_lower(epsilon), sum(weights)
    worst = 0
    for move in shifts(l1=l1, largest=largest, count=count):
        worst = max(worst, _excess(weights, ratio, move))
    return Fraction(worst, ratio.denominator * whole**count)


def _excess(weights: Sequence[int], ratio: Fraction, move: Sequence[int]) -> int:
    """Σ max(denominator·Π w(z_i) − numerator·Π w(z_i − d_i), 0) over all points."""
    size = len(weights)
    here: list[tuple[int, int]] = [(1, 1)]
    for far in move:
        pairs = [
            (weight, weights[z - far] if 0 <= z - far < size else 0)
            for z, weight in enumerate(weights)
        ]
        here = [(a * p, b * q) for a, b in here for p, q in pairs]
    top, bottom = ratio.numerator, ratio.denominator
    return sum(max(bottom * a - top * b, 0) for a, b in here)
