"""Noise of a release, extents and bounds: against hand answers, draws and exact coverage."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

import dp_cmdp as dp
from paper.bounds.accuracy import accuracy_bound, sampled_limit
from paper.bounds.instance import instance_bound
from paper.bounds.mean_limit import mean_upper_limit
from paper.bounds.noise import Law, release_noise
from paper.bounds.row_tails import RowTerms
from paper.bounds.worst_answer import WorstAnswer
from paper.linear import LinearProgram
from tests.paper.conftest import knapsack, rounded

BUDGET = dp.PrivacyBudget(1, "1/10")
#: Midpoints: the average over them of f(quantile(u)) is E f(N) up to about 1/GRID.
GRID = (np.arange(40_001) + 0.5) / 40_001
NEAR = 5e-4
LAWS = {
    "truncated": Law(np.array([0.25]), np.array([0.5])),
    "flat": Law(np.array([1e5]), np.array([0.5])),
    "plain": Law(np.array([0.25]), np.array([np.inf])),
}


def quantile(law, uniforms):
    q = uniforms - 0.5
    size = -law.scale * np.log1p(2.0 * np.abs(q) * np.expm1(-law.support / law.scale))
    return np.sign(q) * np.minimum(size, law.support)


@pytest.fixture(params=LAWS)
def law(request):
    return LAWS[request.param], quantile(LAWS[request.param], GRID)


def test_tail_excess_and_ends_agree_with_draws(law):
    found, z = law
    assert z.var() == pytest.approx(float(found.variance[0]), rel=1e-2)
    for t in (-3.0, -0.4, -0.1, 0.0, 0.03, 0.3, 3.0):
        assert found.tail(t)[0] == pytest.approx((z > t).mean(), abs=NEAR)
        assert found.excess(t)[0] == pytest.approx(np.maximum(z - t, 0).mean(), abs=NEAR)
        room = np.array([abs(t)])
        assert found.mean_up_to(room)[0] == pytest.approx(np.clip(z, 0, room).mean(), abs=NEAR)
    for r in (0.05, 0.4, 0.9, 5.0) if np.isfinite(found.support[0]) else ():
        room, distance = np.array([r]), np.minimum(found.support + z, r)
        assert found.end_mean(room)[0] == pytest.approx(distance.mean(), abs=NEAR)
        assert found.end_probability(room)[0] == pytest.approx((distance >= r).mean(), abs=NEAR)
        below = found.end_below(np.array([0.3]), room=room)[0]
        assert below == pytest.approx((distance <= 0.3).mean(), abs=NEAR)


def releases(program, values, count, budget=BUDGET) -> list[Any]:
    runs = dp.simulate(
        program,
        values,
        epsilon=budget.epsilon,
        delta=budget.delta,
        strategy=dp.Strategy.entries(law="laplace"),
        draws=count,
    )
    return list(runs)


def test_every_released_box_lies_in_the_worst_box_and_reaches_as_far_as_was_said():
    program, values = rounded(), np.array([0.1, 0.5, -0.2, 0.3])
    noise = release_noise(program, BUDGET)
    low, high = noise.worst_box(values)
    for run in releases(program, values, 200):
        assert (run.release.lower >= low).all()
        assert (run.release.upper <= high).all()
    found = releases(knapsack(radius=1e-3), [0.5, 0.5], 1)[0].release
    half = release_noise(knapsack(radius=1e-3), BUDGET).law.support
    np.testing.assert_allclose((found.upper - found.lower) / 2, half, rtol=1e-3)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
def test_a_harmless_entry_that_may_change_to_anything_saturates_with_probability_one_minus_delta(
    eps, delta
):
    found = release_noise(knapsack(radius=1.0), dp.PrivacyBudget(eps, delta))
    np.testing.assert_allclose(found.law.end_probability(np.ones(2)), 1 - delta, rtol=1e-9)


def test_the_failure_of_a_row_is_bounded_and_nearly_exact():
    theta, weight = np.array([0.1, 0.2, 0.0, 0.7, 0.5]), np.array([1.0, 0.5, 2.0, 0.1, 0.7])
    law = release_noise(knapsack(5, radius=0.2), BUDGET).law
    terms = RowTerms(law, weight, 1.0 - theta)
    z = quantile(law, np.random.default_rng(0).random((20_000, 5)))
    total = np.minimum(law.support + z, 1.0 - theta) @ weight
    for slack in np.quantile(total, [0.05, 0.5, 0.9, 0.99]):
        seen = (total > slack).mean()
        assert seen - 0.018 <= terms.failure(float(slack)) <= seen + 0.03  # five standard errors
    assert terms.failure(float(total.max()) + 10.0) == 0.0
    assert terms.failure(-1.0) == 1.0


def test_the_certified_bound_of_a_knapsack_is_known():
    program, values = knapsack(radius=0.01), np.array([0.5, 0.7])
    s = float(release_noise(program, BUDGET).law.support[0])
    bound = accuracy_bound(program, values, BUDGET)
    # x₁ = 1 first (smaller weight), then x₂ = (1 − θ₁)/θ₂
    expected = 0.5 / 0.7 - (0.5 - 2 * s) / (0.7 + 2 * s)
    assert bound.certain == pytest.approx(expected, rel=1e-3)
    assert bound.certain >= expected
    assert bound.tightening == bound.certain
    assert bound.mean <= bound.likely <= bound.certain


@pytest.mark.parametrize("private_c", [False, True])
def test_no_draw_exceeds_the_certain_bound_and_the_mean_not_its_own(private_c):
    program = knapsack(4, low=0.1, private_c=private_c)
    values = np.array([0.2, 0.7, 0.4, 0.9])
    bound = accuracy_bound(program, values, BUDGET)
    runs = releases(program, values, 150)
    lost = np.array([bound.optimum - program.value(run.x, values) for run in runs])
    assert lost.max() <= bound.certain + 1e-7
    assert lost.mean() <= bound.mean + 4 * lost.std() / math.sqrt(lost.size)
    assert (lost > bound.likely + 1e-7).mean() <= bound.failure + 0.09  # five standard errors
    limit = sampled_limit(lost, optimum=bound.optimum, largest=bound.certain)
    assert lost.mean() < limit < bound.certain
    for run in runs[:20]:
        known, estimate = run.release.uncertainty, run.estimate
        found = instance_bound(program, known, entries=values, estimate=estimate, x=run.x)
        assert bound.optimum - program.value(run.x, values) <= found + 1e-7


@pytest.mark.parametrize("limit", [0.05, 0.3, 2.0, np.inf])
def test_no_answer_that_some_error_prefers_loses_more_than_the_worst_answer(limit):
    truth = LinearProgram.of([0.9, 0.6], [[0.8, 0.3]], [0.7], upper=1.0)
    corners = np.array([[0.0, 0.0], [0.875, 0.0], [0.5, 1.0], [0.0, 1.0]])
    optimum, y = 1.05, np.array([0.45, 0.9])
    limits = np.array([limit, limit / 2]), np.array([limit / 3, limit])
    span = np.zeros(2), np.array([0.875, 1.0])
    found = WorstAnswer(truth, optimum, sparse.csr_array(np.eye(2)), span, limits).loss(y)
    assert found <= optimum + 1e-9  # the range of the objective
    up, down = (np.minimum(part, 1e6) for part in limits)
    each = np.maximum(up * (span[1] - y), down * y)
    assert found <= optimum - truth.c @ y + each.sum() + 1e-6
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 20_000)
    x = np.vstack([corners, shares @ corners])
    reached = x @ truth.c - truth.c @ y + np.maximum(up * (x - y), down * (y - x)).sum(axis=1) >= 0
    assert (optimum - x[reached] @ truth.c).max() <= found + 1e-6


def test_the_instance_bound_is_zero_when_the_optimum_is_safe_anyway():
    program, values = knapsack(radius=0.01), np.array([0.0, 0.1])
    run = releases(program, values, 1)[0]
    known, estimate = run.release.uncertainty, run.estimate
    found = instance_bound(program, known, entries=values, estimate=estimate, x=run.x)
    assert found == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("failure", [0.2, 0.05, 1e-6])
@pytest.mark.parametrize("low", [0.0, 0.4])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_on_two_point_laws_the_limit_fails_no_more_often_than_it_says(count, low, failure):
    limits = np.array(
        [
            mean_upper_limit([1.0] * k + [low] * (count - k), top=1.0, failure=failure)
            for k in range(count + 1)
        ]
    )
    assert (np.diff(limits) >= -1e-11).all()
    for mean in np.minimum(limits + 1e-9, 1.0):  # failures are likeliest just above a limit
        p = (mean - low) / (1.0 - low)
        fails = stats.binom.pmf(np.arange(count + 1), count, p)[limits < mean].sum()
        assert fails <= failure


def test_the_limit_scales_with_the_top_and_samples_outside_are_refused():
    x = np.random.default_rng(2).random(30)
    one = mean_upper_limit(x, top=1.0, failure=1e-3)
    assert mean_upper_limit(7.0 * x, top=7.0, failure=1e-3) == pytest.approx(7.0 * one)
    assert mean_upper_limit(np.ones(4), top=1.0, failure=0.1) == 1.0
    for samples in ([], [0.5, 2.0], [-0.1]):
        with pytest.raises(dp.errors.InvalidArgumentError):
            mean_upper_limit(samples, top=1.0, failure=0.1)
