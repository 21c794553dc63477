"""Beliefs: post-processing that is about right, and always within what is certain."""

from __future__ import annotations

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.release.belief import NOTHING_KNOWN, Belief, Prior, believed, estimated
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release

from .cases import budget, demand, dense, repeatable, small


def released(problem, values, strategy, *, epsilon=4, seed=0) -> Release:
    database = dp.Database(values, problem)
    return publish(problem, database, budget(epsilon), strategy, repeatable(seed))


def test_before_any_data_entries_stand_at_the_middle_level() -> None:
    belief = believed(dense(2, 20), Release(dense(2, 20).envelope), NOTHING_KNOWN)
    assert belief.moments()[0] == pytest.approx(np.full(40, 0.35), abs=1e-6)


def test_prior_numbers_are_believed_to_an_eighth_of_the_range() -> None:
    problem, rng = dense(1, 200), np.random.default_rng(0)
    guess = rng.uniform(0.3, 0.7, 200)
    belief = believed(problem, Release(problem.envelope), Prior(guess))
    assert np.abs(belief.moments()[0] - guess).max() < 0.1
    # e^(−|θ − guess|·8) cut to the unit interval: a little below √2/8
    assert np.sqrt(belief.moments()[1]).mean() == pytest.approx(np.sqrt(2) / 8, rel=0.15)


@pytest.mark.parametrize("strategy", ["entries", "queries", "worst row"])
@pytest.mark.parametrize("prior", [None, np.full(60, 0.5)])
def test_means_are_within_what_is_certain(strategy: str, prior) -> None:
    problem = dense(3, 20)
    values = np.random.default_rng(1).random(60)
    release = released(problem, values, dp.Strategy.named(strategy))
    mean = estimated(problem, release, Prior(prior))
    assert (release.lower <= mean).all()
    assert (mean <= release.upper).all()


def test_the_sum_of_clipped_draws_is_made_good() -> None:
    """Draws cut to [0, 1] are biased towards the middle; beliefs of a row know their plain sum."""
    problem, errors = dense(1, 300, radius=0.3), []
    for seed in range(6):
        values = np.random.default_rng(seed).beta(0.5, 4, 300)
        release = released(
            problem, values, dp.Strategy.entries(law="laplace"), epsilon=1, seed=seed
        )
        belief = believed(problem, release, NOTHING_KNOWN)
        errors.append(
            [release.estimate.sum() - values.sum(), belief.moments()[0].sum() - values.sum()]
        )
    clipped, tilted = np.abs(np.mean(errors, axis=0))
    assert tilted < 0.3 * clipped


def test_a_measured_query_moves_the_belief_towards_it() -> None:
    problem = dense(1, 40)
    values = np.full(40, 0.8)  # far from the level that is believed before
    release = released(problem, values, dp.Strategy.queries(share=0), epsilon=8)
    weights = release.outcomes[0].measurement.query.weights / problem.envelope.step
    before = believed(problem, Release(problem.envelope), NOTHING_KNOWN).moments()[0]
    after = believed(problem, release, NOTHING_KNOWN).moments()[0]
    true = weights @ values
    assert np.abs(weights @ after - true) < 0.2 * np.abs(weights @ before - true)


def test_one_entry_is_believed_as_bayes_says() -> None:
    """Uniform prior times the likelihood of the law, summed over the cells in floats."""
    theta = dp.Envelope(0, 1, radius=0.5, shape=1)
    problem = dp.ParametricLP(maximize=[1], A=[[1.0]], b=[2.0 - theta[0]], upper=5)
    release = released(problem, [0.3], dp.Strategy.entries(law="laplace"), epsilon=2)
    outcome = release.outcomes[0]
    fine = np.linspace(release.lower[0], release.upper[0], 20_001)
    cells = fine / problem.envelope.step[0] - 0.5
    weight = outcome.measurement.query.weights.data[0]
    log = outcome.measurement.law.log_weight(outcome.integers[0] - weight * cells)
    density = np.exp(log - log.max())
    width = release.upper - release.lower
    free = Belief(release.lower, width, np.zeros((21, 1)))
    grid = (release.lower + (np.arange(21)[:, None] + 0.5) / 21 * width) / problem.envelope.step
    free.log[:] = outcome.measurement.law.log_weight(outcome.integers[0] - weight * grid)
    exact = float(np.average(fine, weights=density))
    assert free.moments()[0][0] == pytest.approx(exact, abs=0.01)


def test_invented_databases_are_inside_and_the_same_for_a_seed() -> None:
    for problem in (dense(2, 5), demand(6), small()):
        for number in range(4):
            first, second = (
                NOTHING_KNOWN.sample(problem, np.random.default_rng([0, number]), number)
                for _ in range(2)
            )
            assert np.array_equal(first, second)
            assert first in problem.envelope.uncertainty
    around = Prior(np.array([1.0, 1.2, 10.0])).sample(small(), np.random.default_rng(0), 0)
    assert np.abs(around - [1, 1.2, 10]).max() < 2
