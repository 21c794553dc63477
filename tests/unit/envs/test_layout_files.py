"""Layouts as files."""

import json

import pytest

from dp_cmdp.envs import (
    HazardKind,
    Layout,
    layout_names,
    load_layout,
    named_layout,
    parse_map,
    save_layout,
)
from dp_cmdp.envs.layout_files import FORMAT, format_map
from dp_cmdp.errors import InvalidArgumentError


def write(path, **changes):
    content = {"format": FORMAT, "map": ["S?", ".G"], **changes}
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", layout_names())
def test_a_saved_layout_is_read_back_equal(name, tmp_path):
    layout = named_layout(name)
    assert load_layout(save_layout(layout, tmp_path / "layout.json")) == layout


def test_what_a_map_cannot_show_survives_a_file_too(tmp_path):
    layout = Layout(
        rows=2,
        cols=3,
        start={0: 0.25, 1: 0.75},
        goals=[5],
        kinds=[
            HazardKind(name="a", cells=[0, 2]),
            HazardKind(name="b", cells=[2, 3]),
            HazardKind(name="c", cells=[4]),
        ],
        name="overlapping",
    )
    assert load_layout(save_layout(layout, tmp_path / "layout.json")) == layout


def test_a_text_map_is_read_from_a_file(tmp_path):
    path = tmp_path / "yard.txt"
    path.write_text("S?.\n.#G\n")
    layout = load_layout(path)
    assert layout.name == "yard"
    assert format_map(layout) == "S?.\n.#G"


def test_digits_mark_the_candidates_of_one_kind_and_question_marks_of_all():
    layout = parse_map("S12\n?.G", kinds=[{"name": "fire"}, {"name": "flood"}])
    assert [kind.cells for kind in layout.kinds] == [(1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("S?.\n.G", "line 2: every row must have the width of the first, 3; this one has 2"),
        ("S?.\n.xG", "line 2, column 2: a cell must be one of #.SG\\?1; got 'x'"),
        ("S?2\n..G", "line 1, column 3"),
        ("", "at least one row"),
    ],
)
def test_a_malformed_map_is_refused_with_its_line_and_column(text, place, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=f"broken.txt.*{place}"):
        load_layout(path)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"format": "other"}, "format"),
        ({"map": "S?G"}, '"map" must be a list of rows'),
        ({"map": ["S?", 3]}, "every row must be a text"),
        ({"severities": [0.6]}, "'severities' is no public fact"),
        ({"kinds": [{"values": [0.6]}]}, "'values' is no public fact"),
        ({"kinds": {}}, '"kinds" must be a list'),
        ({"kinds": []}, "hazard kinds"),
        ({"kinds": [{"cells": [[0, 9]]}]}, "column"),
        ({"kinds": [{"severity": "high"}]}, "severity"),
        ({"start": [[0, 0]]}, "row, column, probability"),
        ({"start": 5}, "row, column, probability"),
        ({"gamma": 1}, "gamma must be below 1"),
        ({"slip": 2}, "slip"),
    ],
)
def test_a_malformed_json_layout_is_refused_with_the_rule_and_the_file(changes, rule, tmp_path):
    with pytest.raises(InvalidArgumentError, match=rule) as caught:
        load_layout(write(tmp_path / "broken.json", **changes))
    assert "broken.json" in str(caught.value)


def test_broken_json_is_refused_with_its_line_and_column(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"format":\n oops}')
    with pytest.raises(InvalidArgumentError, match=r"broken.json, line 2, column 2: not JSON"):
        load_layout(path)


@pytest.mark.parametrize("name", ["missing.json", "missing.txt", "."])
def test_a_missing_or_unreadable_file_is_refused(name, tmp_path):
    with pytest.raises(InvalidArgumentError, match="readable text file"):
        load_layout(tmp_path / name)


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "noise.txt"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InvalidArgumentError, match="readable text file"):
        load_layout(path)
