"""What follows from a design of a grid, its maps, words, files and code."""

import csv
import re
from itertools import pairwise

import numpy as np
import pytest

from dp_cmdp.data.release import Release
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words, totals_of
from dp_cmdp.explorer.curve import (
    EPSILONS,
    LIMIT,
    MEAN,
    NOW,
    ROBUST,
    Curve,
    advice_sentence,
    chart,
    curve_point,
    limit_percent,
    politely,
)
from dp_cmdp.explorer.curve_files import curve_file
from dp_cmdp.explorer.files import GRID_FILES, grid_file
from dp_cmdp.explorer.grid_answer import (
    InventedGrid,
    answer_grid,
    episode,
    foresee_noise,
    grid_model,
    highest_costs,
    robust_of,
    saturation_share,
    spent,
    visits,
)
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.settings import next_stops, slider_place, slider_text
from dp_cmdp.explorer.snippets import grid_code
from dp_cmdp.explorer.words import (
    certificate_words,
    certified_cells,
    guarantee_words,
    limit_words,
    saturation_words,
)
from dp_cmdp.noise import optimal
from dp_cmdp.verification.files import verify

DESIGNS = {
    "islands": GridDesign(),
    "totals": GridDesign(layout="rooms", plan="totals", epsilon="4"),
    "two kinds": GridDesign(layout="two_hazards", radius=0.5),
    "drawn": GridDesign(layout="blank-5x5", hazards=())
    .clicked(7, "candidate")
    .clicked(7, "hazard"),
}


@pytest.fixture(scope="module", params=DESIGNS)
def case(request):
    design = DESIGNS[request.param]
    return design, answer_grid(design)


def test_the_private_policy_lies_between_robust_and_best_and_keeps_the_true_tolerance(case):
    _, found = case
    assert found.private.safe.certificate.verified
    assert found.private.robust.value <= found.private.safe.value + 1e-9
    assert found.private.safe.value <= found.best.upper_bound
    assert (found.true_costs <= found.tolerance).all()
    assert found.loss_percent is not None
    assert found.loss_percent >= 0


def test_the_code_does_what_the_page_shows(case):
    design, found = case
    made = {}
    exec(grid_code(design), made)  # what a user copies
    assert made["private"].safe.value == found.private.safe.value
    assert made["private"].robust.value == found.private.robust.value
    assert (made["private"].release.upper == found.private.release.upper).all()


def test_the_files_of_a_design_verify(case, tmp_path):
    _, found = case
    for name in GRID_FILES:
        content = grid_file(name, found.layout, found.model, found.private)
        (tmp_path / name).write_bytes(content)
    assert (tmp_path / "policy.png").read_bytes().startswith(b"\x89PNG")
    assert Release.load(tmp_path / "release.npz").secure is False
    report = verify(*(tmp_path / name for name in GRID_FILES[:3]))
    assert report is not None


def test_the_same_design_gives_the_same_answer_and_another_noise_another():
    first, again = answer_grid(GridDesign()), answer_grid(GridDesign())
    other = answer_grid(GridDesign(noise=1))
    assert (first.private.release.upper == again.private.release.upper).all()
    assert (first.private.release.upper != other.private.release.upper).any()


def test_a_moved_epsilon_leaves_what_does_not_depend_on_it():
    first = answer_grid(GridDesign(epsilon="2"))
    kept = [cached.cache_info().misses for cached in (robust_of, grid_model)]
    moved = answer_grid(GridDesign(epsilon="3"))
    assert [cached.cache_info().misses for cached in (robust_of, grid_model)] == kept
    assert moved.private.robust is first.private.robust
    assert moved.best is first.best
    assert moved.private.safe is not first.private.safe
    other = answer_grid(GridDesign(epsilon="3", tolerance=1.25))
    assert other.private.robust is not first.private.robust
    assert other.best is not first.best


def test_invented_hazards_that_moved_have_another_best_policy():
    first = answer_grid(GridDesign(hazards=()))
    cell = first.layout.kinds[0].cells[0]
    moved = answer_grid(GridDesign(hazards=()).clicked(cell, "hazard"))
    assert moved.best is not first.best
    assert moved.private.robust is first.private.robust


