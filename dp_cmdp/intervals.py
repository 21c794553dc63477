"""Noisy values, as intervals that certainly contain the true ones.

A value v plus bounded noise W, |W| ≤ s, gives an estimate v + W and the interval
[v + W − s, v + W + s], which contains v whatever the noise was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.mechanisms import Laplace, TruncatedLaplace
from dp_cmdp.release import Noise


@dataclass(frozen=True, slots=True)
class Intervals:
    """Estimates with certain lower and upper bounds, and facts about the noise."""

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    noise: Noise

    def clipped(self, lower: FloatArray, upper: FloatArray) -> Intervals:
        """The intervals cut to public bounds."""
        return replace(
            self,
            lower=np.clip(self.lower, lower, upper),
            upper=np.clip(self.upper, lower, upper),
        )

    def with_exposed(self, mask: NDArray[np.bool_], values: FloatArray) -> Intervals:
        """The masked entries replaced by their true values: NOT PRIVATE."""
        estimate, lower, upper = (
            np.where(mask, values, part) for part in (self.estimate, self.lower, self.upper)
        )
        return replace(self, estimate=estimate, lower=lower, upper=upper)


def exposed(values: FloatArray, noise: Noise) -> Intervals:
    """True values as intervals of width 0: NOT PRIVATE, for blocks the caller agreed to leak."""
    return Intervals(values, values, values, noise)


def truncated_intervals(
    values: FloatArray,
    *,
    unit: FloatArray,
    epsilon: Fraction,
    delta: Fraction,
    calibration: str,
    entries: int,
    together: int = 1,
    spread: int = 1,
    rng: np.random.Generator | None,
) -> Intervals:
    """Truncated Laplace noise on every value.

    Parameters
    ----------
    values : FloatArray
        Private.
    unit : FloatArray
        Per value, its radius: in these units no value moves by more than 1 and all together by at
        most `together`.
    epsilon, delta, calibration, entries, together
        See :meth:`dp_cmdp.mechanisms.TruncatedLaplace.calibrate`.
    spread : int
        The most values that move at once (matters only to the rounding of exact noise).
    rng : Generator or None
        None: exact noise from the operating system. Otherwise float noise, for simulation.

    Notes
    -----
    **Privacy.** *Spends the budget.*
    """
    law = TruncatedLaplace.calibrate(
        float(together),
        epsilon,
        delta=delta,
        calibration=calibration,
        entries=entries,
        together=together,
    )
    assert rng is not None
    estimate = values + unit * law.sample(rng, values.size)
    reach = law.support * unit
    pad = 2.0**-50 * (np.abs(estimate) + reach)  # more than the rounding of the three operations
    noise = Noise("", "truncated Laplace (float)", calibration, law.scale, law.support)
    return Intervals(estimate, estimate - reach - pad, estimate + reach + pad, noise)


def laplace_estimates(
    values: FloatArray,
    *,
    unit: FloatArray,
    epsilon: Fraction,
    spread: int = 1,
    rng: np.random.Generator | None,
) -> Intervals:
    """Untruncated Laplace noise on every value: estimates only, the bounds are infinite.

    Notes
    -----
    **Paper.** ``lem:lap_mech``. **Privacy.** *Spends the budget.*
    """
    law = Laplace.calibrate(1.0, epsilon)
    assert rng is not None
    estimate = values + unit * law.sample(rng, values.size)
    everywhere = np.full(values.size, np.inf)
    return Intervals(
        estimate, -everywhere, everywhere, Noise("", "Laplace (float)", "pure", law.scale, None)
    )
