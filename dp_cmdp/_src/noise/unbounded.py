"""Two-sided geometric noise on all integers, for what is measured without bounds.

Magnitudes below 2^L are those of :mod:`dp_cmdp._src.noise.laws`; a coin of its own, tossed until it
fails, adds 2^L each time, with the same bound on the unit step from one block to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise.laws import (
    BATCH_WORDS,
    CERTAIN,
    MAX_DIGITS,
    MAX_EPSILON,
    ONE,
    PRECISION,
    TOO_WIDE,
    WORD,
    FloatArray,
    Noise,
    Sensitivity,
    Source,
    check_budget,
    digit_thresholds,
    draw_magnitudes,
    draw_signs,
    exp_lower,
    first_rate,
    proposals,
    random_bytes,
    steps_hold,
    toss,
    weight_below,
)

#: Blocks of 2^L steps beyond which the law is not written out.
FARTHEST = 4096


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


@dataclass(frozen=True)
class UnboundedLaplace(Noise):
    """Two-sided geometric noise on all integers: δ = 0, and no inequality follows from it.

    Parameters
    ----------
    thresholds : tuple of int
        Probabilities of the digits below 2^L, over 2^256.
    onward : int
        Probability, over 2^256, of "2^L more", a coin that is tossed until it fails.

    Notes
    -----
    **Paper.** ``lem:lap_mech``, on a lattice. **Privacy.** *Public*.
    """

    thresholds: tuple[int, ...]
    onward: int

    low = high = None
    mean = 0.0

    def __post_init__(self) -> None:
        if not 0 < len(self.thresholds) <= MAX_DIGITS:
            raise InvalidArgumentError("thresholds must be 1 to 62 integers")
        if not all(0 < each < ONE for each in (*self.thresholds, self.onward)):
            raise InvalidArgumentError("thresholds must lie between 0 and 2^256")

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, budget: PrivacyBudget) -> UnboundedLaplace:
        check_budget(budget, lowest_delta=Fraction(0))
        l1, epsilon = max(sensitivity.l1, 1), budget.epsilon
        if 45 * l1 > epsilon * (1 << 59):
            raise InvalidArgumentError(TOO_WIDE)
        ratio = exp_lower(epsilon / l1)
        digits = max(1, math.ceil(math.log2(45 * l1 / float(epsilon))))
        thresholds = digit_thresholds(ratio, digits)
        return cls(thresholds, continuation(thresholds, ratio))

    @cached_property
    def rate(self) -> float:
        """The logarithm of what the first unit step away from 0 divides the law by."""
        return first_rate(self.thresholds)

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared lattice steps."""
        return 2 * math.exp(-self.rate) / math.expm1(-self.rate) ** 2

    def delta(self, sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
        # 0, or 1 where a unit step is too large
        if not sensitivity.l1:
            return Fraction(0)
        if not 0 < epsilon <= MAX_EPSILON:
            return CERTAIN
        ratio = exp_lower(epsilon / sensitivity.l1)
        holds = steps_hold(self.thresholds, ratio)
        holds = holds and continuation_holds(self.thresholds, ratio, self.onward)
        return Fraction(0) if holds else CERTAIN

    def pmf(self, point: int) -> Fraction:
        """P(Z = point), exactly; within 4096 times 2^L of 0.

        Parameters
        ----------
        point : int
            Any integer.

        Returns
        -------
        Fraction
            Its probability.

        Raises
        ------
        InvalidArgumentError
            If the point is farther than 4096 blocks from 0.
        """
        digits = self.thresholds
        block, low = divmod(abs(point), 1 << len(digits))
        if block > FARTHEST:
            raise InvalidArgumentError(f"point must stay within {FARTHEST} blocks of the law")
        weight = weight_below(digits, low + 1) - weight_below(digits, low)
        again = Fraction(self.onward, ONE)
        share = Fraction(weight, ONE ** len(digits)) * (1 - again) * again**block
        return share / (2 - self._zero())

    def log_weight(self, z: FloatArray) -> FloatArray:
        return -self.rate * np.abs(z)

    def sample(self, size: int, source: Source) -> list[int]:
        # numbers of any size: nothing is cut, so that δ = 0 holds of what is drawn
        found: list[int] = []
        acceptance, limit = float(1 - self._zero() / 2), BATCH_WORDS // (len(self.thresholds) + 2)
        while (missing := size - len(found)) > 0:
            batch = proposals(missing, acceptance=acceptance, limit=limit)
            magnitude = draw_magnitudes(self.thresholds, batch, source).astype(object)
            words = np.frombuffer(random_bytes(source, batch * (WORD // 8)), dtype=np.uint32)
            further = toss(words, self.onward, source)
            for lucky in np.flatnonzero(further):
                magnitude[lucky] += 1 << len(self.thresholds)
                while _again(self.onward, source):
                    magnitude[lucky] += 1 << len(self.thresholds)
            found += draw_signs(magnitude, source, keep=None)[:missing].tolist()
        return found

    def sample_floats(self, rng: np.random.Generator, size: int) -> FloatArray:
        sign = rng.choice((-1.0, 1.0), size)
        return sign * np.rint(rng.exponential(1 / self.rate, size))

    def document(self) -> dict[str, Any]:
        return {
            "law": "unbounded laplace",
            "thresholds": [f"{each:x}" for each in self.thresholds],
            "onward": f"{self.onward:x}",
        }

    def _zero(self) -> Fraction:
        """Probability that a proposed magnitude is 0."""
        below = Fraction(weight_below(self.thresholds, 1), ONE ** len(self.thresholds))
        return below * (1 - Fraction(self.onward, ONE))


def _again(threshold: int, source: Source) -> bool:
    return int.from_bytes(random_bytes(source, PRECISION // 8), "little") < threshold
