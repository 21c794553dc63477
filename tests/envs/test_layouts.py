"""Layouts: what is public of a grid is checked once, and survives files."""

import json

import pytest

import dp_cmdp as dp
from dp_cmdp.envs import (
    GridModel,
    HazardGridEnv,
    HazardKind,
    Layout,
    as_layout,
    layout_names,
    load_layout,
    named_layout,
    parse_map,
    random_layout,
    save_layout,
)
from dp_cmdp.envs.layout_files import FORMAT, format_map, layout_to_dict
from dp_cmdp.errors import InvalidArgumentError

SMALL = "S.?\n.#.\n..G"
LEFT, DOWN, RIGHT, UP = range(4)


def small(**change):
    return parse_map(SMALL, **change)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"slip": 1.5}, "slip"),
        ({"gamma": 1.0}, "gamma must be below 1"),
        ({"step_reward": "much"}, "step_reward"),
        ({"start": 4}, "start must not lie in a wall; found row 1, column 1"),
        ({"start": 8}, "start must not be a goal"),
        ({"start": {0: 0.5}}, "sum to 0.5"),
    ],
)
def test_a_layout_that_breaks_a_rule_is_refused_by_name(change, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        small(**change)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("S?#G\n..#.", "reach a goal"),
        ("S?..", "goals must name at least one cell"),
        ("S..G", "at least one candidate cell"),
        ("S.G\n###\n.?.", r"within reach of the start.*found row"),
        ("S?.\n.G", "line 2: every row must have the width of the first, 3; this one has 2"),
        ("S?.\n.xG", r"line 2, column 2: a cell must be one of #\.SG\?1; got 'x'"),
    ],
)
def test_a_map_that_is_no_grid_is_refused_with_the_place(text, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        parse_map(text)


@pytest.mark.parametrize("cells", [[8], [4], [9], [2, 2], [-1]])
def test_candidates_must_be_different_free_cells_of_the_grid(cells):
    with pytest.raises(InvalidArgumentError):
        Layout(rows=3, cols=3, walls=[4], start=0, goals=[8], kinds=[HazardKind(cells=cells)])


@pytest.mark.parametrize(
    "change",
    [
        {"severity": (-0.1, 1.0)},
        {"severity": (0.5, 0.5)},
        {"severity": (0.0, 1.0), "severity_radius": 2.0},
        {"limit": (-1.0, 1.0)},
        {"name": ""},
    ],
)
def test_bounds_and_radii_of_a_kind_are_checked(change):
    with pytest.raises(InvalidArgumentError):
        HazardKind(cells=[2], **change)


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("name", layout_names())
def test_a_saved_layout_is_read_back_equal(name, tmp_path):
    layout = named_layout(name)
    assert load_layout(save_layout(layout, tmp_path / "layout.json")) == layout


def test_a_layout_is_taken_from_a_name_a_mapping_a_path_a_map_or_itself(tmp_path):
    layout = named_layout("rooms")
    path = tmp_path / "yard.txt"
    path.write_text("S?.\n.#G\n")
    assert as_layout("rooms") == as_layout(layout) == as_layout(layout_to_dict(layout)) == layout
    assert as_layout(str(path)) == as_layout(path)
    assert as_layout(path).name == "yard"
    assert format_map(as_layout(path)) == "S?.\n.#G"
    text = """
        S.?
        ..G
    """
    assert HazardGridEnv(text).layout == parse_map(["S.?", "..G"])
    for wrong in ("atlantis", "S?G", "missing.json", 3):
        with pytest.raises(InvalidArgumentError, match="layout must"):
            as_layout(wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"format": "dp_cmdp.Layout/1"}, "format"),
        ({"map": "S?G"}, '"map" must be a list of rows'),
        ({"severities": [0.6]}, "'severities' is no field of a layout"),
        ({"kinds": [{"cells": [[0, 9]]}]}, "column"),
        ({"start": [[0, 0]]}, "row, column, probability"),
    ],
)
def test_a_malformed_file_is_refused_with_the_rule_and_the_file(changes, rule, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"format": FORMAT, "map": ["S?", ".G"], **changes}))
    with pytest.raises(InvalidArgumentError, match=rule) as caught:
        load_layout(path)
    assert "broken.json" in str(caught.value)


