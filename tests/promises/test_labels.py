"""One person is one record, however the name is written: names are one, or they are refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.promises.adapter import (
    Envelope,
    RefusedError,
    errors,
    largest_record,
    private_cost,
    private_parameter,
    reloaded,
    table_database,
)

MIDNIGHT = "2024-01-31"
#: Names that a person may take for one, and that are not.
DOUBTFUL: dict[str, tuple[Any, Any]] = {
    "integer and text": (10, "10"),
    "whole float and text": (10.0, "10"),
    "float and text": (10.5, "10.5"),
    "numpy integer and text": (np.int64(10), "10"),
    "truth value and integer": (True, 1),
    "truth value and text": (False, "False"),
    "date and text": (dt.date(2024, 1, 31), MIDNIGHT),
    "time and text": (pd.Timestamp(MIDNIGHT), "2024-01-31 00:00:00"),
    "numpy time and text": (np.datetime64(MIDNIGHT), MIDNIGHT),
    "date and midnight": (dt.date(2024, 1, 31), dt.datetime(2024, 1, 31)),
    "time with a zone and without": (pd.Timestamp(MIDNIGHT), pd.Timestamp(MIDNIGHT, tz="UTC")),
    "duration and text": (dt.timedelta(days=1), "1 day, 0:00:00"),
    "inside tuples": (("ward", 10), ("ward", "10")),
    "truth value inside tuples": (("ward", True), ("ward", 1)),
}
#: Names that are one.
SAME: dict[str, tuple[Any, Any]] = {
    "integer and whole float": (10, 10.0),
    "integer of numpy": (10, np.int32(10)),
    "zeros": (0.0, -0.0),
    "precisions": (0.1, np.float32(0.1)),
    "truth value of numpy": (True, np.bool_(True)),
    "text of numpy": ("Acme", np.str_("Acme")),
    "white space": ("Acme", " Acme\t"),
    "normal forms": ("Zu\u0308rich", "Z\u00fcrich"),
    "times": (pd.Timestamp(MIDNIGHT), np.datetime64(MIDNIGHT)),
    "times of Python": (dt.datetime(2024, 1, 31), np.datetime64(MIDNIGHT, "ns")),
    "inside tuples": (("ward", 10), ("ward ", 10.0)),
}
MISSING = [None, float("nan"), np.float32("nan"), pd.NaT, np.datetime64("NaT")]


def ids(names: dict[str, Any], *, flat: bool = False) -> Any:
    """One test per pair of names; without those that have several parts, if they are to be flat."""
    chosen = {key: pair for key, pair in names.items() if not (flat and "tuples" in key)}
    return pytest.mark.parametrize("names", chosen.values(), ids=chosen)


@ids(DOUBTFUL)
def test_names_of_two_kinds_are_refused_wherever_they_stand(names: tuple[Any, Any]) -> None:
    one, other = names
    for owners in ([one, other], [other, one]):
        with pytest.raises(errors.InvalidArgumentError, match="one kind"):
            Envelope(0, 1, shape=2, records=owners)
        with pytest.raises(errors.InvalidArgumentError, match="one kind"):
            Envelope(0, 1, labels=owners)
        with pytest.raises(errors.InvalidArgumentError, match="one kind"):
            private_parameter(2, lower=0, upper=1, records=owners)
        table = pd.DataFrame({"upper": [1.0, 2.0], "who": pd.Series(owners, dtype=object)})
        with pytest.raises(errors.InvalidArgumentError, match="one kind"):
            Envelope.from_frame(table.rename_axis("row"), lower=0, radius=0.1, record="who")
        part = Envelope(0, 1, shape=1)
        with pytest.raises(errors.InvalidArgumentError, match="one kind"):
            Envelope.join({"x": part, "y": part}, records={"x": [owners[0]], "y": [owners[1]]})


@ids(DOUBTFUL, flat=True)
def test_groups_are_not_joined_by_a_level_that_is_written_in_two_ways(
    names: tuple[Any, Any],
) -> None:
    x, y = (Envelope(0, 1, labels={"who": [name]}) for name in names)
    with pytest.raises(errors.InvalidArgumentError, match="one kind"):
        Envelope.join({"x": x, "y": y}, records="who")


@ids(SAME)
def test_two_ways_to_write_a_name_are_one_record(names: tuple[Any, Any], tmp_path: Path) -> None:
    assert largest_record(Envelope(0, 1, shape=2, records=list(names))) == 2
    part = Envelope(0, 1, shape=1)
    owners = {"x": [names[0]], "y": [names[1]]}
    assert largest_record(Envelope.join({"x": part, "y": part}, records=owners)) == 2
    with pytest.raises(errors.InvalidArgumentError, match="distinct"):
        Envelope(0, 1, labels=list(names))
    one, other = (Envelope(0, 1, labels=[name]) for name in names)
    assert one == other
    assert reloaded(one, tmp_path / "one.npz") == other
    assert reloaded(other, tmp_path / "other.npz") == one


@ids(SAME, flat=True)
def test_a_private_table_is_read_by_either_way_to_write_a_label(names: tuple[Any, Any]) -> None:
    one, other = names
    envelope = Envelope(0, 1, labels=[one], name="value")
    table = pd.DataFrame({"value": [0.5]}, index=pd.Index([other], dtype=object))
    assert table_database(table, envelope).envelope == envelope


@ids(DOUBTFUL)
def test_a_private_table_with_labels_of_another_kind_is_refused(names: tuple[Any, Any]) -> None:
    one, other = names
    envelope = Envelope(0, 1, labels=[one], name="value")
    index = pd.Index([other], dtype=object, tupleize_cols=isinstance(other, tuple))
    with pytest.raises(RefusedError) as told:
        table_database(pd.DataFrame({"value": [0.5]}, index=index), envelope)
    assert told.value.__context__ is None


@pytest.mark.parametrize("name", MISSING, ids=lambda name: f"{type(name).__name__} {name}")
def test_what_is_missing_is_no_name(name: Any) -> None:
    other = pd.Timestamp(MIDNIGHT) if isinstance(name, type(pd.NaT) | np.datetime64) else 1.5
    for given in ([name, other], [("ward", name), ("ward", other)]):
        with pytest.raises(errors.InvalidArgumentError):
            Envelope(0, 1, shape=2, records=given)
        with pytest.raises(errors.InvalidArgumentError):
            Envelope(0, 1, labels=given)


@pytest.mark.parametrize("name", ["price ", "\tprice", "Zu\u0308rich"])
def test_names_of_groups_have_one_form(name: str) -> None:
    severity = Envelope(0, 1, shape=1)
    with pytest.raises(errors.InvalidArgumentError, match="normal form"):
        Envelope(0, 1, name=name)
    with pytest.raises(errors.InvalidArgumentError, match="normal form"):
        Envelope.join({name: severity})
    with pytest.raises(errors.InvalidArgumentError, match="normal form"):
        private_parameter(lower=0, upper=1, name=name)


def test_states_are_numbers_and_no_texts_or_truth_values() -> None:
    for states in (["5"], [5, "5"], [True], [5.5]):
        with pytest.raises(errors.InvalidArgumentError):
            private_cost(Envelope(0, 1, shape=len(states)), 1.0, states=states)
