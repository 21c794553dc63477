"""Strategies: shares of the budget, names, and what the plain release measures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.release.belief import Prior
from dp_cmdp._src.release.release import Release
from dp_cmdp.extend import Step

from .cases import budget, demand, shared, small


def nothing(problem: Any, release: Any, budget: Any) -> None:
    return None


def test_shares_of_all_steps_sum_to_one_at_most() -> None:
    half = Step(nothing, epsilon="1/2", delta="1/3")
    assert len(dp.Strategy(half, half, name="halves").steps) == 2
    more = Step(nothing, epsilon="1/100", delta="2/3")
    with pytest.raises(dp.errors.InvalidArgumentError, match=r"shares of delta must sum .* 4/3"):
        dp.Strategy(more, Step(nothing, epsilon="1/2", delta="2/3"), name="too much")
    with pytest.raises(dp.errors.InvalidArgumentError, match="give at least one Step"):
        dp.Strategy(name="none")


@pytest.mark.parametrize("share", [0, -1, "5/4", 2])
def test_a_share_is_in_the_half_open_unit_interval(share: Any) -> None:
    with pytest.raises(dp.errors.InvalidArgumentError, match=r"epsilon must lie in \(0, 1\]"):
        Step(nothing, epsilon=share)


def test_parts_are_exact() -> None:
    step = dp.Strategy.queries(share="7/20").steps[0]
    part = step.part(budget("1/3", "1/1000"))
    assert (part.epsilon, part.delta) == (Fraction(7, 60), Fraction(1, 20000))


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda: dp.Strategy.entries(), 1),
        (lambda: dp.Strategy.queries(), 2),
        (lambda: dp.Strategy.queries(share=0), 1),
        (lambda: dp.Strategy.queries(share=1), 1),
        (lambda: dp.Strategy.worst_row(), 2),
    ],
)
def test_shares_decide_the_steps(make: Any, count: int) -> None:
    assert len(make().steps) == count
    assert sum(step.epsilon for step in make().steps) == 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"share": 2}, "share must lie in"),
        ({"shift": 101.0}, "shift"),
        ({"law": 3}, "law must be 'auto'"),
    ],
)
def test_arguments_of_strategies_are_refused(arguments: Any, match: str) -> None:
    with pytest.raises(dp.errors.InvalidArgumentError, match=match):
        dp.Strategy.queries(**arguments)


def test_a_prior_goes_to_the_steps_that_believe() -> None:
    prior = Prior(np.zeros(3))
    first, second = dp.Strategy.queries().given(prior).steps
    assert second.propose.prior is prior  # type: ignore[attr-defined]
    assert first == dp.Strategy.queries().steps[0]
    assert second.document()["prior"] is True


def entries_of(problem: Any, **how: Any) -> Any:
    step = dp.Strategy.entries(**how).steps[0]
    return step.propose(problem, Release(problem.envelope), budget())


def test_every_entry_moves_by_as_many_integers() -> None:
    measurement = entries_of(small())
    moves = small().envelope.moves.max(axis=0).toarray().ravel()
    moved = np.abs(measurement.query.weights.diagonal()) * moves
    assert moved.min() > 0.99 * moved.max()


def test_one_sided_noise_where_one_end_matters_only() -> None:
    measurement = entries_of(small())
    assert isinstance(measurement.law, OneSided)
    # coefficients tighten their row from above, the limit from below
    assert np.sign(measurement.query.weights.diagonal()).tolist() == [1, 1, -1]
    assert (np.sign(entries_of(demand(4)).query.weights.diagonal()) == 1).all()


@pytest.mark.parametrize(
    "problem",
    [
        shared(2, 6, entries_per_record=2),  # a record moves two integers
        small().with_objective(maximize=small().envelope[:2] * 1.0),  # both ends matter
    ],
)
def test_laplace_noise_elsewhere(problem: Any) -> None:
    assert isinstance(entries_of(problem).law, Laplace)
