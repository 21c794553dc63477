"""The private side: what it accepts, and what it never shows."""

import copy
import json
import pickle

import numpy as np
import pandas
import pytest

from dp_cmdp.envs import HazardGridEnv, Hazards, named_layout, parse_map
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from tests.marked import MARKS, leaks_from_error

LAYOUT = parse_map("S?.\n?.G", kinds=[{"severity": (0.0, 1.0), "tolerance": (0.5, 2.0)}])
SECRET = 0.7351


def test_hazards_are_placed_by_row_and_column():
    hazards = Hazards.place(LAYOUT, {(1, 0): 0.6}, tolerance=1.0)
    assert hazards.severity.tolist() == [0.0, 0.6]
    assert hazards.tolerance.tolist() == [1.0]
    assert hazards.database().values.tolist() == [0.0, 0.6, 1.0]
    assert hazards.database().envelope == LAYOUT.envelope()


@pytest.mark.parametrize(
    ("severities", "rule"),
    [
        ({(0, 2): SECRET}, "outside its public candidate cells"),
        ({(0, 4): SECRET}, "outside its public candidate cells"),
        ({(-1, 1): SECRET}, "outside its public candidate cells"),
        ({(0, 1): -SECRET}, "severity must lie inside the public bounds"),
        ({(0, 1): 1 + SECRET}, "severity must lie inside the public bounds"),
        ({(0, 1): float("nan")}, "severity must be finite"),
        ({3: SECRET}, r"\(row, column\)"),
        ({(1.7351, 0): 0.5}, "must be integers"),
        ({(True, 0): SECRET}, "must be integers"),
        ({("1", "0"): SECRET}, "must be integers"),
        ({(0, 1): True}, "no booleans"),
        ({(0, 1): str(SECRET)}, "no text"),
        ({(0, 1): None}, "real numbers"),
        ([{}, {}], "one mapping per hazard kind, 1; got 2"),
    ],
)
def test_bad_severities_are_refused_without_being_shown(severities, rule):
    with pytest.raises(InvalidArgumentError, match=rule) as caught:
        Hazards.place(LAYOUT, severities, tolerance=1.0)
    assert "7351" not in str(caught.value)


@pytest.mark.parametrize(
    "tolerance", [-1.0, 0.4, 2.1, float("inf"), [1.0, 1.0], "much", "1.0", True, [True]]
)
def test_a_tolerance_outside_its_bounds_is_refused(tolerance):
    with pytest.raises(InvalidArgumentError, match="tolerance"):
        Hazards.place(LAYOUT, {}, tolerance=tolerance)


def test_drawn_hazards_lie_in_the_envelope_and_depend_on_the_seed_alone():
    layout = named_layout("two_hazards")
    first, again, other = (Hazards.draw(layout, seed=seed) for seed in (5, 5, 6))
    envelope = layout.envelope()
    assert envelope.contains(first.database().values)
    assert np.array_equal(first.database().values, again.database().values)
    assert not np.array_equal(first.database().values, other.database().values)


@pytest.mark.parametrize("share", [0, 1])
def test_the_share_is_the_chance_that_a_candidate_is_hazardous(share):
    layout = named_layout("islands")
    hazards = Hazards.draw(layout, seed=0, share=share)
    assert np.count_nonzero(hazards.severity) == share * len(layout.candidates)


def test_the_paper_hazards_have_the_published_numbers():
    hazards = Hazards.of(named_layout("paper"), None)
    assert set(hazards.severity) <= {0.0, 0.6}
    assert 0.6 in hazards.severity
    assert hazards.tolerance.tolist() == [0.6]


def test_hazards_come_from_a_seed_a_file_or_themselves(tmp_path):
    path = tmp_path / "secret.json"
    kinds = {"hazard": {"severity": [[0, 1, SECRET]], "tolerance": 1.5}}
    path.write_text(json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds}))
    hazards = Hazards.of(LAYOUT, path)
    assert hazards.severity.tolist() == [SECRET, 0.0]
    assert Hazards.of(LAYOUT, str(path)).tolerance.tolist() == [1.5]
    assert Hazards.of(LAYOUT, hazards) is hazards
    drawn = Hazards.draw(LAYOUT, seed=4)
    assert np.array_equal(Hazards.of(LAYOUT, 4).severity, drawn.severity)


@pytest.mark.parametrize("source", [-7351, 0.7351, True, b"7351", ["7351"]])
def test_what_is_no_source_of_hazards_is_refused_unseen(source):
    with pytest.raises(InvalidArgumentError, match="an integer") as caught:
        Hazards.of(LAYOUT, source)
    assert "7351" not in str(caught.value)


def test_hazards_of_another_layout_are_refused():
    with pytest.raises(InvalidArgumentError, match="must belong to the layout"):
        Hazards.of(named_layout("rooms"), Hazards.draw(LAYOUT, seed=0))


