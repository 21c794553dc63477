"""Layouts: public facts, checked once."""

import copy
import pickle

import numpy as np
import pytest

from dp_cmdp.envs import HazardKind, Layout, parse_map
from dp_cmdp.errors import InvalidArgumentError

SMALL = "S.?\n.#.\n..G"


def small(**facts):
    return parse_map(SMALL, **facts)


def test_cells_are_numbered_row_by_row():
    layout = small()
    assert layout.cell(2, 1) == 7
    assert layout.walls == (4,)
    assert layout.goals == (8,)
    assert layout.kinds[0].cells == (2,)
    assert layout.starts == ((0, 1.0),)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, {0: 1.0}),
        ([0, 6], {0: 0.5, 6: 0.5}),
        ({0: 0.25, 1: 0.75}, {0: 0.25, 1: 0.75}),
        ([(0, 0.25), (1, 0.75)], {0: 0.25, 1: 0.75}),
    ],
)
def test_a_start_may_be_a_cell_several_cells_or_a_distribution(start, expected):
    mu = small(start=start).mu
    assert mu.sum() == pytest.approx(1.0)
    assert {int(cell): mu[cell] for cell in np.flatnonzero(mu)} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"slip": 1.5}, "slip"),
        ({"slip": -0.1}, "slip"),
        ({"slip": float("nan")}, "slip"),
        ({"gamma": 1.0}, "gamma must be below 1"),
        ({"gamma": -0.5}, "gamma"),
        ({"step_reward": "much"}, "step_reward"),
        ({"goal_reward": float("inf")}, "goal_reward"),
        ({"start": 4}, "start must not lie in a wall; found row 1, column 1"),
        ({"start": 8}, "start must not be a goal"),
        ({"start": 9}, "start"),
        ({"start": {0: 0.5}}, "sum to 0.5"),
        ({"start": {0: -0.5, 1: 1.5}}, "start"),
        ({"start": []}, "start"),
    ],
)
def test_a_fact_that_breaks_a_rule_is_refused_by_name(facts, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        small(**facts)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("S?#G\n..#.", "reach a goal"),
        ("S?..", "goals must name at least one cell"),
        ("..?G", "start"),
        ("S..G", "at least one candidate cell"),
    ],
)
def test_a_map_without_a_way_a_goal_a_start_or_a_candidate_is_refused(text, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        parse_map(text)


@pytest.mark.parametrize("cells", [[8], [4], [9], [2, 2], [-1]])
def test_candidates_must_be_different_free_cells_of_the_grid(cells):
    with pytest.raises(InvalidArgumentError):
        Layout(rows=3, cols=3, walls=[4], start=0, goals=[8], kinds=[HazardKind(cells=cells)])


@pytest.mark.parametrize("text", ["S.G\n###\n.?.", "S.#?G\n..G##", "SG?\n.##"])
def test_a_candidate_that_nobody_can_meet_is_refused(text):
    with pytest.raises(InvalidArgumentError, match=r"within reach of the start.*found row"):
        parse_map(text)


@pytest.mark.parametrize(
    "facts",
    [
        {"severity": (-0.1, 1.0)},
        {"severity": (0.5, 0.5)},
        {"severity": (0.0, 1.0), "severity_radius": 2.0},
        {"severity_radius": 0.0},
        {"tolerance": (-1.0, 1.0)},
        {"tolerance": 3.0},
        {"tolerance_radius": 9.0},
        {"name": ""},
    ],
)
def test_bounds_and_radii_of_a_kind_are_checked(facts):
    with pytest.raises(InvalidArgumentError):
        HazardKind(cells=[2], **facts)


def test_the_radius_is_the_whole_range_unless_stated():
    kind = HazardKind(cells=[2], severity=(0.25, 1.0), tolerance=(0.5, 2.0))
    assert kind.severity_radius == 0.75
    assert kind.tolerance_radius == 1.5


def test_the_envelope_holds_severities_kind_by_kind_and_then_tolerances():
    layout = parse_map(
        "S1?\n.2G",
        kinds=[
            {"severity": (0.0, 1.0), "severity_radius": 0.1, "tolerance": (0.5, 1.0)},
            {"severity": (0.0, 2.0), "severity_radius": 0.2, "tolerance": (0.7, 1.4)},
        ],
    )
    envelope = layout.envelope()
    assert envelope.groups == (("severity", (4,)), ("tolerance", (2,)))
    assert envelope.upper.tolist() == [1.0, 1.0, 2.0, 2.0, 1.0, 1.4]
    assert envelope.lower.tolist() == [0.0, 0.0, 0.0, 0.0, 0.5, 0.7]
    assert envelope.radius.tolist() == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.5, 0.7])


def test_layouts_of_equal_kinds_have_equal_envelopes():
    assert small().envelope() == small(slip=0.3).envelope()


def test_a_layout_is_a_value():
    layout = small()
    assert layout == small()
    assert hash(layout) == hash(small())
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.deepcopy(layout) == layout
    assert layout.replace(slip=0.5).slip == 0.5
    with pytest.raises(AttributeError):
        layout.slip = 0.5  # pyright: ignore[reportAttributeAccessIssue]


def test_steps_into_walls_and_borders_stay():
    layout = small()
    assert layout.neighbour(0, 0) == 0
    assert layout.neighbour(0, 3) == 0
    assert layout.neighbour(1, 1) == 1
    assert layout.neighbour(0, 1) == 3
    assert layout.neighbour(0, 2) == 1
