"""What an answer is worth in truth, and means with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

import dp_cmdp as dp
from paper.blocks import true_slack
from paper.linear import Floats
from paper.policies import kept


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float

    def row(self, name: str, *, ends: str = "ci", least: float = -math.inf) -> dict[str, float]:
        """The mean as `name` and its interval as ``{ends}_low`` (cut) and ``{ends}_high``."""
        return {name: self.mean, f"{ends}_low": max(self.low, least), f"{ends}_high": self.high}


def mean_interval(samples: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Mean of independent samples with Student's interval."""
    values = np.asarray(samples, dtype=float)
    if values.size < 2:
        raise dp.errors.InvalidArgumentError("samples must hold at least two numbers")
    mean, quantile = float(values.mean()), float(stdtrit(values.size - 1, 0.5 + confidence / 2))
    half = quantile * float(values.std(ddof=1)) / math.sqrt(values.size)
    return Interval(mean, mean - half, mean + half)


def outcome(problem: Any, values: Floats, found: Any, best: float) -> dict[str, Any]:
    """Which share of the best value an answer loses, and how many rows it violates, exactly.

    Of a policy: whether it is unsafe. A loss is negative only when it was bought with violations.
    """
    if isinstance(problem, dp.ParametricCMDP):
        decision = found.policy
        violated = int(not (found.certificate and kept(problem, values, decision)))
    else:
        decision = found.x
        violated = int((true_slack(problem, values, decision) < 0).sum())
    lost = relative_loss(problem.sense * best, problem.sense * problem.value(decision, values))
    return {"suboptimality": lost if violated else max(lost, 0.0), "violated": violated}


def relative_loss(best: float, achieved: float) -> float:
    """(v* − v)/|v*|: negative only when v was bought with violations."""
    if best == 0.0:
        raise dp.errors.InvalidArgumentError(
            "the relative loss has no meaning: the best value is 0"
        )
    return (best - achieved) / abs(best)
