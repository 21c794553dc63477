"""Laws of noise on the integers, and how private they are.

A law says which integers it can give, ``low`` … ``high`` (None: unbounded on that side), and for a
:class:`Sensitivity` an upper bound of the δ that it needs at ε. That bound is the whole interface
between noise and privacy: a certificate is the comparison ``law.delta(sensitivity, ε) ≤ δ`` of
fractions, calibration is bisection on it. Every bound of e^x used is a rational lower bound, so the
conclusions hold for the true e^x.

:class:`Laplace`
    Z on {−S, …, S}, |Z| by its binary digits (:mod:`dp_cmdp._src.noise.laws`). A record moves
    query i by d_i, |d_i| ≤ largest and Σ|d_i| ≤ l1. If every unit step away from 0 divides the law
    by a factor in [1, ρ] with ρ^l1 ≤ e^ε, and G(n) is the mass of the n outermost points on one
    side, then δ = (l1/largest)·G(largest) is enough.
    *Proof.* Where both laws are positive their ratio is at most ρ^Σ|d_i| ≤ e^ε. The mass outside
    the other support is at most Σ G(|d_i|). The law falls away from 0 and largest ≤ S, so G is
    convex on {0, …, largest} with G(0) = 0; thus G(d) ≤ (d/largest)·G(largest), and
    Σ G(|d_i|) ≤ (l1/largest)·G(largest). ∎  The bound does not fall when l1 or largest grows.
:class:`~dp_cmdp._src.noise.unbounded.UnboundedLaplace`
    The same on all integers: the bound on unit steps alone proves δ = 0.
:class:`~dp_cmdp._src.noise.one_sided.OneSided`
    A table for records that move one query: the divergence of every shift is computed.

The binary digits of a geometric magnitude are independent: integers define the law.

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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.accounting.budget import PrivacyBudget
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


@lru_cache(maxsize=256)
def second_moment_below(thresholds: tuple[int, ...], end: int) -> float:
    """E[K²; K < end] for end ≤ 2^L, in floats: digits are independent, variances add."""
    squares, prefix, base = 0.0, 1.0, 0.0
    chance = [threshold / ONE for threshold in (*thresholds, 0)]
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


def draw_magnitudes(thresholds: Sequence[int], size: int, source: Source) -> IntArray:
    """`size` independent magnitudes on [0, 2^L)."""
    magnitude, shape = np.zeros(size, dtype=np.int64), (len(thresholds), size)
    drawn = random_bytes(source, len(thresholds) * size * (WORD // 8))
    for place, words in enumerate(np.frombuffer(drawn, dtype=np.uint32).reshape(shape)):
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


#: Budgets for which noise is built; no release comes near these limits.
MAX_EPSILON = 100
MIN_DELTA = Fraction(1, 1 << 63)
#: Binary digits of a magnitude, so that it stays far inside int64.
MAX_DIGITS = LARGEST.bit_length()
CERTAIN = Fraction(1)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that one record moves the measured integers.

    Parameters
    ----------
    l1, l2_squared : int
        Sums of the moves and of their squares over all queries.
    largest : int
        The move of one query.
    count : int
        How many queries one record moves.

    Notes
    -----
    **Privacy.** *Public*.
    """

    l1: int
    l2_squared: int
    largest: int
    count: int


