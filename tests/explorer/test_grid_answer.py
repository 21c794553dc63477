"""What follows from a design of a grid, its maps, words, files and code."""

import csv
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.curve import (
    EPSILONS,
    LIMIT,
    MEAN,
    NOW,
    ROBUST,
    Curve,
    chart,
    curve_file,
)
from dp_cmdp.explorer.episodes import cost_table, episode, places_of, running_sums
from dp_cmdp.explorer.files import GRID_FILES, answer_file
from dp_cmdp.explorer.grid_design import MOST_STEPS, GridDesign
from dp_cmdp.explorer.invented import advice_on, answer_to, curve_point, limit_percent
from dp_cmdp.explorer.snippets import grid_code
from dp_cmdp.explorer.words import (
    advice_words,
    certificate_words,
    certified_cells,
)

DESIGNS = {
    "islands": GridDesign(),
    "queries": GridDesign(layout="rooms", strategy="queries", epsilon="4"),
    "two kinds": GridDesign(layout="two_hazards", radius=0.5),
    "episode": GridDesign(layout="corridor", horizon=30, strategy="entries"),
    "drawn": GridDesign(layout="blank-5x5", hazards=())
    .clicked(7, "candidate")
    .clicked(7, "hazard"),
}


@pytest.fixture(scope="module", params=DESIGNS)
def case(request):
    design = DESIGNS[request.param]
    return design, answer_to(design)


def test_the_private_policy_lies_between_robust_and_best_and_keeps_the_true_limit(case):
    design, found = case
    assert found.private.certificate
    private, robust, best = found.values
    assert robust - 1e-9 <= private <= best + 1e-6
    judged = dp.evaluate(design.problem().at(found.truth), found.private.policy)
    assert (judged.slack >= 0).all()
    assert 0 <= found.loss <= found.robust_loss + 1e-9


def test_the_code_does_what_the_page_shows(case):
    design, found = case
    made = {}
    exec(grid_code(design), made)  # what a user copies
    assert made["found"].value == found.private.value
    assert made["found"].robust.value == found.private.robust.value
    assert (made["found"].release.upper == found.private.release.upper).all()


def test_the_files_of_a_design_verify(case, tmp_path):
    design, found = case
    for name in GRID_FILES:
        (tmp_path / name).write_bytes(answer_file(name, found.private))
    assert (tmp_path / "policy.png").read_bytes().startswith(b"\x89PNG")
    report = dp.verify(tmp_path, problem=design.problem())
    wrong = [finding for finding in report.findings if finding.holds is False]
    assert [finding.claim for finding in wrong] == ["its noise is exact"]  # it is simulated
    assert dp.envs.load_layout(tmp_path / "layout.json") == design.grid()


def test_the_same_design_gives_the_same_answer_and_another_noise_another():
    designs = GridDesign(), GridDesign(), GridDesign(noise=1)
    releases = [answer_to(design).private.release for design in designs]
    first, again, other = ([part.integers for part in each.outcomes] for each in releases)
    assert first == again
    assert first != other


def test_a_map_shows_one_bar_per_interval_and_no_truth_unless_given(case):
    design, found = case
    places, release = places_of(design.grid()), found.private.release
    count = sum(len(kind.cells) for kind in design.grid().kinds)
    shown = map_svg.data_map(places, release=release)
    assert shown.count(f'fill="{map_svg.RELEASED}"') >= count
    assert f'fill="{map_svg.TRUTH}"' not in shown
    true = map_svg.data_map(places, release=release, truth=found.truth)
    table = cost_table(design.grid(), found.truth)
    assert (f'fill="{map_svg.TRUTH}"' in true) == bool((table > 0).any())


def test_an_episode_follows_the_moves_of_the_grid_and_its_costs_add_up(case):
    design, found = case
    layout, policy = design.grid(), found.private.policy
    path = episode(layout, policy, seed=3)
    assert path == episode(layout, policy, seed=3)
    for here, there in pairwise(path):
        assert there in {layout.neighbour(here, action) for action in range(4)}
    costs = cost_table(layout, found.truth)
    gamma = layout.gamma if design.horizon is None else 1.0
    sums = running_sums(layout, path, costs, gamma=gamma)
    assert len(sums) == len(path) <= (design.horizon or MOST_STEPS) + 1
    weights = gamma ** np.arange(len(path) - 1)
    due = (weights * costs[:, list(path[:-1])]).sum(axis=1).max(initial=0.0)
    assert sums[-1][1] == pytest.approx(due)


def test_a_table_never_shows_a_cost_above_its_limit_for_a_policy_that_is_safe(case):
    _, found = case
    cells = [part.split(", ") for part in certified_cells(found.private)]
    for cost, limit in zip(*cells, strict=True):
        assert cost == "≤ limit" or float(cost) <= float(limit)


def test_what_is_proved_names_the_sum(case):
    design, found = case
    summed = "discounted cost" if design.horizon is None else "cost per episode"
    assert summed in certificate_words(found.private)[0]


def test_a_cell_in_words_says_the_truth_only_where_it_is_given():
    found = answer_to(GridDesign())
    places, release = places_of(GridDesign().grid()), found.private.release
    cell = places.kinds[0].cells[0]
    assert "invented" in cell_words(places, cell, release=release, truth=found.truth)
    assert "invented" not in cell_words(places, cell, release=release)
    assert "released" not in cell_words(places, cell, release=None)
    assert "start" in cell_words(places, 0, release=None)
    assert "goal" in cell_words(places, 99, release=None)
    rooms = places_of(GridDesign(layout="rooms").grid())
    assert "wall" in cell_words(rooms, rooms.walls[0], release=None)


def test_the_curve_the_limit_and_the_adviser():
    design = GridDesign(layout="rooms", epsilon="1", strategy="entries")
    low, high = (curve_point(design, epsilon) for epsilon in (EPSILONS[0], EPSILONS[-1]))
    assert high.loss < low.loss <= low.robust + 1e-9
    limit = limit_percent(design)
    assert limit is not None
    assert limit <= curve_point(design, "1").high
    assert "Half of it takes ε" in advice_words(*advice_on(design.problem(), "1", "1/1000"))
    curve = Curve({EPSILONS[0]: low, EPSILONS[-1]: high}, {1.0: limit}, now=(1.0, 2.0))
    options = chart(curve)
    names = [part["name"] for part in options["series"]]
    assert names == options["legend"]["data"]
    assert "this release" in names
    rows = list(csv.DictReader(curve_file("curve.csv", curve).decode().splitlines()))
    assert {row["line"] for row in rows} == {MEAN, ROBUST, LIMIT, NOW}
    means = [row for row in rows if row["line"] == MEAN]
    assert [float(row["loss_percent"]) for row in means] == [low.loss, high.loss]
    assert [float(row["high"]) for row in means] == [low.high, high.high]
    assert curve_file("curve.png", curve).startswith(b"\x89PNG")


def test_the_shown_release_is_the_simulators_own():
    """The page, the curve and a user's call of `dp.simulate` cannot contradict each other."""
    design = DESIGNS["queries"]
    asked: dict[str, Any] = {
        "epsilon": design.epsilon,
        "delta": design.delta,
        "strategy": design.strategy,
    }
    runs = dp.simulate(design.problem(), design.values(), **asked, draws=6, seed=design.noise)
    assert 100 * runs.to_frame()["loss"][0] == answer_to(design).loss
    point = curve_point(design, design.epsilon)
    assert point.loss == pytest.approx(100 * runs.to_frame()["loss"].mean())
