"""Exact Laplace noise on a lattice, untruncated: (ε, 0)-private with no δ at all."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import HALF
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import MAX_STEPS, NoiseCertificate, checked_budget
from dp_cmdp.noise.digits import (
    BATCH_WORDS,
    LARGEST,
    ONE,
    PRECISION,
    IntArray,
    Source,
    collect,
    continuation,
    digit_thresholds,
    draw_magnitudes,
    draw_signs,
    draw_words,
    exp_lower,
    random_bytes,
    toss,
    weight_below,
)

#: Blocks of 2^L steps beyond which :meth:`LatticeLaplace.pmf` is not written out.
FARTHEST = 4096


@dataclass(frozen=True, slots=True)
class LatticeLaplace:
    """Two-sided geometric noise on all integers: (ε, 0)-private, nothing truncated.

    Magnitudes below 2^L come from L digits; "2^L or more" (probability below 2^−64) is one more
    exact coin, tossed again for every further block of 2^L, so the law reaches every integer and
    every unit step is bounded. Only the *sum* with the data is clamped to ±2^61
    (:meth:`perturb`), which is post-processing.

    Notes
    -----
    **Paper.** Laplace noise of the objective in ``algo:solve``, on a lattice.
    **Privacy.** *Public*: the law is; a draw spends the budget.
    """

    certificate: NoiseCertificate

    def __post_init__(self) -> None:
        _check.instance("certificate", self.certificate, NoiseCertificate)
        if self.certificate.law != "laplace" or not self.certificate.check():
            raise InvalidArgumentError("certificate must prove a laplace law")

    @classmethod
    @door
    def calibrate(cls, epsilon: Any, *, steps: int) -> LatticeLaplace:
        """Noise for an ℓ1 sensitivity of `steps` lattice steps in total."""
        eps, _ = checked_budget(epsilon, HALF)
        steps = _check.integer("steps", steps, low=1, high=MAX_STEPS)
        ratio = exp_lower(eps / steps)
        if 45 * steps > eps * 2**59:
            raise InvalidArgumentError("the noise would exceed 2^59 lattice steps; use fewer steps")
        digits = max(1, math.ceil(math.log2(45 * steps / float(eps))))
        thresholds = digit_thresholds(ratio, digits)
        proof = NoiseCertificate(
            law="laplace",
            epsilon=eps,
            delta=Fraction(0),
            steps=steps,
            entries=Fraction(1),
            support=None,
            cell=1,
            ratio=ratio,
            outer_mass=Fraction(0),
            thresholds=(*thresholds, continuation(thresholds, ratio)),
        )
        return cls(proof)

    @property
    def scale(self) -> float:
        """Scale steps/ε of the Laplace law that this one follows, in steps."""
        return float(self.certificate.steps / self.certificate.epsilon)

    @property
    def std(self) -> float:
        """Standard deviation in steps, √(2q)/(1 − q) with q = e^(−ε/steps)."""
        fall = 1 / self.scale
        return math.sqrt(2 * math.exp(-fall)) / -math.expm1(-fall)

    @door
    def pmf(self, point: int) -> Fraction:
        """P(Z = point), exactly."""
        *digits, onward = self.certificate.thresholds
        magnitude = abs(_check.integer("point", point, low=-LARGEST, high=LARGEST))
        block, low = divmod(magnitude, 1 << len(digits))
        if block > FARTHEST:
            raise InvalidArgumentError(
                f"point must stay within {FARTHEST} times 2^{len(digits)} steps: beyond, its "
                "probability has too many digits"
            )
        everything = ONE ** len(digits)
        weight = Fraction(weight_below(digits, low + 1) - weight_below(digits, low), everything)
        again = Fraction(onward, ONE)
        return weight * (1 - again) * again**block / (2 - self._zero())

    @door
    def perturb(self, index: IntArray, *, source: Source = os.urandom) -> IntArray:
        """`index` + noise, clamped to ±2^61; `index` must stay within ±2^60.

        Notes
        -----
        Noise is saturated at ±2^62 before it is added. That changes nothing: for |index| ≤ 2^60
        a saturated draw puts the sum beyond ±2^61 either way, and there it is clamped.
        **Privacy.** *Spends the budget*.
        """
        index = _check.integers("index", index, low=-LARGEST)
        if np.any((index > LARGEST // 2) | (index < -(LARGEST // 2))):
            raise InvalidArgumentError("index must stay within ±2^60; use fewer steps")
        noise = self._noise(index.size, source).reshape(index.shape)
        return np.clip(index + noise, -LARGEST, LARGEST)

    def _noise(self, size: int, source: Source) -> IntArray:
        return collect(
            lambda batch: self._proposals(batch, source),
            size,
            acceptance=float(1 - self._zero() / 2),
            limit=BATCH_WORDS // (len(self.certificate.thresholds) + 1),
        )

    def _zero(self) -> Fraction:
        """Chance that a proposed magnitude is 0."""
        *digits, onward = self.certificate.thresholds
        return Fraction(weight_below(digits, 1), ONE ** len(digits)) * (1 - Fraction(onward, ONE))

    def _proposals(self, batch: int, source: Source) -> IntArray:
        *digits, onward = self.certificate.thresholds
        magnitude = draw_magnitudes(digits, batch, source)
        further = toss(draw_words(1, batch, source)[0], onward, source)
        for lucky in np.flatnonzero(further):
            reached = int(magnitude[lucky]) + (1 << len(digits))
            while reached < 2 * LARGEST and _again(onward, source):
                reached += 1 << len(digits)
            magnitude[lucky] = min(reached, 2 * LARGEST)
        return draw_signs(magnitude, source, keep=None)


def _again(threshold: int, source: Source) -> bool:
    return int.from_bytes(random_bytes(source, PRECISION // 8), "little") < threshold
