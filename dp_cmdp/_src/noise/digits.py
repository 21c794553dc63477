"""The binary digits of a geometric magnitude are independent: integers define the law.

A magnitude K on {0, …, 2^L − 1} with P(K = k) ∝ q^k has independent binary digits, digit i being 1
with odds q^(2^i). Here digit i is 1 with probability a_i/2^256, a_i an integer *threshold*, so K is
drawn exactly, with a fixed amount of work, and its law is a product of integers. With odds
r_i = a_i/(2^256 − a_i), going from k to k + 1 clears the t trailing ones of k and sets digit t, so
every unit step is one of L ratios

    P(K = k + 1)/P(K = k) = r_t / (r_0 ⋯ r_{t−1}),     t = number of trailing ones of k,

and "no unit step changes the law by more than a factor ρ, and none raises it" is L comparisons of
integers. The thresholds are greedy: a_t is the least integer with r_t ≥ r_0 ⋯ r_{t−1}/ρ.

A coin of probability a/2^256 is tossed lazily: 32 random bits against the head of a, and only in a
tie (probability 2^−32) the other 224 bits against its tail. The law is exact all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.errors import InvalidArgumentError

#: Thresholds are integers over 2**PRECISION; their leading WORD bits are compared first.
PRECISION = 256
WORD = 32
TAIL = PRECISION - WORD
ONE = 1 << PRECISION

#: Largest noise magnitude, so that sums with lattice indices stay far inside int64.
LARGEST = 1 << 61
#: Random words per batch: bounds the memory of a call whatever its size.
BATCH_WORDS = 1 << 19

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
#: ``source(count)`` returns `count` uniform random bytes; ``os.urandom`` is the secure one.
Source = Callable[[int], bytes]


@lru_cache(maxsize=256)
def exp_lower(exponent: Fraction) -> Fraction:
    """A rational lower bound of e^x for x ≥ 0, within 2^−300 relative.

    The partial sums of the power series increase to e^x; terms are rounded down.
    """
    bits = PRECISION + 64
    term = total = 1 << bits
    order = 0
    while term:
        order += 1
        term = term * exponent.numerator // (exponent.denominator * order)
        total += term
    return Fraction(total, 1 << bits)


@lru_cache(maxsize=256)
def digit_thresholds(ratio: Fraction, digits: int) -> tuple[int, ...]:
    """Greedy thresholds of `digits` binary digits: each unit step divides by at most `ratio`.

    Refused when 256 bits cannot express so small a step so far out (never for ε ≤ 100, δ ≥ 2^−64
    and at most 2^40 steps).
    """
    thresholds: list[int] = []
    ones, zeros = 1, 1  # r_0 ⋯ r_{t−1} = ones / zeros
    for _ in range(digits):
        part = ones * ratio.denominator
        whole = part + zeros * ratio.numerator
        threshold = -(-ONE * part // whole)
        if threshold * zeros > (ONE - threshold) * ones:
            raise InvalidArgumentError(
                "epsilon per lattice step is too small for exact noise; measure in smaller integers"
            )
        thresholds.append(threshold)
        ones, zeros = ones * threshold, zeros * (ONE - threshold)
    return tuple(thresholds)


def steps_hold(thresholds: Sequence[int], ratio: Fraction) -> bool:
    """Whether every unit step divides the law by a factor in [1, ratio], exactly."""
    ones, zeros = 1, 1
    for threshold in thresholds:
        up, down = threshold * zeros, (ONE - threshold) * ones
        if up > down or up * ratio.numerator < down * ratio.denominator:
            return False
        ones, zeros = ones * threshold, zeros * (ONE - threshold)
    return True


def continuation(thresholds: Sequence[int], ratio: Fraction) -> int:
    """Threshold of "2^L or more": the law goes on for ever with the same bound on unit steps."""
    ones = prod(thresholds)
    zeros = prod(ONE - threshold for threshold in thresholds)
    return -(-ONE * ones * ratio.denominator // (zeros * ratio.numerator))


def continuation_holds(thresholds: Sequence[int], ratio: Fraction, threshold: int) -> bool:
    """Whether the unit step from 2^L − 1 to 2^L divides by a factor in [1, ratio], exactly."""
    ones = prod(thresholds)
    zeros = prod(ONE - each for each in thresholds)
    least = ONE * ones * ratio.denominator
    return least <= threshold * zeros * ratio.numerator and threshold * zeros <= ONE * ones


def weight_below(thresholds: Sequence[int], end: int) -> int:
    """Σ of the integer weights of the magnitudes 0, …, end − 1; all 2^L of them weigh 2^(256 L)."""
    digits = len(thresholds)
    if end >> digits:
        return 1 << (PRECISION * digits)
    total, prefix = 0, 1
    for place in reversed(range(digits)):
        zero = prefix * (ONE - thresholds[place])
        if end >> place & 1:
            total += zero << (PRECISION * place)
            prefix *= thresholds[place]
        else:
            prefix = zero
    return total


def second_moment_below(thresholds: Sequence[int], end: int) -> float:
    """E[K²; K < end] for end ≤ 2^L, in floats: digits are independent, variances add."""
    chance, squares, prefix, base = [], 0.0, 1.0, 0.0
    for threshold in thresholds:
        chance.append(threshold / ONE)
    chance.append(0.0)
    for place in reversed(range(len(chance))):
        p = chance[place]
        if end >> place & 1:
            lower = spread = 0.0
            for i in range(place):
                lower += 2.0**i * chance[i]
                spread += 4.0**i * chance[i] * (1 - chance[i])
            mean = base + lower
            squares += prefix * (1 - p) * (mean * mean + spread)
            prefix, base = prefix * p, base + 2.0**place
        else:
            prefix *= 1 - p
    return squares


def random_bytes(source: Source, count: int) -> bytes:
    """`count` bytes; a source that returns fewer would make the noise predictable."""
    found = source(count)
    if len(found) != count:
        raise InvalidArgumentError("source must return as many bytes as it is asked for")
    return found


def toss(words: NDArray[np.uint32], threshold: int, source: Source) -> NDArray[np.bool_]:
    """One exact coin of probability threshold/2^256 per random word."""
    head, tail = divmod(threshold, 1 << TAIL)
    heads = words < head
    for tie in np.flatnonzero(words == head):
        heads[tie] = int.from_bytes(random_bytes(source, TAIL // 8), "little") < tail
    return heads


def draw_words(rows: int, size: int, source: Source) -> NDArray[np.uint32]:
    """A (rows, size) table of random 32-bit words."""
    return np.frombuffer(random_bytes(source, rows * size * (WORD // 8)), dtype=np.uint32).reshape(
        rows, size
    )


def draw_magnitudes(thresholds: Sequence[int], size: int, source: Source) -> IntArray:
    """`size` independent magnitudes on [0, 2^L)."""
    magnitude = np.zeros(size, dtype=np.int64)
    for place, words in enumerate(draw_words(len(thresholds), size, source)):
        digit = toss(words, thresholds[place], source)
        magnitude |= digit.astype(np.int64) << place
    return magnitude


def draw_signs(
    magnitude: NDArray[Any], source: Source, keep: NDArray[np.bool_] | None
) -> NDArray[Any]:
    """Signed magnitudes, without those not in `keep` and without the second zero (−, 0)."""
    negative = np.frombuffer(random_bytes(source, magnitude.size), dtype=np.uint8) & 1 == 1
    kept = ~(negative & (magnitude == 0))
    if keep is not None:
        kept &= keep
    return np.where(negative, -magnitude, magnitude)[kept]


def proposals(missing: int, *, acceptance: float, limit: int) -> int:
    """How many to draw where `missing` shall be accepted: at most `limit`."""
    wanted = missing / acceptance
    return min(max(limit, 1), ceil(wanted + 5 * sqrt(wanted)))
