"""The lattice on which private numbers are rounded, perturbed and turned into certain intervals.

Entry k has step g_k = radius_k/2^bits, an exact floating-point number, and is represented by the
integer ⌊θ_k/g_k⌋, computed without error.

**Sensitivity.** |⌊x⌋ − ⌊y⌋| < |x − y| + 1, an integer. So a number that moves by at most a moves by
at most ⌈a/g⌉ integers; for an entry and its own radius that is 2^bits: rounding costs nothing. What
a record moves in all is counted by :mod:`dp_cmdp.noise.movement`.

**Certain intervals.** With integer noise W in {0, …, width} the published interval

    [g·(⌊θ/g⌋ + W − width),  g·(⌊θ/g⌋ + W + 1)]

contains θ whatever W is: ⌊θ/g⌋ ≤ θ/g < ⌊θ/g⌋ + 1. The "+ 1" is always added, so that it tells
nothing about θ. The two ends are functions of the integer ⌊θ/g⌋ + W and of public numbers, rounded
outwards to floats: post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._exact import two_product
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.digits import IntArray

#: 2^20 steps per radius: an interval is wider by a millionth of the radius.
BITS = 20
#: |value|/step stays below this, so that the quotient of floats rounds to the right integer.
INDEX_LIMIT = 2.0**49
#: Integers up to this are floats.
FLOAT_LIMIT = 2**53
SMALLEST, GREATEST = 2.0**-400, 2.0**400


@dataclass(frozen=True, slots=True)
class Lattice:
    """A step per entry, and how many steps one entry can move; build with :meth:`of`.

    Notes
    -----
    **Privacy.** *Public*: made from the radii and public bounds only.
    """

    step: FloatArray
    steps: int

    @classmethod
    @door
    def of(
        cls,
        radius: ArrayLike,
        *,
        largest: ArrayLike,
        bits: int = BITS,
    ) -> Lattice:
        """The lattice with 2^bits steps per radius.

        Parameters
        ----------
        radius : array
            Positive public radius of every entry.
        largest : array or float
            Public bound on the absolute value of every entry. Where largest/radius is huge, `bits`
            is lowered so that the integers fit; beyond 2^48 the lattice is refused.
        """
        radii = _check.vector("radius", np.atleast_1d(_check.array("radius", radius)))
        bounds = _check.vector("largest", largest, size=radii.size)
        _check.integer("bits", bits, low=0, high=40)
        if not (np.all(radii >= SMALLEST) and np.all(radii <= GREATEST)):
            raise InvalidArgumentError(
                f"radius must lie in [{SMALLEST:g}, {GREATEST:g}]; leave out entries that "
                "cannot change and rescale the others"
            )
        if np.any(bounds < 0):
            raise InvalidArgumentError("largest must be non-negative: it bounds absolute values")
        spread = float(np.max(bounds / radii, initial=1.0))
        room = 48 - math.ceil(math.log2(spread)) if spread > 0 and math.isfinite(spread) else -1
        if room < 0:
            raise InvalidArgumentError("radius must be at least 2^-48 of largest; rescale or drop")
        bits = min(bits, room)
        return cls(_check.frozen(np.ldexp(radii, -bits)), 2**bits)

    @door
    def index(self, values: ArrayLike) -> IntArray:
        """⌊values/step⌋, exactly.

        Notes
        -----
        The remainder of a floating-point division is exact, and so (value − remainder)/step is an
        integer but for two roundings, which cannot move it by 1/2 below 2^49.
        **Privacy.** *Curator only*.
        """
        data = _check.vector("values", values, size=self.step.size, private=True)
        remainder = np.fmod(data, self.step)
        quotient = np.rint((data - remainder) / self.step)
        if np.any(np.abs(quotient) >= INDEX_LIMIT):
            raise InvalidArgumentError("values must respect the public bound given as `largest`")
        return quotient.astype(np.int64) - (remainder < 0)

    def integers_moved(self, amount: FloatArray, entry: IntArray) -> IntArray:
        """⌈amount/step⌉ for amounts ≥ 0 by which the given entries move, exactly."""
        step = self.step[entry]
        remainder = np.fmod(amount, step)
        quotient = np.rint((amount - remainder) / step)
        if not np.all(quotient < INDEX_LIMIT):
            raise InvalidArgumentError("radius must cover what one record moves")
        return quotient.astype(np.int64) + (remainder > 0)

    @door
    def floor(self, index: IntArray) -> FloatArray:
        """The greatest floats not above index·step."""
        product, error = self._product(index)
        return np.where(error < 0, np.nextafter(product, -np.inf), product)

    @door
    def ceil(self, index: IntArray) -> FloatArray:
        """The least floats not below index·step."""
        product, error = self._product(index)
        return np.where(error > 0, np.nextafter(product, np.inf), product)

    def _product(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        """index·step as a float and its exact rounding error (Dekker's product)."""
        index = _check.integers("index", index, low=np.iinfo(np.int64).min)
        if index.shape not in ((), self.step.shape):
            raise InvalidArgumentError(f"index must hold {self.step.size} integers")
        if np.any((index > FLOAT_LIMIT) | (index < -FLOAT_LIMIT)):
            raise InvalidArgumentError("the noise must stay below 2^53 steps; use fewer bits")
        return two_product(index.astype(np.float64), self.step)
