"""The lattice on which private numbers are rounded, perturbed and turned into sure intervals.

Entry k has step g_k = radius_k/2^bits, an exact floating-point number, and is represented by the
integer ⌊θ_k/g_k⌋, computed without error.

**Sensitivity.** |⌊x⌋ − ⌊y⌋| < |x − y| + 1, an integer. So an entry that moves by at most its radius
moves by at most ⌈radius/g⌉ = 2^bits steps: rounding costs nothing. When `changed` entries of common
step move by at most `radius` in total (ℓ1), they move by at most 2^bits + changed − 1 steps.

**Sure intervals.** With integer noise W in {0, …, width} the published interval

    [g·(⌊θ/g⌋ + W − width),  g·(⌊θ/g⌋ + W + 1)]

contains θ whatever W is: ⌊θ/g⌋ ≤ θ/g < ⌊θ/g⌋ + 1. The "+ 1" is always added, so that it tells
nothing about θ. The two ends are functions of the integer ⌊θ/g⌋ + W and of public numbers, rounded
outwards to floats: post-processing.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.exact import two_product
from dp_cmdp.sampling.digits import IntArray, Source

BITS = 20
#: |value|/step stays below this, so that the quotient of floats rounds to the right integer.
INDEX_LIMIT = 2.0**49
#: Integers up to this are floats.
FLOAT_LIMIT = 2**53
SMALLEST, GREATEST = 2.0**-400, 2.0**400


@runtime_checkable
class ShiftNoise(Protocol):
    """Integer noise on {0, …, width}."""

    @property
    def width(self) -> int: ...

    def sample_shift(self, size: int, *, source: Source) -> IntArray: ...


@dataclass(frozen=True, slots=True)
class Lattice:
    """A step per entry, and how many steps adjacent data can be apart; build with :meth:`of`.

    Notes
    -----
    **Privacy.** Public: made from the radii and public bounds only.
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
        changed: int = 1,
    ) -> Lattice:
        """The lattice with 2^bits steps per radius.

        Parameters
        ----------
        radius : array
            Positive public radius of every entry.
        largest : array or float
            Public bound on the absolute value of every entry. Where largest/radius is huge, `bits`
            is lowered so that the integers fit; beyond 2^48 the lattice is refused.
        changed : int
            1 when every entry has its own radius. When `radius` is a common ℓ1 bound, the number of
            entries that may share it.
        """
        radii = _check.vector("radius", np.atleast_1d(_check.array("radius", radius)))
        bounds = _check.vector("largest", largest, size=radii.size)
        _check.integer("bits", bits, low=0, high=40)
        _check.integer("changed", changed, low=1)
        if not (np.all(radii >= SMALLEST) and np.all(radii <= GREATEST)):
            raise InvalidArgumentError(
                f"radius must lie in [{SMALLEST:g}, {GREATEST:g}]; leave out entries that "
                "cannot change and rescale the others"
            )
        if np.any(bounds < 0):
            raise InvalidArgumentError("largest must be non-negative: it bounds absolute values")
        if changed > 1 and np.any(radii != radii[0]):
            raise InvalidArgumentError("changed > 1 needs one common radius (an ℓ1 bound)")
        spread = float(np.max(bounds / radii, initial=1.0))
        room = 48 - math.ceil(math.log2(spread)) if spread > 0 and math.isfinite(spread) else -1
        if room < 0:
            raise InvalidArgumentError("radius must be at least 2^-48 of largest; rescale or drop")
        bits = min(bits, room)
        return cls(_check.frozen(np.ldexp(radii, -bits)), 2**bits + changed - 1)

    @door
    def index(self, values: ArrayLike) -> IntArray:
        """⌊values/step⌋, exactly.

        Notes
        -----
        The remainder of a floating-point division is exact, and so (value − remainder)/step is an
        integer but for two roundings, which cannot move it by 1/2 below 2^49.
        **Privacy.** Curator only.
        """
        data = _check.vector("values", values, size=self.step.size, private=True)
        remainder = np.fmod(data, self.step)
        quotient = np.rint((data - remainder) / self.step)
        if np.any(np.abs(quotient) >= INDEX_LIMIT):
            raise InvalidArgumentError("values must respect the public bound given as `largest`")
        return quotient.astype(np.int64) - (remainder < 0)

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


@door
def sure_intervals(
    values: ArrayLike,
    *,
    lattice: Lattice,
    noise: ShiftNoise,
    side: str = "upper",
    source: Source = os.urandom,
) -> tuple[FloatArray, FloatArray]:
    """Release `values` as intervals [lower, upper] that contain them with certainty.

    Parameters
    ----------
    lattice, noise
        Public. `noise` must be calibrated to ``lattice.steps``.
    side : {"upper", "lower"}
        For noise that is not symmetric, the end that should lie close to the value.

    Notes
    -----
    **Privacy.** Spends the budget of `noise`.
    """
    _check.one_of("side", side, ("upper", "lower"))
    index = lattice.index(values)
    shift = noise.sample_shift(index.size, source=source)
    top = index + (shift if side == "upper" else noise.width - shift)
    return lattice.floor(top - noise.width), lattice.ceil(top + 1)
