"""The paper's cost-of-privacy experiment, on the shipped layout and a small scale."""

import json
from functools import lru_cache

import numpy as np
import pytest

from dp_cmdp.experiments import cost_of_privacy as experiment
from dp_cmdp.experiments.runner import run_sweep
from dp_cmdp.reproductions import REPRODUCTIONS


@lru_cache(maxsize=1)
def table():
    """Rows at the quick values of ε."""
    sweep = experiment.quick_sweep(draws=40)
    return experiment.rows(run_sweep(sweep, workers=1))


def cost(method, epsilon):
    return next(
        row["cost_of_privacy_percent"]
        for row in table()
        if row["method"] == method and row["epsilon"] == epsilon
    )


def mean_cost(method, *, draws):
    setting = {"layout": "paper", "method": method, "epsilon": "1/10"}
    rows = experiment.draw_policies(setting, 0, range(draws))
    return 100.0 * np.mean([row["cost_of_privacy"] for row in rows])


def test_the_published_curves_come_along():
    published = experiment.published_curves()
    np.testing.assert_allclose(published["epsilon"], np.arange(1, 101) / 10)
    assert published["algorithm1_percent"][0] == pytest.approx(0.21993, abs=1e-5)
    assert published["munoz2021_percent"][-1] == pytest.approx(0.009134, abs=1e-6)


@pytest.mark.parametrize(("method", "plateau"), experiment.FITTED.items())
def test_the_plateaus_are_within_ten_percent_of_the_published_ones(method, plateau):
    assert mean_cost(method, draws=400) == pytest.approx(plateau, rel=0.1)


def test_munoz_is_predicted_at_every_epsilon():
    for row in table():
        if row["method"] == "munoz2021":
            assert row["cost_of_privacy_percent"] == pytest.approx(0.0088, rel=0.15)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0])
def test_the_database_release_costs_less_than_algorithm_1(epsilon):
    assert cost("database", epsilon) < cost("benvenuti2025", epsilon)


def test_the_database_release_costs_half_at_one_and_a_tenth_at_three():
    assert cost("database", 1.0) <= 0.5 * cost("benvenuti2025", 1.0)
    assert cost("database", 3.0) <= 0.1 * cost("benvenuti2025", 3.0)


def test_no_policy_violates_anything():
    assert sum(row["violations"] for row in table()) == 0
    assert sum(row["draws"] for row in table()) == len(experiment.METHODS) * 7 * 40


def test_a_policy_that_breaks_the_true_constraint_is_counted():
    """With severities taken as zero the best policy costs more than 0.2, and f0 is set to that."""
    from dataclasses import replace

    from dp_cmdp.cmdp.synthesis import safe_policy

    grid = experiment.scenario()
    free = grid.truth.with_constraints(np.zeros_like(grid.truth.f), grid.truth.f0)
    strict = replace(grid, truth=grid.truth.with_constraints(grid.truth.f, [0.2]))
    assert experiment.judge(strict, safe_policy(free))["violated"] == 1


def test_records_do_not_depend_on_what_ran_before():
    first, second = (
        {"layout": "paper", "method": method, "epsilon": "3"}
        for method in ("database", "benvenuti2025-as-published")
    )
    one = [experiment.draw_policies(s, 0, range(10)) for s in (first, second)]
    two = [experiment.draw_policies(s, 0, range(10)) for s in (second, first)]
    assert one == two[::-1]


def test_each_method_spends_and_leaks_what_it_says():
    grid, rng = experiment.scenario(), np.random.default_rng(0)
    releases = {m: experiment.publish(grid, m, epsilon="2", rng=rng) for m in experiment.METHODS}
    assert releases["munoz2021"].leaks == ("block A unprotected",)
    assert releases["munoz2021"].guarantee.epsilon * 100 == 2
    assert releases["munoz2021"].guarantee.delta * 20 == 1
    for method in experiment.PRIVATE:
        assert releases[method].leaks == ()
        assert releases[method].guarantee.epsilon == 2
    assert grid.program.sensitivity("A") == pytest.approx(0.4)
    assert grid.entry_program.sensitivity("A") == pytest.approx(0.1)


def test_the_summary_and_the_figure_say_how_well_it_fits(tmp_path):
    made = REPRODUCTIONS["cost-of-privacy"].study()
    facts = made.summary(table())
    json.dumps(facts, allow_nan=False)
    assert facts["rmse_percent"]["munoz2021"] < 0.001
    assert facts["rmse_percent"]["benvenuti2025-as-published"] < 0.05
    assert "predictions" in facts["note"]
    made.figure(table()).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