def test_the_noise_of_the_next_stops_is_at_hand():
    design = GridDesign(epsilon="5", delta="1/777")
    foresee_noise(design)
    known = optimal._optimal_weights.cache_info().misses
    for epsilon in next_stops("5", base=2):
        answer_grid(design.replace(epsilon=epsilon))
    assert optimal._optimal_weights.cache_info().misses == known
    answer_grid(design.replace(epsilon="6.6"))
    assert optimal._optimal_weights.cache_info().misses > known


def test_stops_of_a_slider_are_found_from_numbers_and_back():
    for place in np.arange(-3, 4, 0.125):
        assert slider_place(slider_text(place, base=2), base=2) == place
    assert next_stops("1/4", base=2) == ("0.229", "0.273")
    assert slider_place("lots", base=2) == 0


def test_the_grid_is_told_first_then_the_release_then_the_policies(case):
    design, found = case
    told = []
    answer_grid(design, tell=told.append)
    first, second = told
    assert first.release is None
    assert (second.release.upper == found.private.release.upper).all()
    for part in told:
        assert part.layout == found.layout
        assert (part.severity == found.severity).all()


def test_a_map_shows_one_bar_per_interval_and_no_truth_unless_given(case):
    _, found = case
    count = found.model.envelope.index("severity").size
    shown = map_svg.data_map(found.layout, release=found.private.release)
    assert shown.count(map_svg.RELEASED) >= count
    assert map_svg.TRUTH not in shown
    true = map_svg.data_map(found.layout, release=found.private.release, severity=found.severity)
    assert (map_svg.TRUTH in true) == bool((found.severity > 0).any())


def test_an_arrow_is_centred_and_as_long_as_its_action_is_likely(case):
    _, found = case
    policy = found.private.safe.policy
    drawn = map_svg.policy_map(found.layout, policy, visits=visits(found.model, policy))
    found_ends = re.findall(r"M(\S+) (\S+?)L(\S+?) ([\d.]+)", drawn)
    ends = [tuple(map(float, part)) for part in found_ends]
    shafts = [part for part in ends if part[0] == part[2] or part[1] == part[3]]
    lengths = np.zeros((found.layout.num_cells, 2))
    for x0, y0, x1, y1 in shafts:
        middle = (x0 + x1) / 2, (y0 + y1) / 2
        assert np.allclose(np.mod(middle, map_svg.CELL), map_svg.CELL / 2, atol=0.11)
        cell = map_svg.cell_at(found.layout, *middle)
        lengths[cell] += abs(x1 - x0), abs(y1 - y0)
    likely = np.where(policy.probs > 0.01, policy.probs, 0.0)
    likely[[*found.layout.walls, *found.layout.goals]] = 0.0
    along = np.column_stack([likely[:, 0] + likely[:, 2], likely[:, 1] + likely[:, 3]])
    assert np.allclose(lengths, 0.8 * map_svg.CELL * along, atol=0.5)


def test_cells_are_found_from_points_and_points_outside_are_cut():
    layout = GridDesign().grid()
    for cell in (0, 9, 55, 99):
        x, y = map_svg.corner(layout, cell)
        assert map_svg.cell_at(layout, x + 1, y + 1) == cell
    assert map_svg.cell_at(layout, -5, 1e6) == 90


def test_an_episode_follows_the_moves_of_the_grid_and_its_costs_add_up(case):
    _, found = case
    path = episode(found.layout, found.private.safe.policy, seed=3)
    assert path == episode(found.layout, found.private.safe.policy, seed=3)
    for here, there in pairwise(path):
        assert there in {found.layout.neighbour(here, action) for action in range(4)}
    told = spent(found.layout, path, found.severity)
    assert len(told) == len(path)
    weights = found.layout.gamma ** np.arange(len(path) - 1)
    due = (weights * found.severity[:, list(path[:-1])]).sum(axis=1).max()
    assert told[-1][1] == pytest.approx(due)


def test_costs_without_a_release_are_the_public_worst(case):
    _, found = case
    public, released = (
        highest_costs(found.layout, None),
        highest_costs(found.layout, found.private.release),
    )
    assert (released <= public).all()
    assert (found.severity <= released).all()