@pytest.mark.parametrize(
    "text",
    [
        "not json 0.7351",
        "[]",
        '{"format": "other"}',
        '{"format": "dp_cmdp.Hazards/1", "kinds": {}}',
        '{"format": "dp_cmdp.Hazards/1", "kinds": {"hazard": {"severity": [[0, 0.7351]]}}}',
        '{"format": "dp_cmdp.Hazards/1", "kinds": {"hazard": {"severity": [[0, 2, 0.7351]],'
        ' "tolerance": 1}}}',
    ],
)
def test_a_damaged_hazard_file_is_refused_without_showing_its_content(text, tmp_path):
    path = tmp_path / "secret.json"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError) as caught:
        Hazards.load(LAYOUT, path)
    assert "7351" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def write_hazards(path, severity, **more):
    kinds = {"hazard": {"severity": severity, "tolerance": 1.5} | more.pop("hazard", {}), **more}
    path.write_text(json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds}))
    return path


@pytest.mark.parametrize(
    ("severity", "more", "rule"),
    [
        ([[0, 1, 0.5], [0, 1, SECRET]], {}, "each cell once"),
        ([[1.7351, 0, 0.5]], {}, "must be integers"),
        ([[0, "1", SECRET]], {}, "must be integers"),
        ([[False, 1, SECRET]], {}, "must be integers"),
        ([[0, 1, True]], {}, "no booleans"),
        ([[0, 1, str(SECRET)]], {}, "no text"),
        ([[0, 1, 10**400]], {}, "severity"),
        ([], {"hazard": {"tolerance": "1.7351"}}, "no text"),
        ([], {"hazard": {"tolerance": True}}, "no booleans"),
        ([], {"fire-7351": {"severity": [], "tolerance": 1}}, "names 1 more"),
    ],
)
def test_what_a_hazard_file_cannot_mean_is_refused_unseen(tmp_path, severity, more, rule):
    path = write_hazards(tmp_path / "secret.json", severity, **more)
    with pytest.raises(InvalidArgumentError, match=rule) as caught:
        Hazards.load(LAYOUT, path)
    assert "7351" not in str(caught.value)


def test_a_hazard_file_that_says_a_thing_twice_is_refused(tmp_path):
    path = tmp_path / "secret.json"
    kind = '"hazard": {"severity": [], "tolerance": 1}'
    path.write_text(f'{{"format": "dp_cmdp.Hazards/1", "kinds": {{{kind}, {kind}}}}}')
    with pytest.raises(InvalidArgumentError, match="damaged"):
        Hazards.load(LAYOUT, path)


def test_nothing_shows_or_pickles_hazards():
    hazards = Hazards.place(LAYOUT, {(0, 1): SECRET}, tolerance=1.0)
    assert "7351" not in repr(hazards) + str(hazards) + repr(hazards.database())
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(PrivacyLeakError):
            pickle.dumps(hazards, protocol)


def test_a_copy_inside_the_process_is_the_object_itself():
    hazards = Hazards.draw(LAYOUT, seed=0)
    assert copy.copy(hazards) is hazards
    assert copy.deepcopy({"a": [hazards]})["a"][0] is hazards


TWO = ["S12.", "?..G"]


def two_kinds():
    return parse_map(TWO, kinds=({"name": "mud"}, {"name": "ice", "severity": (0.0, 2.0)}))


def test_hazards_of_a_frame_or_a_file_are_those_placed_by_hand(tmp_path):
    layout = two_kinds()
    frame = pandas.DataFrame(
        {
            "kind": ["ice", "mud", "ice"],
            "row": [0, 1, 1],
            "col": [2, 0, 0],
            "severity": [1.5, 0.25, MARKS[0]],
        }
    )
    placed = Hazards.place(layout, [{(1, 0): 0.25}, {(0, 2): 1.5, (1, 0): MARKS[0]}],
                           tolerance=[0.6, 0.7])  # fmt: skip
    path = tmp_path / "hazards.csv"
    frame.to_csv(path, index=False)
    by_state = frame.assign(state=4 * frame["row"] + frame["col"]).drop(columns=["row", "col"])
    for source in (frame, path, str(path), by_state):
        hazards = Hazards.from_frame(layout, source, tolerance=[0.6, 0.7])
        assert np.array_equal(hazards.database().values, placed.database().values)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"kind": ["snow"]}, "of the kinds mud, ice"),
        ({"row": [7]}, "public candidates"),
        ({"severity": [9 + MARKS[0]]}, "public bounds, from 0 to 1"),
        ({"severity": ["high"]}, "finite numbers"),
        ({"severity": [None]}, "finite numbers"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_not_shown(change, rule):
    row = {"kind": ["mud"], "row": [1], "col": [0], "severity": [MARKS[0]]} | change
    with pytest.raises(InvalidArgumentError, match=rule) as error:
        Hazards.from_frame(two_kinds(), pandas.DataFrame(row), tolerance=[0.6, 0.7])
    assert leaks_from_error(error.value) == []


def test_bounds_in_messages_are_the_public_ones():
    with pytest.raises(
        InvalidArgumentError, match=r"mud: severity 0 to 1, tolerance 0\.5 to 1; ice"
    ):
        Hazards.from_frame(
            two_kinds(),
            pandas.DataFrame({"kind": [], "state": [], "severity": []}),
            tolerance=[3, 4],
        )
    with pytest.raises(InvalidArgumentError, match="from_frame"):
        Hazards.of(two_kinds(), "hazards.csv")


def test_a_text_of_several_lines_is_a_layout():
    text = """
        S.?
        ..G
    """
    assert HazardGridEnv(text).layout == parse_map(["S.?", "..G"])
    with pytest.raises(InvalidArgumentError, match="a map of several lines"):
        HazardGridEnv("S?G")
