"""Noise laws and their certificates: the privacy proof as comparisons of fractions.

The theorems are in the docstrings of `dp_cmdp.noise.certificate`, `digits` and `weight_table` at
commit 2e23627.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

PRECISION = 256
ONE = 1 << PRECISION
LARGEST = 1 << 61
MAX_EPSILON, MAX_STEPS = 100, 1 << 40
MAX_CELLS, MAX_TABLE_WORK = 1 << 17, 1 << 19
FRACTIONS = ("epsilon", "delta", "entries", "ratio", "outer_mass")


class RefusedError(ValueError):
    """A file, or a claim in it, is not in order."""


def fraction(name: str, text: Any) -> Fraction:
    """The fraction that a text states in lowest terms."""
    if not isinstance(text, str) or len(text) > 1000 or not re.fullmatch(r"-?\d+(/\d+)?", text):
        raise RefusedError(f"{name} must be a fraction, as text")
    return Fraction(text)


@lru_cache(maxsize=256)
def exp_lower(exponent: Fraction) -> Fraction:
    """A rational lower bound of e^x for x ≥ 0, within 2^−300 relative."""
    bits = PRECISION + 64
    term = total = 1 << bits
    order = 0
    while term:
        order += 1
        term = term * exponent.numerator // (exponent.denominator * order)
        total += term
    return Fraction(total, 1 << bits)


def steps_hold(thresholds: Sequence[int], ratio: Fraction) -> bool:
    """Whether every unit step divides the law by a factor in [1, ratio], exactly."""
    ones, zeros = 1, 1
    for threshold in thresholds:
        if not 0 < threshold < ONE:
            return False
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


def outer_mass(
    thresholds: Sequence[int], *, support: int, steps: int, entries: Fraction
) -> Fraction:
    """entries · (mass of the `steps` outermost points of one side), rounded up to 2^−256."""
    inside = weight_below(thresholds, support + 1)
    outer = inside - weight_below(thresholds, support + 1 - steps)
    whole = 2 * inside - weight_below(thresholds, 1)
    top, bottom = outer * entries.numerator, whole * entries.denominator
    return Fraction(-(-(top << PRECISION) // bottom), ONE)


def worst_hockey_stick(weights: Sequence[int], shifts: int, ratio: Fraction) -> Fraction:
    """The greatest Σ max(w_j − ratio·w_{j∓d}, 0)/2^256 over shifts d of 1, …, `shifts` cells."""
    top, bottom, size, worst = ratio.numerator, ratio.denominator, len(weights), 0
    for shift in range(1, shifts + 1):
        for sign in (-shift, shift):
            total = 0
            for j, weight in enumerate(weights):
                other = weights[j + sign] if 0 <= j + sign < size else 0
                total += max(weight * bottom - top * other, 0)
            worst = max(worst, total)
    return Fraction(worst, bottom * ONE)


@dataclass(frozen=True)
class Certificate:
    """Exact facts that prove the privacy of one noise law."""

    law: str
    epsilon: Fraction
    delta: Fraction
    steps: int
    entries: Fraction
    support: int
    cell: int
    ratio: Fraction
    outer_mass: Fraction
    thresholds: tuple[int, ...]

    @property
    def width(self) -> int:
        """The largest shift of an interval by noise in {0, …, width}."""
        return self.support if self.law == "table" else 2 * self.support

    @property
    def mean_shift(self) -> float:
        if self.law != "table":
            return float(self.support)
        mean = Fraction(sum(j * weight for j, weight in enumerate(self.thresholds)), ONE)
        return self.cell * float(mean) + (self.cell - 1) / 2

    def check(self) -> bool:
        """Recompute everything from the thresholds, in integers."""
        if not 0 < self.epsilon <= MAX_EPSILON or self.delta < 0 or self.entries < 1:
            return False
        if not 1 <= self.steps <= MAX_STEPS or self.cell < 1 or not self.thresholds:
            return False
        checks = {"truncated-laplace": self._check_truncated, "table": self._check_table}
        return self.law in checks and checks[self.law]()

    def _check_truncated(self) -> bool:
        support, digits = self.support, len(self.thresholds)
        if not self.steps <= support <= LARGEST or support >> digits:
            return False
        if digits > LARGEST.bit_length() or self.cell != 1:
            return False
        mass = outer_mass(self.thresholds, support=support, steps=self.steps, entries=self.entries)
        return (
            self.ratio <= exp_lower(self.epsilon / (self.entries * self.steps))
            and steps_hold(self.thresholds, self.ratio)
            and mass <= self.outer_mass <= self.delta
        )

    def _check_table(self) -> bool:
        shifts = -(-self.steps // self.cell)
        if shifts * len(self.thresholds) > MAX_TABLE_WORK:
            return False
        return (
            self.entries == 1
            and self.support == self.cell * len(self.thresholds) - 1
            and min(self.thresholds) >= 0
            and sum(self.thresholds) == ONE
            and self.ratio <= exp_lower(self.epsilon)
            and worst_hockey_stick(self.thresholds, shifts, self.ratio) <= self.outer_mass
            and self.outer_mass <= self.delta
        )

    def facts(self) -> dict[str, Any]:
        """As a file states it: fractions and thresholds are texts."""
        said: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        said |= {name: str(said[name]) for name in FRACTIONS}
        return said | {"thresholds": [f"{value:x}" for value in self.thresholds]}

    @classmethod
    def from_facts(cls, said: Mapping[str, Any]) -> Certificate:
        """What :meth:`facts` wrote; a number written in another way is refused."""
        if set(said) != {part.name for part in fields(cls)}:
            raise RefusedError("it must name the facts of a certificate")
        texts = said["thresholds"]
        if len(texts) > MAX_CELLS or max(map(len, texts), default=0) > PRECISION // 4 + 1:
            raise RefusedError("thresholds must be at most 2^256 each, and not so many")
        for name in ("steps", "cell", "support"):
            if type(said[name]) is not int:
                raise RefusedError(f"{name} must be an integer")
        read = {name: fraction(name, said[name]) for name in FRACTIONS}
        made = cls(**{**said, **read, "thresholds": tuple(int(text, 16) for text in texts)})
        if made.facts() != {**said, "thresholds": [*texts]}:
            raise RefusedError("its numbers must be written as they are by the package")
        return made
