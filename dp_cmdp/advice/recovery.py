"""The share of a loss that is won back, with a confidence interval.

The share is a ratio of means, R = E[gain]/E[lost], so its interval is Fieller's: all w for which
Student's interval of the mean of gain − w·lost holds 0. With means ḡ, l̄, covariances s of n
independent samples and k = t²/n that is (ḡ − w·l̄)² ≤ k·(s_gg − 2w·s_gl + w²·s_ll), quadratic in w.
The answer to "is R at least w?" by this interval is the one by Student's test of that difference.
"""

from __future__ import annotations

import math

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._student import quantile
from dp_cmdp.metrics import Interval

#: Of the intervals of a share won back, a probability: the usual one of reports.
CONFIDENCE = 0.95


def pair_means(samples: FloatArray) -> FloatArray:
    """Means of antithetic pairs: independent of one another, as an interval needs."""
    even = samples[: 2 * (samples.size // 2)]
    return even.reshape(-1, 2).mean(axis=1)


def share_interval(
    gain: FloatArray, lost: FloatArray, *, confidence: float = CONFIDENCE
) -> Interval:
    """mean(gain)/mean(lost) of trials in antithetic pairs, with Fieller's interval.

    Parameters
    ----------
    gain, lost : (draws,)
        What each trial wins back, at most `lost`; the mean of `lost` must be positive.
    confidence : float
        Of the interval: it holds the share of infinitely many trials so often, up to the
        normality of the pairs' means that Student's law supposes.

    Returns
    -------
    Interval
        From −∞ where the trials do not bound the share from below; never above 1.

    Notes
    -----
    **Privacy.** *Post-processing* of public databases; curator only on true ones.
    """
    level = _check.real("confidence", confidence, low=0.5, high=0.999999)
    mean = float(gain.mean()) / float(lost.mean())
    g, l, draws = pair_means(gain), pair_means(lost), gain.size  # noqa: E741
    if g.size < 2:
        return Interval(mean, -math.inf, 1.0, draws)
    low, high = _fieller(g, l, level)
    return Interval(mean, min(low, mean), max(min(high, 1.0), mean), draws)


def _fieller(gain: FloatArray, lost: FloatArray, level: float) -> tuple[float, float]:
    k = quantile(gain.size, level) ** 2 / gain.size
    (gg, gl), (_, ll) = np.cov(gain, lost)
    g, l = float(gain.mean()), float(lost.mean())  # noqa: E741
    a, b, c = l * l - k * ll, g * l - k * gl, g * g - k * gg  # a·w² − 2b·w + c ≤ 0
    if a <= 0.0:
        return -math.inf, 1.0
    spread = math.sqrt(max(b * b - a * c, 0.0))
    return float((b - spread) / a), float((b + spread) / a)


def verdict(share: Interval, worth: float) -> bool | None:
    """Whether the share is at least `worth`; None while the interval allows both."""
    if share.low >= worth:
        return True
    return False if share.high < worth else None