def test_a_file_that_is_no_json_or_no_text_is_refused(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"format":\n oops}')
    with pytest.raises(InvalidArgumentError, match=r"broken.json, line 2, column 2: not JSON"):
        load_layout(path)
    (tmp_path / "noise.txt").write_bytes(b"\xff\xfe\x00\x81")
    for name in ("noise.txt", "missing.txt", "."):
        with pytest.raises(InvalidArgumentError, match="readable text file"):
            load_layout(tmp_path / name)


# ----------------------------------------------------------------------------------------- layouts


@pytest.mark.parametrize("name", layout_names())
def test_every_named_layout_has_a_robust_policy(name):
    assert dp.answer(GridModel(named_layout(name)).parametric()).certificate.verified


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kinds", [1, 2])
def test_random_layouts_have_robust_policies_and_are_determined_by_their_seed(seed, kinds):
    drawn = {"seed": seed, "kinds": kinds, "wall_density": 0.15, "density": 0.4}
    layout = random_layout(8, **drawn)
    assert layout == random_layout(8, **drawn)
    assert dp.answer(GridModel(layout).parametric()).certificate.verified


def test_the_paper_layout_has_the_published_bounds():
    (kind,) = named_layout("paper").kinds
    assert (kind.severity[1], kind.limit[0]) == (0.9, 0.3)
    assert kind.severity_radius == kind.limit_radius == 0.1


# ---------------------------------------------------------------------------------------- dynamics


def test_a_slip_goes_half_to_each_side():
    model = GridModel(parse_map("...\n.S?\n..G", slip=0.3))
    row = model.T[[4 * 4 + RIGHT]].toarray()[0]
    assert row.tolist() == pytest.approx([0, 0.15, 0, 0, 0, 0.7, 0, 0.15, 0])


def test_walls_and_borders_keep_the_agent_in_place():
    model = GridModel(parse_map("S#\n?G", slip=0.2))
    assert model.T[[UP]].toarray()[0].tolist() == pytest.approx([1.0, 0, 0, 0])
    assert model.T[[DOWN]].toarray()[0].tolist() == pytest.approx([0.2, 0, 0.8, 0])


def test_the_reward_of_a_pair_counts_the_chance_of_entering_the_goal():
    model = GridModel(parse_map("...\n.S?\n..G", slip=0.3, step_reward=-2.0, goal_reward=10.0))
    assert model.r[7, RIGHT] == pytest.approx(-2.0 + 10.0 * 0.7)
    assert model.r[7, DOWN] == pytest.approx(-2.0 + 10.0 * 0.15)
    assert model.r[0, RIGHT] == -2.0


def test_private_numbers_stand_in_the_row_of_their_kind_at_their_cell():
    kinds = [
        {"name": "mud", "severity": (0.0, 1.0), "severity_radius": 0.1, "limit": (0.5, 1.0)},
        {"name": "ice", "severity": (0.0, 2.0), "severity_radius": 0.2, "limit": (0.7, 1.4)},
    ]
    grid = GridModel(parse_map("S1?\n.2G", kinds=kinds))
    model = grid.parametric()
    envelope = model.envelope
    groups = [(group.name, group.size) for group in envelope.groups]
    assert groups == [("mud.cost", 2), ("mud.limit", 1), ("ice.cost", 2), ("ice.limit", 1)]
    assert envelope.upper.tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 1.4]
    assert envelope.radius.tolist() == pytest.approx([0.1, 0.1, 0.5, 0.2, 0.2, 0.7])
    truth = model.at([0.1, 0.2, 0.6, 0.3, 0.4, 0.8])
    assert truth.cost[:, :, 0].tolist() == [[0, 0.1, 0.2, 0, 0, 0], [0, 0, 0.3, 0, 0.4, 0]]
    assert truth.limit.tolist() == [0.6, 0.8]
    assert not truth.r[5].any()
    assert grid.cost_table().tolist() == [[0, 1, 1, 0, 0, 0], [0, 0, 2, 0, 2, 0]]
