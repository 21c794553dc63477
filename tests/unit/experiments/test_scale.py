"""Loss against size: fresh problems per draw, the same for every method, and honest rows."""

from dataclasses import replace

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.experiments import scale, scale_cases
from dp_cmdp.experiments.runner import run_sweep
from dp_cmdp.figures.scale import FAMILIES, scale_figure
from dp_cmdp.problems.ad_auction import growing_auction
from dp_cmdp.problems.hazard_grids import random_grid

COLUMNS = [
    "problem",
    "size",
    "epsilon",
    "delta",
    "radius",
    "method",
    "suboptimality_percent",
    "ci_low",
    "ci_high",
    "draws",
    "violations",
    "plan",
]


def part_of(sweep, problems):
    """The settings of some problems, robust answers and limits included."""

    def kept(some):
        wanted = tuple(s for s in some.settings if (s["problem"], s["radius"]) in problems)
        return replace(some, settings=tuple(s for s in wanted if s["size"] <= 16))

    return replace(kept(sweep), beside=tuple(kept(some) for some in sweep.beside))


@pytest.fixture(scope="module")
def table():
    problems = {("auction", 0.1), ("layout rooms", 0.1), ("known grid uniform", 1.0)}
    sweep = part_of(scale.quick_sweep(draws=3), problems)
    frame = run_sweep(sweep, workers=1)
    return scale.rows(frame)


def test_rows_carry_the_published_columns_and_nothing_is_violated(table):
    for row in table:
        assert list(row)[: len(COLUMNS)] == COLUMNS
        assert row["ci_low"] <= row["suboptimality_percent"] <= row["ci_high"]
        assert row["violations"] == 0
        assert row["draws"] == 3
        assert (row["plan"] is not None) == (row["method"] == "planned")
    methods = {row["method"] for row in table}
    assert methods == {"benvenuti2025", "database", "planned", "robust", "limit"}


def test_totals_halve_the_loss_where_the_menu_was_chosen_and_no_limit_is_undercut(table):
    lost = {(row["problem"], row["method"]): row["suboptimality_percent"] for row in table}
    for problem in ("layout rooms", "known grid uniform"):
        assert lost[problem, "planned"] < 0.5 * lost[problem, "database"]
        assert lost[problem, "limit"] <= lost[problem, "planned"]
        assert lost[problem, "database"] <= lost[problem, "robust"] + 1e-9
    assert scale.summary(table)["violations"] == 0
    assert scale.summary(table)["planned_over_database"]["largest"] <= 1.0 + 1e-9


def test_every_method_meets_the_same_fresh_problem_of_a_draw_and_draws_differ():
    one, same, other = (
        scale_cases.grid_case(12, radius=0.1, start="corner", seed=0, draw=draw)
        for draw in (0, 0, 1)
    )
    assert one is same
    assert not np.array_equal(one.database.values, other.database.values)
    first, second = (
        scale_cases.auction_case(10, radius=radius, seed=0, draw=0) for radius in (0.1, 1.0)
    )
    np.testing.assert_array_equal(first.database.values, second.database.values)


def test_the_known_grid_is_the_one_that_plans_were_developed_on():
    known = scale_cases.grid_case(12, radius=1.0, start="uniform")
    model, database = random_grid(12, np.random.default_rng(0), radius=1.0, start="uniform")
    np.testing.assert_array_equal(known.database.values, database.values)
    assert known.database.values.size == 43
    np.testing.assert_array_equal(known.model.tolerance.constant, model.tolerance.constant)


def test_the_full_sweep_holds_a_hundred_draws_of_what_was_asked_for():
    sweep = scale.sweep(draws=100)
    found = {(s["problem"], s["size"], s["radius"], s["delta"]) for s in sweep.settings}
    assert {size for problem, size, *_ in found if problem == "auction"} == {10, 30, 100, 300, 1000}
    assert {size for problem, size, *_ in found if problem == "grid uniform"} == {12, 20, 30, 40}
    assert ("auction", 1000, 1.0, "1/10") in found
    assert ("grid corner", 40, 1.0, "1/1000") in found
    assert {problem for problem, *_ in found} >= {"layout paper", "layout cliff", "layout islands"}
    keys = [chunk.key for chunk in sweep.chunks()]
    assert len(set(keys)) == len(keys)
    robust, limit, every = sweep.beside
    assert {s["epsilon"] for s in robust.settings} == {"0"}
    assert limit.draws == scale.LIMIT_DRAWS
    assert {(s["problem"], s["size"]) for s in every.settings} == {
        (f"grid {start}", 12) for start in ("corner", "uniform")
    }
    assert {s["epsilon"] for s in every.settings} == {"1"}
    assert every.draws == 100


def test_the_plans_of_several_draws_are_all_named():
    assert scale._plans([]) is None
    assert scale._plans(["database"] * 3) == "database"
    assert scale._plans(["a", "b", "a"]) == "a in 2 of 3, b in 1 of 3"


def test_the_ratio_is_taken_draw_by_draw_where_the_database_release_loses_something():
    import pandas as pd

    key = {
        "problem": "auction",
        "size": 10,
        "radius": 0.1,
        "epsilon": "1",
        "delta": "1/1000",
    }
    lost = {"database": (0.1, 0.2, 0.0), "planned": (0.05, 0.2, 0.3)}
    frame = pd.DataFrame(
        [
            {**key, "method": method, "draw": draw, "suboptimality": loss}
            for method, losses in lost.items()
            for draw, loss in enumerate(losses)
        ]
    )
    assert scale._ratio(frame, key) == pytest.approx(np.quantile([0.5, 1.0], 0.95))


def test_the_picture_shows_one_panel_per_family_and_leaves_empty_ones_out(table):
    figure = scale_figure(table)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]
    assert titles == ["Auction, radius 0.1"]
    assert len(figure.axes) == len(FAMILIES)  # no row for a radius that no family has


def test_budgets_of_a_growing_auction_are_a_tenth_of_its_visitors_but_at_least_one():
    for groups, budget in ((5, 1.0), (10, 1.0), (30, 3.0), (1000, 100.0)):
        np.testing.assert_allclose(growing_auction(groups).b.constant, budget)


@pytest.mark.parametrize("start", ["corner", "uniform"])
def test_a_random_grid_is_a_model_with_a_robust_policy(start):
    from dp_cmdp.cmdp.synthesis import robust_policy

    model, database = random_grid(6, np.random.default_rng(1), start=start)
    model.check_owns(database)
    np.testing.assert_allclose(model.public.T.sum(axis=1), 1.0)
    assert robust_policy(model).certificate.verified


def test_a_plan_is_chosen_without_a_draw():
    """The same public grid has the same plan, whatever its severities are."""
    from dp_cmdp.data.database import Database

    case = scale_cases.grid_case(12, radius=1.0, start="uniform")
    budget = PrivacyBudget(1, "1/1000")
    other = replace(case, database=Database(case.database.values[::-1], case.model.envelope))
    assert scale_cases._policy_plan(case, budget) == scale_cases._policy_plan(other, budget)
