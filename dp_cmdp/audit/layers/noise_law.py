"""The noise law layer: draws against the exact law they claim to follow.

Three tests share the false-alarm probability α equally; each bound holds for every sample size.

* *support*: no draw lies outside.
* *mean magnitude*: by Bernstein's inequality, |mean − E|Z|| > t with probability at most
  2 exp(−n t²/(2(Var|Z| + S t/3))) for |Z| ≤ S. (Bounded laws only.)
* *shells*: the share of draws with |Z| ≥ r, for several r out to the last shell, against
  P(|Z| ≥ r) by Clopper–Pearson limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.audit.layers.black_box import lower_limit, upper_limit
from dp_cmdp.audit.report import Verdict
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.digits import ONE, moments_below, weight_below
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.laws import Laplace, TruncatedLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

#: Shells, as shares of the support (or of eight scales, for unbounded laws).
SHELLS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97)


@dataclass(frozen=True, slots=True)
class LawFacts:
    """Exact facts about |Z|.

    Attributes
    ----------
    support : float or None
        Largest |Z|; None when unbounded.
    mean, variance : float
        Of |Z|.
    radii : tuple of float
    tails : tuple of float
        P(|Z| ≥ r) for each r in `radii`.
    """

    support: float | None
    mean: float
    variance: float
    radii: tuple[float, ...]
    tails: tuple[float, ...]


def law_facts(law: Any) -> LawFacts:
    """Facts about one of the package's laws, float or lattice."""
    makers: dict[type, Callable[[Any], LawFacts]] = {
        TruncatedLaplace: _truncated,
        Laplace: _laplace,
        LatticeTruncatedLaplace: _lattice_truncated,
        LatticeLaplace: _lattice_laplace,
        OptimalNoise: _optimal,
    }
    if type(law) not in makers:
        known = ", ".join(kind.__name__ for kind in makers)
        raise InvalidArgumentError(f"law must be one of {known}; got {type(law).__name__}")
    return makers[type(law)](law)


def noise_law(draws: FloatArray, facts: LawFacts, *, alpha: float) -> Verdict:
    """Judge draws of the noise."""
    size = np.abs(np.asarray(draws, dtype=np.float64))
    n = size.size
    numbers = {"draws": float(n), "mean_magnitude": float(size.mean()), "mean_expected": facts.mean}
    if facts.support is not None and not size.max() <= facts.support * (1 + 1e-12):
        return Verdict(False, "a draw lies outside the support", numbers)
    if facts.support is not None:
        allowed = _bernstein(n, facts.variance, facts.support, alpha / 2)
        if abs(numbers["mean_magnitude"] - facts.mean) > allowed:
            return Verdict(False, f"mean |Z| is off by more than {allowed:.3g}", numbers)
    each = alpha / 2 / (2 * len(facts.radii))
    for radius, tail in zip(facts.radii, facts.tails, strict=True):
        count = int((size >= radius).sum())
        low, high = (limit(count, n, alpha=each) for limit in (lower_limit, upper_limit))
        if not low <= tail <= high:
            return Verdict(False, f"the shell beyond {radius:.3g} has the wrong mass", numbers)
    return Verdict(True, "support, mean magnitude and shells agree with the exact law", numbers)


def _bernstein(n: int, variance: float, support: float, alpha: float) -> float:
    """t with 2 exp(−n t²/(2(variance + support·t/3))) = alpha."""
    level = math.log(2 / alpha)
    linear = support * level / (3 * n)
    return linear + math.sqrt(linear**2 + 2 * variance * level / n)


def _truncated(law: TruncatedLaplace) -> LawFacts:
    s, sigma = law.support, law.scale
    decay = math.exp(-s / sigma)
    mean = sigma - s * decay / (1 - decay)
    radii = tuple(share * s for share in SHELLS)
    tails = tuple(float(2 * (1 - law.cdf(r))) for r in radii)
    return LawFacts(s, mean, law.variance - mean**2, radii, tails)


def _laplace(law: Laplace) -> LawFacts:
    radii = tuple(8 * law.scale * share for share in SHELLS)
    tails = tuple(math.exp(-r / law.scale) for r in radii)
    return LawFacts(None, law.scale, law.scale**2, radii, tails)


def _lattice_truncated(law: LatticeTruncatedLaplace) -> LawFacts:
    thresholds, support = law.certificate.thresholds, law.support
    inside, zero = weight_below(thresholds, support + 1), weight_below(thresholds, 1)
    whole = 2 * inside - zero
    shells = {max(1, round(share * support)) for share in SHELLS}
    radii = sorted(shells | {support - law.certificate.steps + 1})
    tails = tuple(2 * (inside - weight_below(thresholds, r)) / whole for r in radii)
    mean = 2 * moments_below(thresholds, support + 1)[0] * (ONE ** len(thresholds) / whole)
    return LawFacts(float(support), mean, law.std**2 - mean**2, tuple(map(float, radii)), tails)


def _lattice_laplace(law: LatticeLaplace) -> LawFacts:
    ratio = math.exp(-1 / law.scale)
    radii = tuple(max(1.0, float(round(8 * law.scale * share))) for share in SHELLS)
    tails = tuple(2 * ratio**r / (1 + ratio) for r in radii)
    mean = 2 * ratio / (1 + ratio) / (1 - ratio)
    return LawFacts(None, mean, law.std**2 - mean**2, radii, tails)


def _optimal(law: OptimalNoise) -> LawFacts:
    cell = law.certificate.cell
    mass = np.array([weight / ONE for weight in law.certificate.thresholds])
    middle = np.arange(mass.size) * cell + (cell - 1) / 2
    spread = (cell**2 - 1) / 12
    cuts = sorted({max(1, round(share * mass.size)) for share in SHELLS})
    radii = tuple(float(cut * cell) for cut in cuts)
    tails = tuple(float(mass[cut:].sum()) for cut in cuts)
    mean = float(mass @ middle)
    variance = float(mass @ (middle - mean) ** 2) + spread
    return LawFacts(float(law.width), mean, variance, radii, tails)