def test_words_name_the_constraint_and_say_whether_it_is_proved(case):
    _, found = case
    told = certificate_words(found.private.safe, found.model.names, release=True)
    assert len(told) == len(found.model.names) + 1
    assert all(name in text for name, text in zip(found.model.names, told, strict=False))
    assert "certainty" in told[-1]
    assert "not to be used for real data" in guarantee_words(found.private.release)
    share = saturation_share(found.model, found.private.release)
    assert 0 <= share <= 1
    assert saturation_words(share).startswith("Saturation")


def test_a_table_never_shows_a_cost_above_its_tolerance_for_a_policy_that_is_safe(case):
    _, found = case
    cells = [part.split(", ") for part in certified_cells(found.private.safe)]
    for cost, limit in zip(*cells, strict=True):
        assert cost == "≤ tolerated" or float(cost) <= float(limit)


@pytest.mark.parametrize(("share", "word"), [(0.0, "no intervals"), (0.4, "40 %"), (1.0, "all")])
def test_saturation_in_words(share, word):
    assert word in saturation_words(share)


@pytest.mark.parametrize(("found", "word"), [(None, "No limit"), (0.0, "open"), (3.0, "3 %")])
def test_the_limit_in_words(found, word):
    assert word in limit_words(1.0, found)


def test_a_cell_in_words_says_the_truth_only_where_it_is_given():
    design = GridDesign()
    found = answer_grid(design)
    cell = found.layout.kinds[0].cells[0]
    release = found.private.release
    assert "invented" in cell_words(found.layout, cell, release=release, severity=found.severity)
    assert "invented" not in cell_words(found.layout, cell, release=release, severity=None)
    assert "released" not in cell_words(found.layout, cell, release=None, severity=None)
    assert "start" in cell_words(found.layout, 0, release=None, severity=None)
    assert "goal" in cell_words(found.layout, 99, release=None, severity=None)
    rooms = GridDesign(layout="rooms").grid()
    assert "wall" in cell_words(rooms, rooms.walls[0], release=None, severity=None)


def test_totals_are_told_with_the_cells_that_they_weigh():
    found = answer_grid(DESIGNS["totals"])
    told = totals_of(found.layout, found.private.release)
    assert found.private.release.totals is not None
    assert len(told) == len(found.private.release.totals)
    for text, weights in told:
        assert "at most" in text
        assert set(weights) <= set(found.layout.candidates)
    assert totals_of(found.layout, answer_grid(GridDesign()).private.release) == []


def test_the_curve_the_limit_and_the_adviser():
    design = InventedGrid(GridDesign(layout="rooms", epsilon="1"))
    low, high = (politely_point(design, epsilon) for epsilon in (EPSILONS[0], EPSILONS[-1]))
    assert high.loss < low.loss <= design.robust_loss() + 1e-9
    limit = limit_percent(design)
    assert limit is not None
    assert limit <= curve_point(design, "1", None).high
    assert "ε" in advice_sentence(design) or "robust" in advice_sentence(design)
    points = {EPSILONS[0]: low, EPSILONS[-1]: high}
    curve = Curve(points, design.robust_loss(), {1.0: limit}, now=(1.0, 2.0))
    options = chart(curve)
    names = [part["name"] for part in options["series"]]
    assert names == options["legend"]["data"]
    assert "this release" in names
    rows = list(csv.DictReader(curve_file("curve.csv", curve).decode().splitlines()))
    assert {row["line"] for row in rows} == {MEAN, ROBUST, LIMIT, NOW}
    means = [row for row in rows if row["line"] == MEAN]
    assert [float(row["cost_of_privacy_percent"]) for row in means] == [low.loss, high.loss]
    assert [float(row["ci_high"]) for row in means] == [low.high, high.high]
    assert curve_file("curve.png", curve).startswith(b"\x89PNG")


def politely_point(design, epsilon):
    return curve_point(design, epsilon, None)


def test_what_may_wait_runs_with_low_priority():
    import subprocess
    import sys

    code = (
        "import os; from dp_cmdp.explorer.curve import politely; politely(print, 'done'); "
        "politely(print, os.getpriority(os.PRIO_PROCESS, 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "done"
    assert int(done.stdout.split()[1]) >= 15
    assert politely.__doc__
