"""Laplace and truncated Laplace noise: their laws, and how wide they must be.

**Laplace(σ)** has density exp(−|z|/σ)/(2σ); with σ = Δ/ε a query of ℓ1-sensitivity Δ is
(ε, 0)-private.

**TruncatedLaplace(σ, s)** has density exp(−|z|/σ)/ζ on [−s, s], ζ = 2σ(1 − e^(−s/σ)). Bounded noise
is what makes feasibility certain. Its support s depends on the calibration:

=========  =====================================  ==================================================
``paper``  s = σ ln(1 + k(e^ε − 1)/δ), k entries   ``lem:matrix_lap``, ``lem:vec_lap``
``tight``  s = σ ln(1 + (e^ε − 1)/(2δ))           any number of entries
=========  =====================================  ==================================================

*Why tight is enough.* Let the query move by d with Σ|d_i| ≤ Δ. On the common support the density
ratio is at most exp(Σ|d_i|/σ) ≤ e^ε. The mass outside the other support is at most
Σ g(|d_i|) with g(d) = (e^(d/σ) − 1)/(2(e^(s/σ) − 1)): each coordinate leaves through one tail only.
g is convex with g(0) = 0, hence superadditive, so Σ g(|d_i|) ≤ g(Δ) = δ, with equality when one
coordinate moves by Δ. When, in addition, |d_i| ≤ Δ/m for every i, convexity gives
Σ g(|d_i|) ≤ m g(Δ/m): e^ε − 1 may be replaced by m(e^(ε/m) − 1) (the ℓ∞-refined support).

Floats cannot carry a privacy proof (see ``docs/promise.md``): sampling here needs an explicit numpy
Generator and is for simulation. Releases for real use draw from :mod:`dp_cmdp.noise.truncated`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, exact, short
from dp_cmdp.errors import InvalidArgumentError

CALIBRATIONS = ("tight", "paper")


@dataclass(frozen=True, slots=True)
class Laplace:
    """Two-sided exponential noise with scale σ on the whole line.

    Notes
    -----
    **Paper.** ``lem:lap_mech``. **Privacy.** *Public*: the law, not a draw.

    Examples
    --------
    >>> from dp_cmdp import Laplace
    >>> law = Laplace(2.0)
    >>> law.variance, float(law.cdf(0.0))
    (8.0, 0.5)
    """

    scale: float

    def __post_init__(self) -> None:
        _positive("scale", self.scale)

    @classmethod
    @door
    def calibrate(cls, sensitivity: float, epsilon: Number) -> Laplace:
        """The law that makes a query of the given ℓ1-sensitivity (ε, 0)-private.

        Notes
        -----
        **Paper.** ``lem:lap_mech``. **Privacy.** *Public*.

        Examples
        --------
        >>> from dp_cmdp import Laplace
        >>> Laplace.calibrate(1.0, "1/2")
        Laplace(scale=2.0)
        """
        return cls(_positive("sensitivity", sensitivity) / _epsilon(epsilon))

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return 2.0 * self.scale**2

    @door
    def pdf(self, z: ArrayLike) -> FloatArray:
        """Density."""
        return np.exp(-np.abs(_points("z", z)) / self.scale) / (2.0 * self.scale)

    @door
    def cdf(self, z: ArrayLike) -> FloatArray:
        """P(Z ≤ z)."""
        z = _points("z", z)
        tail = 0.5 * np.exp(-np.abs(z) / self.scale)
        return np.where(z < 0, tail, 1.0 - tail)

    @door
    def ppf(self, p: ArrayLike) -> FloatArray:
        """Quantile: the inverse of :meth:`cdf`."""
        p = _probabilities(p)
        with np.errstate(divide="ignore"):
            return self.scale * np.where(p < 0.5, np.log(2.0 * p), -np.log(2.0 * (1.0 - p)))

    @door
    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw with floats, for simulation only: *not secure*.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Laplace
        >>> Laplace(1.0).sample(np.random.default_rng(0), 3).round(2)
        array([ 0.32, -0.62, -2.5 ])
        """
        return rng.laplace(scale=self.scale, size=_check.shape("size", size))


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Two-sided exponential noise with scale σ, conditioned to [−s, s].

    Notes
    -----
    **Paper.** ``lem:matrix_lap``. **Privacy.** *Public*: the law, not a draw.

    Examples
    --------
    >>> from dp_cmdp import TruncatedLaplace
    >>> law = TruncatedLaplace(scale=1.0, support=3.0)
    >>> law.pdf([0.0, 2.0, 4.0]).round(3)  # nothing beyond the support
    array([0.526, 0.071, 0.   ])
    """

    scale: float
    support: float

    def __post_init__(self) -> None:
        _positive("scale", self.scale)
        _positive("support", self.support)

    @classmethod
    @door
    def calibrate(
        cls,
        sensitivity: float,
        epsilon: Number,
        *,
        delta: Number,
        calibration: str = "tight",
        num_entries: int = 1,
        record_size: int = 1,
    ) -> TruncatedLaplace:
        """The law that makes a query of the given ℓ1-sensitivity (ε, δ)-private.

        Parameters
        ----------
        sensitivity : float
            ℓ1-sensitivity Δ.
        epsilon, delta : number
            ε > 0 and δ in (0, 1/2].
        calibration : {"tight", "paper"}
        num_entries : int
            k: the number of entries of the query (used by ``paper`` only).
        record_size : int
            m: no single entry moves by more than Δ/m (used by ``tight`` only).

        Notes
        -----
        **Paper.** ``lem:matrix_lap``, ``lem:vec_lap``; ``tight`` is ours. **Privacy.** *Public*.

        Examples
        --------
        The same (ε, δ) with a shorter support, hence narrower intervals, than the paper's:

        >>> from dp_cmdp import TruncatedLaplace
        >>> for calibration in ("tight", "paper"):
        ...     law = TruncatedLaplace.calibrate(
        ...         1.0, 1, delta="1/1000", calibration=calibration, num_entries=10
        ...     )
        ...     print(f"{calibration}: ±{law.support:.2f}")
        tight: ±6.76
        paper: ±9.75
        """
        scale = _positive("sensitivity", sensitivity) / (eps := _epsilon(epsilon))
        dlt = exact("delta", delta)
        if not 0 < dlt <= exact("half", "1/2"):
            raise InvalidArgumentError(f"delta must lie in (0, 1/2], got {short(dlt)}")
        if _check.one_of("calibration", calibration, CALIBRATIONS) == "paper":
            factor, exponent = float(_check.size("num_entries", num_entries, low=1)), eps
        else:
            m = _check.size("record_size", record_size, low=1)
            factor, exponent = m / 2.0, eps / m
        return cls(scale, scale * _log1p_expm1(factor / float(dlt), exponent))

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def normalisation(self) -> float:
        """ζ = ∫ exp(−|z|/σ) dz over [−s, s]."""
        return -2.0 * self.scale * math.expm1(-self.support / self.scale)

    @property
    def variance(self) -> float:
        sigma, s = self.scale, self.support
        decay = math.exp(-s / sigma)
        if s / sigma < 1e-4:  # the formula cancels; the law is nearly uniform on [−s, s]
            return s**2 / 3.0
        return (2 * sigma**2 - decay * (s**2 + 2 * s * sigma + 2 * sigma**2)) / (1.0 - decay)

    @door
    def pdf(self, z: ArrayLike) -> FloatArray:
        """Density; 0 outside [−s, s]."""
        z = np.abs(_points("z", z))
        return np.where(z <= self.support, np.exp(-z / self.scale) / self.normalisation, 0.0)

    @door
    def cdf(self, z: ArrayLike) -> FloatArray:
        """P(Z ≤ z)."""
        z = np.clip(_points("z", z), -self.support, self.support)
        half = -self.scale * np.expm1(-np.abs(z) / self.scale) / self.normalisation
        return 0.5 + np.sign(z) * half

    @door
    def ppf(self, p: ArrayLike) -> FloatArray:
        """Quantile: the inverse of :meth:`cdf`."""
        q = _probabilities(p) - 0.5
        inner = np.log1p(-2.0 * np.abs(q) * -math.expm1(-self.support / self.scale))
        return np.clip(-np.sign(q) * self.scale * inner, -self.support, self.support)

    @door
    def outside_mass(self, shift: ArrayLike) -> FloatArray:
        """P(Z + d leaves [−s, s]) for a shift d: g(d) of the proof above, at most 1."""
        d = np.abs(_points("shift", shift))
        near = np.minimum(d, self.support)
        # (e^(d/σ) − 1)/(2(e^(s/σ) − 1)), written so that nothing overflows or cancels
        g = 0.5 * np.exp((near - self.support) / self.scale) * np.expm1(-near / self.scale)
        g = g / math.expm1(-self.support / self.scale)
        return np.where(d <= self.support, g, 1.0 - self.cdf(self.support - d))

    @door
    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw with floats by inversion, for simulation only: *not secure*.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import TruncatedLaplace
        >>> draws = TruncatedLaplace(1.0, 3.0).sample(np.random.default_rng(0), 1000)
        >>> bool(np.abs(draws).max() <= 3)
        True
        """
        return self.ppf(rng.random(_check.shape("size", size)))


def _log1p_expm1(factor: float, exponent: float) -> float:
    """ln(1 + factor·(e^exponent − 1)), without overflow for large exponents."""
    if exponent > 500.0:
        return exponent + math.log(factor)
    return math.log1p(factor * math.expm1(exponent))


def _positive(name: str, value: Any) -> float:
    number = _check.real(name, value)
    if number <= 0:
        raise InvalidArgumentError(f"{name} must be positive, got {number:g}")
    return number


def _epsilon(value: Number) -> float:
    return _positive("epsilon", exact("epsilon", value))


def _points(name: str, value: ArrayLike) -> FloatArray:
    array = _check.array(name, value)
    _check.reject_non_finite(name, array.ravel(), allow_infinite=True)
    return array


def _probabilities(p: ArrayLike) -> FloatArray:
    array = _check.array("p", p)
    if not ((array >= 0) & (array <= 1)).all():
        raise InvalidArgumentError("p must lie in [0, 1]")
    return array
