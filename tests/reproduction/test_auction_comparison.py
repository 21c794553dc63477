"""One draw function for every compared system, and what its records add up to."""

import math

import numpy as np
import pandas as pd
import pytest

from dp_cmdp.experiments import ad_headline
from dp_cmdp.experiments.auction_comparison import (
    auction_setting,
    comparison_rows,
    draw_auction,
    variant,
)
from dp_cmdp.experiments.sweep import stream
from dp_cmdp.experiments.table1 import SYSTEMS
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction

FAST = [name for name in SYSTEMS if not name.startswith(("hsu", "cummings", "dvorkin"))]


@pytest.mark.parametrize("name", ["benvenuti2025-realised-mask", "benvenuti2025", "database"])
def test_the_comparison_repeats_the_headline_draw_by_draw(name):
    alpha = None if name == "database" else "1/3"
    old = ad_headline.draw({"method": name, "epsilon": "1", "alpha": alpha}, 0, range(4))
    new = draw_auction(auction_setting(name), 0, range(4))
    assert [row["suboptimality"] for row in new] == [row["suboptimality"] for row in old]


def test_both_cases_draw_the_same_prices_and_only_the_second_hides_budgets():
    one, two = (ad_auction_program(private_budgets=flag) for flag in (False, True))
    assert one.b.is_public
    assert not two.b.is_public
    first, second = (random_auction(p, stream(0, 3)).values for p in (one, two))
    np.testing.assert_array_equal(first, second[: first.size])
    np.testing.assert_array_equal(one.at(first).b, two.at(second).b)


@pytest.mark.parametrize("name", FAST)
def test_systems_that_promise_feasibility_keep_it_in_every_draw(name):
    rows = draw_auction(auction_setting(name, "1/4"), 5, range(3))
    broken = any(row["violated"] > 0 for row in rows)
    assert not (broken and variant(name)[0].promises_feasibility)
    assert all((row["worst_violation"] > 0) == (row["violated"] > 0) for row in rows)


def test_plain_laplace_noise_violates_budgets():
    rows = draw_auction(auction_setting("laplace-unshifted"), 0, range(3))
    assert any(row["violated_budgets"] > 0 for row in rows)


def test_the_numbers_do_not_depend_on_how_the_draws_are_cut():
    setting = auction_setting("hsu2014", rounds=5)
    whole = draw_auction(setting, 1, range(4))
    parts = [*draw_auction(setting, 1, range(2, 4)), *draw_auction(setting, 1, range(2))]
    for row in (*whole, *parts):
        del row["seconds"]
    assert whole == parts[2:] + parts[:2]


def test_a_draw_without_an_answer_counts_against_convergence_alone():
    good = {"suboptimality": 0.5, "violated": 0.0, "violated_budgets": 0.0, "worst_violation": 0.0}
    rows = [{"converged": True, **good}, {"converged": True, **good}, {"converged": False}]
    frame = pd.DataFrame([{"method": "m", "case": "i", "seconds": 1.0, **row} for row in rows])
    (row,) = comparison_rows(frame, ("method", "case"))
    assert row["draws"] == 3
    assert row["suboptimality_percent"] == 50.0
    assert math.isclose(row["converged_percent"], 200 / 3)
