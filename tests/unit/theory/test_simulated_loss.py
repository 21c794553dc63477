"""Limits of bounded means cover, exactly on two-point laws; sampled bounds cover the mean loss."""

import math

import numpy as np
import pytest
from scipy import stats

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.theory.accuracy import accuracy_bound
from dp_cmdp.theory.mean_limit import bets, mean_upper_limit
from tests.problems import knapsack

BUDGET = PrivacyBudget(1, 0.1)


def limits_by_count(count: int, *, low: float, failure: float) -> np.ndarray:
    """The limit for k samples at 1 and the others at `low`, for every k."""
    return np.array(
        [
            mean_upper_limit([1.0] * k + [low] * (count - k), top=1.0, failure=failure)
            for k in range(count + 1)
        ]
    )


@pytest.mark.parametrize("failure", [0.2, 0.05, 1e-6])
@pytest.mark.parametrize("low", [0.0, 0.4])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_on_two_point_laws_the_limit_fails_no_more_often_than_it_says(count, low, failure):
    limits = limits_by_count(count, low=low, failure=failure)
    assert (np.diff(limits) >= -1e-11).all()
    # the chance of failure is largest just above a limit
    for mean in np.minimum(limits + 1e-9, 1.0):
        p = (mean - low) / (1.0 - low)
        fails = stats.binom.pmf(np.arange(count + 1), count, p)[limits < mean].sum()
        assert fails <= failure


def test_without_any_loss_the_limit_is_that_of_clopper_and_pearson_but_for_the_mixture():
    for count in (10, 200, 5000):
        exact = -math.expm1(math.log(1e-6) / count)
        mixed = -math.expm1(math.log(1e-6 / bets(count, 1e-6).size) / count)
        found = mean_upper_limit(np.zeros(count), top=1.0, failure=1e-6)
        assert exact <= found <= mixed + 1e-9


def test_the_limit_holds_for_many_laws_as_often_as_it_says():
    rng = np.random.default_rng(0)
    trials, failure = 400, 0.1
    for a, b in ((0.3, 5.0), (2.0, 2.0), (5.0, 0.5)):
        samples = rng.beta(a, b, (trials, 12))
        fails = sum(mean_upper_limit(x, top=1.0, failure=failure) < a / (a + b) for x in samples)
        # P(Binomial(400, 0.1) > 71) < 1e-6
        assert fails <= 71


def empirical_bernstein(x: np.ndarray, failure: float) -> float:
    """Maurer and Pontil, *Empirical Bernstein bounds*, COLT 2009, Theorem 4."""
    size = math.log(2.0 / failure)
    return float(
        x.mean() + math.sqrt(2.0 * x.var(ddof=1) * size / x.size) + 7 * size / (3 * (x.size - 1))
    )


@pytest.mark.parametrize("count", [50, 500, 5000])
def test_the_limit_is_tighter_than_the_empirical_bernstein_bound_and_approaches_the_mean(count):
    rng = np.random.default_rng(1)
    for a, b in ((3.0, 15.0), (0.2, 5.0), (1.0, 1.0)):
        x = rng.beta(a, b, count)
        found = mean_upper_limit(x, top=1.0, failure=1e-6)
        assert x.mean() < found < empirical_bernstein(x, 1e-6)
        if count == 5000:
            assert found < 1.12 * x.mean() + 0.01


def test_the_limit_scales_with_the_top_and_never_exceeds_it():
    x = np.random.default_rng(2).random(30)
    one = mean_upper_limit(x, top=1.0, failure=1e-3)
    assert mean_upper_limit(7.0 * x, top=7.0, failure=1e-3) == pytest.approx(7.0 * one)
    assert mean_upper_limit(np.ones(4), top=1.0, failure=0.1) == 1.0
    assert mean_upper_limit(np.zeros(4), top=0.0, failure=0.1) == 0.0


@pytest.mark.parametrize(
    ("samples", "options"),
    [([], {"top": 1.0}), ([0.5, 2.0], {"top": 1.0}), ([-0.1], {"top": 1.0}), ([0.0], {"top": -1})],
)
def test_samples_outside_their_range_are_refused_without_being_quoted(samples, options):
    with pytest.raises(InvalidArgumentError) as error:
        mean_upper_limit(samples, failure=0.1, **options)
    assert "2.0" not in str(error.value)


@pytest.mark.parametrize("mechanism", ["database", "blocks"])
def test_the_sampled_bound_lies_between_the_mean_loss_and_the_sure_bound(mechanism):
    program = knapsack(4, low=0.1, c=Affine(4, at=np.arange(4), entry=np.arange(4)[::-1]))
    database = Database([0.2, 0.7, 0.4, 0.9], program.envelope)
    bound = accuracy_bound(
        program,
        database,
        BUDGET,
        mechanism=mechanism,
        draws=100,
        rng=np.random.default_rng(0),
    )
    assert bound.sampled is not None
    assert isinstance(bound.sampled.limit, CuratorOnly)
    assert 0 < bound.sampled.estimate < bound.sampled.limit < bound.certain
    assert bound.sampled.failure == 1e-6


def test_the_same_generator_gives_common_random_numbers():
    program = knapsack(4, low=0.1, c=Affine(4, at=np.arange(4), entry=np.arange(4)[::-1]))
    database = Database([0.2, 0.7, 0.4, 0.9], program.envelope)
    found = [
        accuracy_bound(
            program, database, PrivacyBudget(eps, 0.1), draws=10, rng=np.random.default_rng(5)
        ).sampled
        for eps in (1.0, 1.0, 1.0001)
    ]
    assert all(part is not None for part in found)
    first, same, near = (part.estimate for part in found if part is not None)
    assert first == same
    assert near == pytest.approx(first, rel=0.05)


def test_draws_need_a_generator_and_a_bounded_loss():
    program = knapsack(4, low=0.1, c=Affine(4, at=np.arange(4), entry=np.arange(4)[::-1]))
    database = Database([0.2, 0.7, 0.4, 0.9], program.envelope)
    with pytest.raises(InvalidArgumentError, match="rng"):
        accuracy_bound(program, database, BUDGET, draws=10)
    with pytest.raises(InvalidArgumentError, match="draws"):
        accuracy_bound(program, database, BUDGET, draws=-1)
    assert accuracy_bound(program, database, BUDGET).sampled is None
