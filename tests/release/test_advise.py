"""The adviser predicts what the default call does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.advice.advise import ratio

from .cases import SMALL, dense, small


def test_advice_is_the_same_whoever_computes_it() -> None:
    asked: dict[str, Any] = {"epsilon": [1, 4], "delta": "1/1000", "draws": 6}
    one, two = (dp.advise(small(), **asked, workers=workers) for workers in (1, 2))
    assert one.rows == two.rows
    assert dp.advise(small(), **asked, seed=1).rows != one.rows
    assert [row.epsilon for row in one.rows] == [1.0, 4.0]
    assert str(one).count("\n") == 3
    assert one.strategy == one.rows[1].strategy


def test_the_smallest_epsilon_is_between_one_that_serves_and_one_that_does_not() -> None:
    advice = dp.advise(small(), epsilon=[1, 4], delta="1/1000", draws=8)
    robust = advice.rows[0].robust_loss
    assert advice.smallest_epsilon(loss=robust + 1e-9) == 0.0
    assert advice.smallest_epsilon(loss=0.0) == math.inf
    goal = (advice.rows[0].loss + advice.rows[1].loss) / 2
    found = advice.smallest_epsilon(loss=goal)
    assert 1 < found <= 4
    assert dp.advise(small(), epsilon=found, delta="1/1000", draws=8).rows[0].loss <= goal


@pytest.mark.long
@pytest.mark.parametrize("problem", [small(), dense(1, 16), dense(2, 12)])
def test_advice_tells_what_the_default_call_does_and_why(problem: Any) -> None:
    """Other uniform databases, exact noise; 4.5 half-widths for 12 draws: false alarms 1e-6."""
    asked: dict[str, Any] = {"epsilon": 4, "delta": "1/1000"}
    row = dp.advise(problem, **asked, draws=24).rows[0]
    envelope, rng, lost, size = problem.envelope, np.random.default_rng(9), [], []
    assert dp.solve(problem, envelope.lower, **asked).strategy == row.strategy
    assert row.strategy.name in row.reason
    assert row.reason.count(". ") == 0
    for _ in range(12):
        share = rng.random(envelope.size)
        for part in (share, 1 - share):
            values = np.clip(
                envelope.lower + part * (envelope.upper - envelope.lower),
                envelope.lower, envelope.upper,
            )  # fmt: skip
            best = dp.answer(problem.at(values)).value
            found = dp.solve(problem, values, **asked, strategy=row.strategy)
            lost.append(best - problem.value(found.x, values))
            size.append(abs(best))
    mean, low, high = ratio(np.array(lost), np.array(size))
    apart = math.hypot(high - low, row.loss_high - row.loss_low) / 2
    assert abs(mean - row.loss) <= 4.5 * apart


def test_no_data_are_wanted_and_none_are_taken() -> None:
    with pytest.raises(TypeError):
        dp.advise(small(), SMALL, epsilon=1, delta="1/1000")  # type: ignore[call-arg]
    with pytest.raises(dp.errors.InvalidTypeError, match="got a Database"):
        dp.advise(small(), epsilon=1, delta="1/1000", prior=dp.Database(SMALL, small()))  # type: ignore


def test_intervals_of_ratios_hold_as_often_as_they_say() -> None:
    """False alarms: 400 intervals of 95 % miss 20 on average, more than 40 once in 10⁴."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(400):
        whole = rng.uniform(1, 2, 32)
        part = 0.3 * whole + rng.normal(0, 0.2, 32)
        _, low, high = ratio(part, whole)
        missed += not low <= 0.3 <= high
    assert missed <= 40
    assert ratio(np.zeros(8), np.zeros(8)) == (0.0, 0.0, 0.0)
