"""What an answer is worth in truth, and means with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import dp_cmdp as dp


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float
    draws: int

    def row(self, name: str, *, ends: str) -> dict[str, float]:
        """The mean as `name` and its interval as ``{ends}_low`` and ``{ends}_high``."""
        return {name: self.mean, f"{ends}_low": self.low, f"{ends}_high": self.high}


def mean_interval(samples: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Mean of independent samples with Student's interval."""
    from scipy.special import stdtrit

    values = np.asarray(samples, dtype=float)
    if values.size < 2:
        raise dp.errors.InvalidArgumentError("samples must hold at least two numbers")
    mean, quantile = float(values.mean()), float(stdtrit(values.size - 1, 0.5 + confidence / 2))
    half = quantile * float(values.std(ddof=1)) / math.sqrt(values.size)
    return Interval(mean, mean - half, mean + half, values.size)


def relative_loss(best: float, achieved: float) -> float:
    """(v* − v)/|v*|: negative only when v was bought with violations."""
    if best == 0.0:
        raise dp.errors.InvalidArgumentError(
            "the relative loss has no meaning: the best value is 0"
        )
    return (best - achieved) / abs(best)
