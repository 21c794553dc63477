"""What a release lets one believe about each entry: post-processing, for objectives and proposals.

Certainty never rests on this; it only decides what is worth measuring and optimising. Entry by
entry the belief is a density on a grid of its interval: uniform, times exp(−|θ − d|/σ) for an
(unclipped) draw d with noise of scale σ. Clipping draws one by one makes their sum biased, so the
beliefs of a row are *tilted*, multiplied by exp(a·weight·θ), until their sum has the mean that the
draws together suggest; a measured total tilts them in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.polytope import Polytope

POINTS = 21
#: Where an entry is believed to be without any draw, as a share of its interval.
PRIOR_LEVEL = 0.35
#: Halvings of the bisection for a tilt: more digits than a belief deserves.
HALVINGS = 40
#: Largest tilt over an interval, as an exponent: all weight at one end.
STEEPEST = 60.0
LEVELS = 101


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Beliefs about entries: log densities at `POINTS` places of each interval.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """

    lower: FloatArray
    width: FloatArray
    log_density: FloatArray

    @classmethod
    def of(cls, box: Polytope, *, draws: FloatArray | None, scale: FloatArray) -> Posterior:
        """Uniform on the box, times the likelihood of Laplace draws, if there were any."""
        width = box.upper - box.lower
        log = np.zeros((POINTS, width.size))
        if draws is not None:
            log = -np.abs(box.lower + _PLACES * width - draws) / scale
        return cls(box.lower, width, log)

    @property
    def density(self) -> FloatArray:
        top = np.exp(self.log_density - self.log_density.max(axis=0))
        return top / top.sum(axis=0)

    @property
    def mean(self) -> FloatArray:
        return self.lower + self.width * (_PLACES * self.density).sum(axis=0)

    @property
    def variance(self) -> FloatArray:
        density = self.density
        mean = (_PLACES * density).sum(axis=0)
        return self.width**2 * ((_PLACES - mean) ** 2 * density).sum(axis=0)

    def tilted(self, entry: IntArray, weight: FloatArray, *, total: float) -> Posterior:
        """The beliefs of `entry` tilted so that Σ weight·mean is `total`, as near as can be."""
        width, log = self.width[entry], self.log_density[:, entry]
        slope = _PLACES * (width * weight)
        steepness = float(np.max(np.abs(width * weight), initial=0.0))
        if steepness == 0.0:
            return self
        low, high = -STEEPEST / steepness, STEEPEST / steepness
        base = float(weight @ self.lower[entry])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried = log + middle * slope
            tried = np.exp(tried - tried.max(axis=0))
            found = base + float((slope * (tried / tried.sum(axis=0))).sum())
            low, high = (middle, high) if found < total else (low, middle)
        changed = self.log_density.copy()
        changed[:, entry] = log + (low + high) / 2 * slope
        return replace(self, log_density=changed)

    def levelled(
        self, entry: IntArray, *, bounds: Polytope, draws: FloatArray | None, scale: FloatArray
    ) -> Posterior:
        """The beliefs of one row's entries tilted to what their draws say of the plain sum.

        The sum of unclipped draws has a normal error of variance 2Σσ²; entries are believed to
        stand at one unknown level of their public bounds.
        """
        start, far = bounds.lower[entry].sum(), bounds.upper[entry].sum()
        if draws is None:
            total = float(start + PRIOR_LEVEL * (far - start))
        else:
            levels = np.linspace(start, far, LEVELS)
            deviation = np.sqrt(2.0 * np.square(scale[entry]).sum())
            log = -0.5 * np.square((draws[entry].sum() - levels) / deviation)
            chance = np.exp(log - log.max())
            total = float(levels @ chance / chance.sum())
        return self.tilted(entry, np.ones(entry.size), total=total)


_PLACES = ((np.arange(POINTS) + 0.5) / POINTS)[:, None]
