"""Exact truncated Laplace noise on a lattice, drawn from the randomness of the system.

Float noise leaks through its gaps; here data and noise are integers (see
:mod:`dp_cmdp.noise.lattice`) and the law of the noise is itself made of integers (see
:mod:`dp_cmdp.noise.digits`), so privacy is a comparison of fractions made when the law is built
and kept as its certificate (:mod:`dp_cmdp.noise.certificate`).

A draw is a magnitude by its digits and a sign; (−, 0) and magnitudes above the support are thrown
away. All proposals cost the same work and the number of proposals thrown away is independent of the
accepted values, so the running time says nothing about the noise. Two exceptions are named for
honesty: a tie with a threshold (2^−32 per digit) draws 28 more bytes, and memory traffic,
caches and user code are not covered.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import exact, short
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import MAX_STEPS, NoiseCertificate, checked_budget, outer_mass
from dp_cmdp.noise.digits import (
    BATCH_WORDS,
    LARGEST,
    ONE,
    IntArray,
    Source,
    collect,
    digit_thresholds,
    draw_magnitudes,
    draw_signs,
    exp_lower,
    square_below,
    weight_below,
)


@dataclass(frozen=True, slots=True)
class LatticeTruncatedLaplace:
    """Truncated two-sided geometric noise on {−support, …, support}; see :meth:`calibrate`.

    Notes
    -----
    **Paper.** ``lem:matrix_lap``, on a lattice, with the support that does not grow with dimension.
    **Privacy.** *Public*: the law is; a draw, used once and never shown, spends the budget.
    """

    certificate: NoiseCertificate
    support: int = field(init=False)
    _thresholds: tuple[int, ...] = field(init=False, repr=False)
    _acceptance: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check.instance("certificate", self.certificate, NoiseCertificate)
        proof = self.certificate
        if proof.law != "truncated-laplace" or proof.support is None or not proof.check():
            raise InvalidArgumentError("certificate must prove a truncated-laplace law")
        thresholds, everything = proof.thresholds, ONE ** len(proof.thresholds)
        inside = 2 * weight_below(thresholds, proof.support + 1) - weight_below(thresholds, 1)
        object.__setattr__(self, "support", proof.support)
        object.__setattr__(self, "_thresholds", thresholds)
        object.__setattr__(self, "_acceptance", inside / (2 * everything))

    @classmethod
    @door
    def calibrate(
        cls, epsilon: Any, delta: Any, *, steps: int, entries: int | Fraction = 1
    ) -> LatticeTruncatedLaplace:
        """The shortest support that is (ε, δ)-private.

        Parameters
        ----------
        epsilon, delta
            The guarantee; ε ≤ 100, 2^−63 ≤ δ ≤ 1/2.
        steps : int
            The most one entry moves between adjacent data, in lattice steps; at most 2^40.
        entries : int or Fraction
            The most that all entries together move (ℓ1), divided by `steps`.

        Notes
        -----
        **Privacy.** *Public*. Theorem and proof: :mod:`dp_cmdp.noise.certificate`.
        """
        eps, dlt = checked_budget(epsilon, delta)
        steps = _check.integer("steps", steps, low=1, high=MAX_STEPS)
        moved = exact("entries", entries)
        if not 1 <= moved <= MAX_STEPS:
            raise InvalidArgumentError(f"entries must lie in [1, 2^40], got {short(moved)}")
        ratio = exp_lower(eps / (moved * steps))

        def spent(support: int) -> Fraction:
            thresholds = digit_thresholds(ratio, support.bit_length())
            return outer_mass(thresholds, support=support, steps=steps, entries=moved)

        each, m = float(eps / moved), float(moved)
        guess = m * steps / float(eps) * math.log1p(m * math.expm1(each) / (2 * float(dlt)))
        if guess >= LARGEST // 4:
            raise InvalidArgumentError("the noise would exceed 2^59 lattice steps; use fewer steps")
        support = _least(lambda s: spent(s) <= dlt, start=max(steps, round(guess)), low=steps)
        proof = NoiseCertificate(
            law="truncated-laplace",
            epsilon=eps,
            delta=dlt,
            steps=steps,
            entries=moved,
            support=support,
            cell=1,
            ratio=ratio,
            outer_mass=spent(support),
            thresholds=digit_thresholds(ratio, support.bit_length()),
        )
        return cls(proof)

    @property
    def width(self) -> int:
        """Length 2·support of the interval that the noise fills."""
        return 2 * self.support

    @property
    def mean_shift(self) -> float:
        """Mean distance, in steps, of the upper end of an interval from the value: the support."""
        return float(self.support)

    @property
    def std(self) -> float:
        """Standard deviation in steps."""
        return math.sqrt(square_below(self._thresholds, self.support + 1) / self._acceptance)

    @door
    def pmf(self, point: int) -> Fraction:
        """P(Z = point), exactly."""
        magnitude = abs(_check.integer("point", point, low=-LARGEST))
        if magnitude > self.support:
            return Fraction(0)
        inside = weight_below(self._thresholds, self.support + 1)
        weight = weight_below(self._thresholds, magnitude + 1)
        weight -= weight_below(self._thresholds, magnitude)
        return Fraction(weight, 2 * inside - weight_below(self._thresholds, 1))

    @door
    def sample(self, size: int, *, source: Source = os.urandom) -> IntArray:
        """`size` independent draws; memory beyond the answer is bounded.

        Notes
        -----
        **Privacy.** *Curator only*: whoever sees a draw can undo the noise. A `source` other than
        the operating system's is for tests.
        """
        limit = BATCH_WORDS // (len(self._thresholds) + 1)
        return collect(
            lambda batch: self._proposals(batch, source),
            _check.size("size", size),
            acceptance=self._acceptance,
            limit=limit,
        )

    @door
    def sample_shift(self, size: int, *, source: Source = os.urandom) -> IntArray:
        """Draws of Z + support, in {0, …, width}."""
        return self.sample(size, source=source) + self.support

    def _proposals(self, batch: int, source: Source) -> IntArray:
        magnitude = draw_magnitudes(self._thresholds, batch, source)
        return draw_signs(magnitude, source, keep=magnitude <= self.support)


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
