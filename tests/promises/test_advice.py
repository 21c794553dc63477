"""The adviser predicts what the default call does, not what another way of releasing would do.

An auction of 60 groups whose prices may change to anything, ε = ½ and δ = 1e-3. Both sides are
averages over prices drawn uniformly within their public bounds, as `advise` says of its own.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.promises.adapter import Advised, advise, auction, optimum, simulate, value

EPSILON, DELTA = "1/2", "1/1000"
DRAWS = 10
#: Of the simulated intervals, so that a miss is a contradiction and not chance.
CONFIDENCE = 0.999


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Per draw of the default call: value of the best, of the robust and of its own answer."""
    lp, rng = auction(60, radius=1), np.random.default_rng(0)
    rows = []
    for draw in range(DRAWS):
        prices = rng.uniform(0, 1, lp.envelope.size)
        (found,) = simulate(lp, prices, epsilon=EPSILON, delta=DELTA, draws=1, seed=draw)
        decisions = (found.robust, found.decision)
        rows.append([optimum(lp, prices), *(value(lp, x, prices) for x in decisions)])
    return np.array(rows)


@pytest.fixture(scope="module")
def advice() -> Advised:
    return advise(auction(60, radius=1), epsilon=EPSILON, delta=DELTA, draws=16, seed=0)


def interval_of_ratio(numerator: np.ndarray, denominator: np.ndarray) -> tuple[float, float]:
    """Student's interval of a ratio of means, linearised around it."""
    ratio = numerator.mean() / denominator.mean()
    error = stats.sem(numerator - ratio * denominator) / denominator.mean()
    half = stats.t.ppf((1 + CONFIDENCE) / 2, numerator.size - 1) * error
    return ratio - half, ratio + half


def test_advice_predicts_the_share_that_the_default_call_wins_back(
    values: np.ndarray, advice: Advised
) -> None:
    best, without, achieved = values.T
    low, high = interval_of_ratio(achieved - without, best - without)
    row = advice.to_frame().iloc[0]
    assert row["recovered_low"] <= high
    assert low <= row["recovered_high"]


def test_the_smallest_epsilon_advised_is_not_above_one_that_serves(
    values: np.ndarray, advice: Advised
) -> None:
    """`loss` is the share of the optimum that an answer stays below it."""
    best, without, achieved = values.T
    _, high = interval_of_ratio(best - achieved, best)
    loss = 0.35
    assert high < loss < (best - without).mean() / best.mean()  # ε = ½ serves, no data does not
    assert advice.smallest_epsilon(loss=loss) <= 0.5
