"""An upper limit of the mean of a bounded variable, right for every number of samples.

For samples X_i in [0, 1] and bets f_g with equal weights w_g, fixed beforehand, the limit is

    U = sup{m < 1 : Σ_g w_g Π_i (1 + f_g (m − X_i)/(1 − m)) < 1/α},    P(mean > U) ≤ α

(theorem 5 of ``docs/theory.md``). Bets near f/(1 − m) = √(2 ln(1/α)/(n Var X)) are the best; as
Var X ≤ ¼, a short geometric list of them, from 1 down, loses little.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import dp_cmdp as dp
from paper.linear import Floats

#: Ratio of neighbouring bets.
RATIO = math.sqrt(2.0)


def mean_upper_limit(samples: ArrayLike, *, top: float, failure: float) -> float:
    """A number that the mean exceeds with probability at most `failure`."""
    values, high = np.asarray(samples, dtype=float), float(top)
    if not values.size or (values < 0.0).any() or (values > high).any():
        raise dp.errors.InvalidArgumentError("samples must lie in [0, top], and there must be some")
    if high == 0.0 or values.min() == high:
        return high
    return high * _limit(values / high, failure)


def bets(count: int, failure: float) -> Floats:
    """The bets f_g: from 1 down to half of what is best for the largest variance."""
    least = min(math.sqrt(2.0 * math.log(1.0 / failure) / count), 1.0)
    steps = math.ceil(-math.log(least) / math.log(RATIO))
    return RATIO ** -np.arange(steps + 1.0)


def _limit(x: Floats, failure: float) -> float:
    f = bets(x.size, failure)
    goal = math.log(1.0 / failure) + math.log(f.size)

    def reached(m: float) -> bool:
        with np.errstate(divide="ignore"):  # a bet of everything may lose everything
            capital = np.log1p(f[:, None] * np.maximum((m - x) / (1.0 - m), -1.0)).sum(axis=1)
        return bool(np.logaddexp.reduce(capital) >= goal)

    low, high = float(x.mean()), 1.0
    while high - low > 1e-12 * (1.0 + high):
        middle = (low + high) / 2
        if middle >= 1.0:
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