class Noise(Protocol):
    """What laws of noise do."""

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, budget: PrivacyBudget) -> Law:
        """The narrowest law of this family that is private enough.

        Parameters
        ----------
        sensitivity : Sensitivity
            The most that one record moves the measured integers.
        budget : PrivacyBudget
            What may be spent.

        Returns
        -------
        Law
            One with `delta(sensitivity, budget.epsilon)` ≤ `budget.delta`.

        Raises
        ------
        InvalidArgumentError
            If no law of this family that fits is small enough to be drawn from.
        """
        ...

    def delta(self, sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
        """An upper bound of the δ needed at ε; it must not fall when the sensitivity grows.

        Parameters
        ----------
        sensitivity : Sensitivity
            The most that one record moves the measured integers.
        epsilon : Fraction
            The ε at which the bound is asked for.

        Returns
        -------
        Fraction
            At most 1.
        """
        ...

    def log_weight(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probabilities on the support, but for a constant.

        Parameters
        ----------
        z : float array
            Whole numbers of the support.

        Returns
        -------
        float array
            In the shape of `z`.
        """
        ...

    def sample(self, size: int, source: Source) -> list[int]:
        """Exact independent draws from random bytes.

        Parameters
        ----------
        size : int
            How many draws.
        source : System or Simulated
            Random bytes: of the operating system, or of a seed.

        Returns
        -------
        list of int
            Python integers within `low` … `high`.
        """
        ...

    def sample_floats(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Fast draws of whole numbers, for simulations: not private, rounded like floats.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness.
        size : int
            How many draws.

        Returns
        -------
        float array
            Whole numbers.
        """
        ...

    def document(self) -> dict[str, Any]:
        """The law as JSON: integers in hexadecimal digits.

        Returns
        -------
        dict
            Its name under "law", and its parameters.
        """
        ...


class Law(Noise, Protocol):
    """Noise on the integers low … high, drawn independently for every query.

    Notes
    -----
    **Privacy.** *Public*. A measurement believes the `delta` of its law; a verifier does not.
    """

    @property
    def low(self) -> int | None:
        """The smallest integer that can be drawn; None where there is none."""
        ...

    @property
    def high(self) -> int | None:
        """The largest integer that can be drawn; None where there is none."""
        ...

    @property
    def mean(self) -> float:
        """Mean of the noise, in lattice steps."""
        ...

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared lattice steps."""
        ...


@dataclass(frozen=True)
class Laplace(Noise):
    """Truncated two-sided geometric noise on {−support, …, support}.

    Parameters
    ----------
    support : int
        The largest magnitude.
    thresholds : tuple of int
        Probabilities of the binary digits of the magnitude, over 2^256.

    Notes
    -----
    **Paper.** ``lem:matrix_lap``, on a lattice, with a support that does not grow with dimension.
    **Privacy.** *Public*: the law is; a draw, used once and never shown, spends the budget.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> from dp_cmdp.extend import Laplace, Sensitivity
    >>> one = Sensitivity(l1=4, l2_squared=16, largest=4, count=1)
    >>> Laplace.calibrate(one, dp.PrivacyBudget(1, "1/1000")).support
    27
    """

    support: int
    thresholds: tuple[int, ...]
    low: int = field(init=False, repr=False, compare=False)
    high: int = field(init=False, repr=False, compare=False)

    mean = 0.0

    def __post_init__(self) -> None:
        digits = len(self.thresholds)
        if not 0 <= self.support <= LARGEST or self.support >> digits or digits > MAX_DIGITS:
            raise InvalidArgumentError("support must lie below 2^61 and below 2^(thresholds)")
        if digits and not 0 < min(self.thresholds) <= max(self.thresholds) < ONE:
            raise InvalidArgumentError("thresholds must lie between 0 and 2^256")
        vars(self).update(low=-self.support, high=self.support)

    @cached_property
    def acceptance(self) -> float:
        """Probability that a proposed magnitude and sign are kept."""
        inside = weight_below(self.thresholds, self.support + 1)
        kept = 2 * inside - weight_below(self.thresholds, 1)
        return max(kept / (2 * ONE ** len(self.thresholds)), 2.0**-1022)

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared lattice steps."""
        return second_moment_below(self.thresholds, self.support + 1) / self.acceptance

    @cached_property
    def rate(self) -> float:
        """The logarithm of what the first unit step away from 0 divides the law by."""
        return first_rate(self.thresholds)

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, budget: PrivacyBudget) -> Laplace:
        check_budget(budget, lowest_delta=MIN_DELTA)
        l1, largest = max(sensitivity.l1, 1), max(sensitivity.largest, 1)
        return narrowest_laplace(l1, largest, budget.epsilon, budget.delta)

    def delta(self, sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
        # (l1/largest)·(mass of the `largest` outermost points), rounded up to 2^−256
        l1, largest = sensitivity.l1, sensitivity.largest
        if not l1:
            return Fraction(0)
        if largest > self.support or not 0 < epsilon <= MAX_EPSILON:
            return CERTAIN
        if not steps_hold(self.thresholds, exp_lower(epsilon / l1)):
            return CERTAIN
        return min(CERTAIN, outer_mass(self.thresholds, self.support, l1=l1, largest=largest))

    def pmf(self, point: int) -> Fraction:
        """P(Z = point), exactly.

        Parameters
        ----------
        point : int
            Any integer.

        Returns
        -------
        Fraction
            Its probability.
        """
        if abs(point) > self.support:
            return Fraction(0)
        weight = weight_below(self.thresholds, abs(point) + 1)
        weight -= weight_below(self.thresholds, abs(point))
        inside = weight_below(self.thresholds, self.support + 1)
        return Fraction(weight, 2 * inside - weight_below(self.thresholds, 1))

    def log_weight(self, z: FloatArray) -> FloatArray:
        return -self.rate * np.abs(z)

    def sample(self, size: int, source: Source) -> list[int]:
        # A fixed amount of work per proposal. What lies beyond the support is thrown away, and how
        # much says nothing about what is kept. A tie (2^−32 per digit) takes 28 more bytes.
        found: list[int] = []
        limit = BATCH_WORDS // (len(self.thresholds) + 1)
        while (missing := size - len(found)) > 0:
            batch = proposals(missing, acceptance=self.acceptance, limit=limit)
            magnitude = draw_magnitudes(self.thresholds, batch, source)
            drawn = draw_signs(magnitude, source, keep=magnitude <= self.support)
            found += drawn[:missing].tolist()
        return found

    def sample_floats(self, rng: np.random.Generator, size: int) -> FloatArray:
        inside = -math.expm1(-self.rate * (self.support + 0.5))
        place = 2.0 * rng.random(size) - 1.0  # by inversion: quantiles of all laws go together
        return np.copysign(np.rint(-np.log1p(-inside * np.abs(place)) / self.rate), place)

    def document(self) -> dict[str, Any]:
        return {
            "law": "laplace",
            "support": f"{self.support:x}",
            "thresholds": [f"{each:x}" for each in self.thresholds],
        }


TOO_WIDE = "the noise would exceed 2^59 lattice steps; measure in smaller integers"


def check_budget(budget: PrivacyBudget, *, lowest_delta: Fraction) -> None:
    """Refuse budgets for which no noise is built."""
    if not 0 < budget.epsilon <= MAX_EPSILON:
        raise InvalidArgumentError(f"epsilon of a measurement must lie in (0, {MAX_EPSILON}]")
    if not lowest_delta <= budget.delta <= Fraction(1, 2):
        raise InvalidArgumentError(
            f"delta of a measurement must lie in [{float(lowest_delta):.3g}, 1/2]"
        )


def outer_mass(thresholds: tuple[int, ...], support: int, *, l1: int, largest: int) -> Fraction:
    """(l1/largest)·(mass of the `largest` outermost points of one side), rounded up to 2^−256."""
    inside = weight_below(thresholds, support + 1)
    outer = inside - weight_below(thresholds, support + 1 - largest)
    whole = 2 * inside - weight_below(thresholds, 1)
    return Fraction(-(-((outer * l1) << PRECISION) // (whole * largest)), ONE)


def half_width(l1: int, largest: int, epsilon: Fraction, delta: Fraction) -> float:
    """The support of the narrowest law, in floats and as if all reals were integers."""
    scale, moved = l1 / float(epsilon), l1 / largest
    return scale * math.log1p(moved * math.expm1(largest / scale) / (2 * float(delta)))


@lru_cache(maxsize=256)
def narrowest_laplace(l1: int, largest: int, epsilon: Fraction, delta: Fraction) -> Laplace:
    ratio = exp_lower(epsilon / l1)

    def holds(support: int) -> bool:
        thresholds = digit_thresholds(ratio, support.bit_length())
        return outer_mass(thresholds, support, l1=l1, largest=largest) <= delta

    guess = half_width(l1, largest, epsilon, delta)
    if guess >= LARGEST // 4:
        raise InvalidArgumentError(TOO_WIDE)
    support = _least(holds, start=max(largest, round(guess)), low=largest)
    return Laplace(support, digit_thresholds(ratio, support.bit_length()))


def _least(holds: Callable[[int], bool], *, start: int, low: int) -> int:
    """The least integer ≥ low at which `holds` turns true, found from a good guess."""
    stride = 1
    if holds(start):
        good = start
        while good > low and holds(max(low, good - stride)):
            good, stride = max(low, good - stride), 2 * stride
        bad = max(low - 1, good - stride)
    else:
        bad = start
        while not holds(bad + stride):
            bad, stride = bad + stride, 2 * stride
        good = bad + stride
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def first_rate(thresholds: tuple[int, ...]) -> float:
    """ln((2^256 − a)/a) of the first threshold a, in floats; large where there is none."""
    if not thresholds:
        return 745.0
    return math.log1p((ONE - 2 * thresholds[0]) / thresholds[0])
