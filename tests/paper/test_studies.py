"""Tables and pictures of the studies, on a few draws."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from paper.__main__ import main
from paper.problems.classes import CHOSEN_ON, CLASSES, REPORTED, truth
from paper.problems.grids import scenario
from paper.runner import run
from paper.studies import STUDIES, cost_of_privacy, mean_shift, scale
from paper.studies.comparison import VARIANTS, auction_setting, draw_auction
from paper.studies.exposure import verdict


def rows_of(name, *, draws=3, kept=lambda setting: True):
    """The table of some settings of a quick run, whose picture can be drawn."""
    study = STUDIES[name]
    sweeps = tuple(
        replace(sweep, settings=tuple(filter(kept, sweep.settings)))
        for sweep in study.planned(quick=True, draws=max(draws, study.fewest_draws))
    )
    rows = study.table(run(sweeps, workers=1))
    assert study.picture(rows).axes
    return rows


def test_the_default_strategy_is_reported_beside_the_entries_and_the_limit():
    rows = rows_of("strategy", draws=2, kept=lambda setting: setting["class"] == "queue")
    assert list(rows[0]) == [
        "problem", "class", "size", "epsilon", "delta", "method", "loss_percent", "ci_low",
        "ci_high", "draws", "violations", "limit_percent", "choose_seconds", "solve_seconds",
    ]  # fmt: skip
    lost = {row["method"]: row["loss_percent"] for row in rows}
    assert rows[0]["limit_percent"] <= lost["auto"] <= lost["robust"] + 1e-9
    said = STUDIES["strategy"].summary(rows)
    assert (said["violations"], said["settings"]) == (0, 1)


@pytest.mark.long
def test_shielded_learners_keep_the_limit_and_earn_what_they_started_from():
    rows = rows_of("safe-rl", draws=2, kept=lambda setting: setting["environment"] == "crossing")
    spent = {row["method"]: row["training_share"] for row in rows}
    earned = {row["method"]: row["training_return"] for row in rows}
    assert max(spent["synthesised"], spent["robust"]) <= 1 + 1e-9
    assert spent["Q"] > 1.5
    assert spent["Q, shield, improve"] <= 1.25  # in expectation 1: some hundred episodes
    assert earned["Q, shield, improve"] >= 0.8 * earned["synthesised"]
    assert "training exceeds the limit" in STUDIES["safe-rl"].summary(rows)["note"]


def test_constants_were_chosen_on_other_problems_than_are_reported():
    chosen, reported = ({part[2] for part in each} for each in (CHOSEN_ON, REPORTED))
    assert not chosen & reported
    for name, sizes, seed in (*CHOSEN_ON, *REPORTED):
        problem = CLASSES[name](np.random.default_rng(seed), 0.1, **sizes)
        values = truth(problem, np.random.default_rng(0))
        assert values in problem.envelope.uncertainty


@pytest.fixture(scope="module")
def headline():
    return rows_of("ad-headline", draws=6, kept=lambda s: s["epsilon"] in ("1", "4"))


def test_headline_rows_have_the_published_columns(headline):
    for row in headline:
        assert list(row) == [
            "method", "epsilon", "alpha", "suboptimality_percent", "ci_low", "ci_high", "draws",
            "violations",
        ]  # fmt: skip
        assert row["violations"] == 0
        assert row["ci_low"] <= row["suboptimality_percent"] <= row["ci_high"]


def test_more_privacy_costs_more_and_our_release_costs_less_than_algorithm_1(headline):
    lost = {(r["method"], r["epsilon"], r["alpha"]): r["suboptimality_percent"] for r in headline}
    for method, alpha in (("benvenuti2025", 1 / 3), ("database", None), ("planned", None)):
        assert lost[method, 4.0, alpha] < lost[method, 1.0, alpha]
    assert lost["database", 1.0, None] < lost["benvenuti2025", 1.0, 1 / 3]


@pytest.mark.parametrize(
    ("name", "block", "expected"),
    [
        ("benvenuti2025", "A", "coupled"),
        ("benvenuti2025", "b", "coupled"),
        ("benvenuti2025", "c", "coupled"),
        ("benvenuti2025-realised-mask", "A", "leaking"),
        ("benvenuti2025-realised-mask", "b", "coupled"),
        ("benvenuti2025-realised-mask", "c", "leaking"),
        ("benvenuti2024", "A", "coupled"),
        ("benvenuti2024", "b", "unprotected"),
        ("munoz2021", "b", "coupled"),
        ("munoz2021", "c", "unprotected"),
        ("database", "A", "coupled"),
        ("totals", "b", "coupled"),
        ("hsu2014", "A", "noisy"),
        ("cummings2015", "c", "noisy"),
        ("dvorkin2020", "b", "noisy"),
        ("robust", "A", "unread"),
        ("sup_A_exact_c", "A", "unread"),
        ("nonprivate", "c", "unprotected"),
    ],
)
def test_what_a_method_shows_of_a_block_is_measured(name, block, expected):
    assert verdict(name, block) == expected


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_answers_the_auction(name):
    assert draw_auction(auction_setting(name), 0, 5)["worst_violation"] >= 0


def test_the_scenario_of_the_cost_of_privacy_is_the_published_one():
    grid = scenario()
    envelope = grid.model.envelope
    np.testing.assert_allclose(envelope.upper[:-1], 0.9)
    np.testing.assert_allclose(envelope.lower[-1], 0.3)
    np.testing.assert_allclose(envelope.radius, 0.1)
    assert set(grid.values[:-1]) <= {0.0, 0.6}
    assert grid.values[-1] == 0.6


def test_algorithm_1_pays_for_a_severity_in_every_action_and_not_once():
    from paper.policies import entrywise_policies

    grid = scenario()
    found = [
        entrywise_policies(grid.model, own_records=own).envelope.change.sum(axis=1).max()
        for own in (False, True)
    ]
    assert found == pytest.approx([0.4, 0.1])


def test_policies_of_the_cost_of_privacy_are_safe_and_rows_complete():
    rows = rows_of("cost-of-privacy", draws=4, kept=lambda s: s["epsilon"] in ("1/10", "1"))
    assert len(rows) == 2 * len(cost_of_privacy.METHODS)
    for row in rows:
        assert row["violations"] == 0
        assert row["private"] == (row["method"] in cost_of_privacy.PRIVATE)
        assert (row["published_percent"] is None) == (row["method"] in ("database", "planned"))
    found = cost_of_privacy.summary(rows)
    assert found["violations"] == 0
    assert found["plateau_percent"]["munoz2021"] < 0.02


def test_the_published_curves_say_less_than_the_text_beside_them():
    curves = cost_of_privacy.published_curves()
    at = {round(float(e), 1): k for k, e in enumerate(curves["epsilon"])}
    ours, gap = curves["algorithm1_percent"], curves["algorithm1_percent"] - curves["munoz2021_percent"]  # fmt: skip  # noqa: E501
    found = ours[at[1.0]], gap[at[1.0]], gap[at[3.0]]
    assert found == pytest.approx((0.2097, 0.2012, 0.1159), abs=5e-5)
    printed = (0.22, 0.21, 0.11)
    assert all(f"{a:.2f}" != f"{b:.2f}" for a, b in zip(found, printed, strict=True))


def test_no_noise_beats_the_universal_bound_and_each_is_better_than_the_last():
    rows = rows_of("mean-shift", draws=1)
    assert len(rows) == len(mean_shift.EPSILONS) * len(mean_shift.DELTAS)
    for row in rows:
        assert row["bound"] <= row["optimal"] <= row["tight"] < row["paper"]


@pytest.mark.parametrize("name", ["layout corridor", "FrozenLake-v1"])
def test_episodes_cost_what_is_certified_and_discounted_policies_more(name):
    rows = rows_of("episode-costs", draws=1, kept=lambda s: s["environment"] == name)
    at = {row["criterion"]: row for row in rows}
    own = at["episode"]
    assert own["ci_low"] <= own["certified_cost"] <= own["ci_high"]  # false alarm 1e-6
    assert own["certified_cost"] <= own["limit"] * (1 + 1e-9)
    other = at["discounted"]
    assert other["certified_cost"] <= other["limit"] * (1 + 1e-9) < other["ci_low"]


@pytest.mark.long
def test_a_hundred_thousand_episodes_cost_what_is_certified_everywhere():
    study = STUDIES["episode-costs"]
    rows = study.table(run(study.planned(), workers=1))
    assert study.summary(rows)["disagree"] == []
    assert {row["episodes"] for row in rows} == {100_000}
    assert len({row["environment"] for row in rows}) >= 11


SCALE_COLUMNS = [
    "problem", "size", "epsilon", "delta", "radius", "method", "suboptimality_percent", "ci_low",
    "ci_high", "draws", "violations", "plan",
]  # fmt: skip


@pytest.fixture(scope="module")
def table():
    problems = {("auction", 0.1), ("layout rooms", 0.1), ("known grid uniform", 1.0)}

    def kept(setting):
        return (setting["problem"], setting["radius"]) in problems and setting["size"] <= 16

    return rows_of("scale", kept=kept, draws=24)  # means of three are off by a half


def test_rows_of_the_scale_carry_the_published_columns_and_nothing_is_violated(table):
    for row in table:
        assert list(row)[: len(SCALE_COLUMNS)] == SCALE_COLUMNS
        assert row["ci_low"] <= row["suboptimality_percent"] <= row["ci_high"]
        assert row["violations"] == 0
        assert (row["plan"] is not None) == (row["method"] == "planned")
    methods = {row["method"] for row in table}
    assert methods == {"benvenuti2025", "database", "planned", "robust", "limit"}


def test_queries_halve_the_loss_where_the_menu_was_chosen_and_no_limit_is_undercut(table):
    lost = {(row["problem"], row["method"]): row["suboptimality_percent"] for row in table}
    for problem in ("layout rooms", "known grid uniform"):
        assert lost[problem, "planned"] < 0.5 * lost[problem, "database"]
        assert lost[problem, "limit"] <= lost[problem, "planned"]
        assert lost[problem, "database"] <= lost[problem, "robust"] + 1e-9
    assert scale.summary(table)["violations"] == 0
    assert scale.summary(table)["planned_over_database"]["largest"] <= 1.0 + 1e-9


def test_every_method_meets_the_same_fresh_problem_of_a_draw_and_draws_differ():
    one, same, other = (
        scale.grid_case(12, radius=0.1, start="corner", seed=0, draw=draw) for draw in (0, 0, 1)
    )
    assert one is same
    assert not np.array_equal(one.values, other.values)
    first, second = (scale.auction_case(10, radius=radius, seed=0, draw=0) for radius in (0.1, 1.0))
    np.testing.assert_array_equal(first.values, second.values)


def test_the_ratio_is_taken_draw_by_draw_where_the_database_release_loses_something():
    key = {
        "problem": "auction", "size": 10, "radius": 0.1, "epsilon": "1", "delta": "1/1000",
    }  # fmt: skip
    lost = {"database": (0.1, 0.2, 0.0), "planned": (0.05, 0.2, 0.3)}
    frame = pd.DataFrame(
        [
            {**key, "method": method, "draw": draw, "suboptimality": loss}
            for method, losses in lost.items()
            for draw, loss in enumerate(losses)
        ]
    )
    assert scale._ratio(frame, key) == pytest.approx(np.quantile([0.5, 1.0], 0.95))
    assert scale._plans(["a", "b", "a"]) == "a in 2 of 3, b in 1 of 3"


def test_a_command_writes_records_table_and_picture_and_goes_on(tmp_path, capsys):
    options = ["munoz-ads", "--quick", "--draws", "2", "--workers", "1", "--out", str(tmp_path)]
    assert main([*options, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["rows"]) == 6
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {f"munoz-ads.{kind}" for kind in ("csv", "sqlite", "png", "manifest.json")}
    assert main(options) == 0
    assert "12 draws, 0 of them made now" in capsys.readouterr().out
