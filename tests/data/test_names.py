"""One person is one record, however the name is written: names are one, or they are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dp_cmdp as dp
from dp_cmdp._src.base.documents import read_document, write_document
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope


def largest(envelope: Envelope) -> int:
    """How many entries the record has that has most."""
    return int(np.diff(envelope.change.indptr).max())


def reread(envelope: Envelope, folder: Path) -> Envelope:
    """An envelope that was in a file."""
    path = write_document(folder / "envelope.npz", "envelope", envelope.document())
    return Envelope.from_document(read_document(path)[2])


@pytest.mark.parametrize(
    "name", [object(), [1], {1}, Decimal("nan"), Decimal(1), 1j, frozenset({1}), int, ("p", ())]
)
def test_names_are_texts_numbers_and_times(name: Any) -> None:
    """Others may equal nothing but themselves: one person would be several records."""
    owners = np.empty(2, dtype=object)
    owners[:] = [name, name]
    with pytest.raises(InvalidArgumentError, match="names of records must"):
        Envelope(0, 1, shape=2, records=owners)


# ---------------------------------------------------------------------------------------- records

GOOD: dict[str, Any] = {
    "texts": ["ann", "bob", "ann"],
    "numpy texts": np.array(["ann", "bob", "ann"]),
    "series": pd.Series(["ann", "bob", "ann"], index=[7, 8, 9]),
    "categories": pd.Categorical(["ann", "bob", "ann"]),
    "index": pd.Index(["ann", "bob", "ann"]),
    "text of pandas": pd.array(["ann", "bob", "ann"], dtype="string"),
    "floats": [0.5, 1.5, 0.5],
    "truth values": [True, False, True],
    "whole floats": [10.0, 11, 10],
    "integers": [7, 9, 7],
    "large integers": [10**15, 5, 10**15],
    "pairs": [("p", 1.0), ("p", 2), ("p", 1)],
    "pairs in pairs": [("p", ("q", 1)), ("p", ("q", 2)), ("p", ("q", 1.0))],
    "outer tuple": ("ann", "bob", "ann"),
    "times": pd.to_datetime(["2024", "2025", "2024"]),
    "numpy times": np.array(["2024", "2025", "2024"], dtype="datetime64[s]"),
    "units of time": [np.datetime64("2024", "ns"), np.datetime64("2025"), np.datetime64("2024")],
}


@pytest.mark.parametrize("kind", GOOD)
def test_records_have_names_of_any_plain_kind(kind: str) -> None:
    def owners(envelope: Envelope) -> Any:
        assert envelope.owners is not None
        return [envelope.owners[0] == k for k in envelope.owners]

    part = Envelope(0.0, 1.0, shape=3)
    assert owners(Envelope(0.0, 1.0, shape=3, records=GOOD[kind])) == [True, False, True]
    both = Envelope.join({"x": part, "y": part}, records={"x": GOOD[kind], "y": GOOD[kind]})
    assert owners(both) == [True, False, True] * 2
    table: Any = pd.DataFrame({"upper": [1.0] * 3}, index=["a", "b", "c"])
    column = pd.Series(list(GOOD[kind]), index=table.index)
    made = Envelope.from_frame(table.assign(who=column), lower=0, radius=0.1, record="who")
    assert owners(made) == [True, False, True]


@pytest.mark.parametrize(
    ("owners", "shape", "named"),
    [
        (["ann", "bob"], (3,), r"records\['x'\] must broadcast to the shape \(3,\) of .* 'x'"),
        ([["ann"], ["bob", "cid"]], (2, 2), "rows of one length"),
        ((("ann", "ann"), ("bob", "bob")), (2, 2), "where tuples are names"),
        ([("ann", "ann")], (2,), "where tuples are names"),
        ([-1, 0, 1], (3,), r"records\['x'\] must hold integers"),
        ({"ann": 0}, (1,), "must be a list or array"),
        ({"ann", "bob"}, (2,), "must be a list or array"),
        (pd.DataFrame({"who": ["ann"]}), (1,), "got a table"),
        (object(), (1,), "must be a list or array"),
    ],
)
def test_names_that_do_not_fit_are_refused_by_their_group(
    owners: Any, shape: Any, named: str
) -> None:
    groups = {"x": Envelope(0.0, 1.0, shape=shape), "y": Envelope(0, 1)}
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope.join(groups, records={"x": owners, "y": ["ann"]})


def test_names_are_nested_and_broadcast_as_integers_are() -> None:
    def owners(given: Any) -> list[Any]:
        found = Envelope(0.0, 1.0, shape=(2, 2), records=given).owners
        assert found is not None
        return found.reshape(2, 2).tolist()

    assert owners([["ann", "bob"], ["bob", "cid"]]) == owners([[0, 1], [1, 2]])
    assert owners(["ann", "bob"]) == owners([0, 1]) == [[0, 1], [0, 1]]
    assert owners([["ann"], ["bob"]]) == owners(((0,), (1,))) == [[0, 0], [1, 1]]
    assert owners([[("a", "b"), ("x", "y")], [("x", "y"), ("a", "b")]]) == [[0, 1], [1, 0]]
    with pytest.raises(InvalidArgumentError, match="one kind"):
        Envelope(0, 1, shape=2, records=[True, 1])


# ----------------------------------------------------------------------------------------- labels

KINDS = [
    ["a", "ä ☃", ""],
    [3, -1, 2**62],
    [0.5, 1e-300, -2.0],
    [True, False],
    [dt.date(2024, 1, 31), dt.date(2024, 2, 1)],
    pd.date_range("2024-03-30 12:34:56.123456789", periods=3, freq="D"),
    pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Zurich"),
    pd.to_timedelta([1, -2, 86_400_000_000_001], unit="ns"),
    [pd.Timestamp("2024-01-01", tz=dt.timezone(dt.timedelta(hours=5, minutes=30)))],
    [pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp("2024-07-01", tz="America/Lima")],
    [pd.Timestamp("2024-01-01", tz=dt.timezone(dt.timedelta(seconds=2048)))],
    [pd.Timestamp.min, pd.Timestamp.max],
    [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)],
    [dt.timedelta(days=-3)],
    [np.datetime64("2024-01-01"), np.datetime64("2024-01-02T03")],
    [("a", 1), ("a", 2)],
    pd.MultiIndex.from_product([["a", "b"], pd.date_range("2024", periods=2)], names=["x", None]),
    pd.Categorical(["x", "y"]),
]


@pytest.mark.parametrize("labels", KINDS, ids=lambda labels: type(labels[0]).__name__)
def test_labels_of_every_kind_survive_a_file(labels: Any, tmp_path: Path) -> None:
    made = Envelope(0.0, 1.0, labels=labels)
    read = reread(made, tmp_path)
    assert read == made
    assert read.to_frame().index.equals(made.to_frame().index)
    assert read.to_frame().index.names == made.to_frame().index.names
    table = pd.Series(np.linspace(0, 1, made.size), index=made.to_frame().index)
    assert Database(table.iloc[::-1], read).read().tolist() == table.tolist()


@pytest.mark.parametrize(
    "said",
    [{"time": "now"}, {"time": "2024"}, {"span": "1 day"}, {"date": "20240131"}, {"time": ""},
     {"time": "2024-01-01T00:00:00", "zone": "/etc/passwd"}, {"other": "x"}, {}, {"time": 3},
     {"time": "2024-01-01T00:00:00", "zone": None}, None, [], float("inf")],
)  # fmt: skip
def test_a_label_of_a_file_is_read_as_it_was_written_or_refused(said: Any) -> None:
    content = Envelope(0, 1, radius=0.1, shape=1).document()
    groups = [{"name": "x", "shape": [1], "labels": [{"names": [""], "labels": [said]}]}]
    with pytest.raises((InvalidArgumentError, TypeError, ValueError, AttributeError)):
        Envelope.from_document(content | {"groups": groups})


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["a", "a"], "'a' is there twice"),
        ([1, 1.0], "1 is there twice"),
        (["a", None], "got NoneType"),
        ([pd.Interval(0, 1)], "got Interval"),
        ([dt.timedelta.max], "got timedelta"),
        ([("a", 1), ("a",)], "tuples of one length"),
        ([], "at least one label"),
        ({"a", "b"}, "in order"),
        (pd.DataFrame({"a": [1], "b": [2]}), "pass frame.index"),
        (pd.MultiIndex.from_tuples([(1, 2)], names=["x", "x"]), "levels of different names"),
    ],
)
def test_labels_that_say_nothing_or_too_much_are_refused(labels: Any, named: str) -> None:
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope(0.0, 1.0, labels=labels)


# ------------------------------------------------------------------- names that are one, or not

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
        with pytest.raises(InvalidArgumentError, match="one kind"):
            Envelope(0, 1, shape=2, records=owners)
        with pytest.raises(InvalidArgumentError, match="one kind"):
            Envelope(0, 1, labels=owners)
        with pytest.raises(InvalidArgumentError, match="one kind"):
            dp.cvxpy.PrivateParameter(2, lower=0, upper=1, records=owners)
        table = pd.DataFrame({"upper": [1.0, 2.0], "who": pd.Series(owners, dtype=object)})
        with pytest.raises(InvalidArgumentError, match="one kind"):
            Envelope.from_frame(table.rename_axis("row"), lower=0, radius=0.1, record="who")
        part = Envelope(0, 1, shape=1)
        with pytest.raises(InvalidArgumentError, match="one kind"):
            Envelope.join({"x": part, "y": part}, records={"x": [owners[0]], "y": [owners[1]]})


@ids(DOUBTFUL, flat=True)
def test_groups_are_not_joined_by_a_level_that_is_written_in_two_ways(
    names: tuple[Any, Any],
) -> None:
    x, y = (Envelope(0, 1, labels={"who": [name]}) for name in names)
    with pytest.raises(InvalidArgumentError, match="one kind"):
        Envelope.join({"x": x, "y": y}, records="who")


@ids(SAME)
def test_two_ways_to_write_a_name_are_one_record(names: tuple[Any, Any], tmp_path: Path) -> None:
    assert largest(Envelope(0, 1, shape=2, records=list(names))) == 2
    part = Envelope(0, 1, shape=1)
    owners = {"x": [names[0]], "y": [names[1]]}
    assert largest(Envelope.join({"x": part, "y": part}, records=owners)) == 2
    with pytest.raises(InvalidArgumentError, match="distinct"):
        Envelope(0, 1, labels=list(names))
    one, other = (Envelope(0, 1, labels=[name]) for name in names)
    assert one == other
    assert reread(one, tmp_path) == other
    assert reread(other, tmp_path) == one


@ids(SAME, flat=True)
def test_a_private_table_is_read_by_either_way_to_write_a_label(names: tuple[Any, Any]) -> None:
    one, other = names
    envelope = Envelope.join({"value": Envelope(0, 1, labels=[one])})
    table = pd.DataFrame({"value": [0.5]}, index=pd.Index([other], dtype=object))
    assert Database(table, envelope).read().tolist() == [0.5]


@ids(DOUBTFUL)
def test_a_private_table_with_labels_of_another_kind_is_refused(names: tuple[Any, Any]) -> None:
    one, other = names
    envelope = Envelope.join({"value": Envelope(0, 1, labels=[one])})
    index = pd.Index([other], dtype=object, tupleize_cols=isinstance(other, tuple))
    with pytest.raises(RefusedError) as told:
        Database(pd.DataFrame({"value": [0.5]}, index=index), envelope).read()
    assert told.value.__context__ is None


@pytest.mark.parametrize("name", MISSING, ids=lambda name: f"{type(name).__name__} {name}")
def test_what_is_missing_is_no_name(name: Any) -> None:
    other = pd.Timestamp(MIDNIGHT) if isinstance(name, type(pd.NaT) | np.datetime64) else 1.5
    for given in ([name, other], [("ward", name), ("ward", other)]):
        with pytest.raises(InvalidArgumentError):
            Envelope(0, 1, shape=2, records=given)
        with pytest.raises(InvalidArgumentError):
            Envelope(0, 1, labels=given)


@pytest.mark.parametrize("name", ["price ", "\tprice", "Zu\u0308rich"])
def test_names_of_groups_have_one_form(name: str) -> None:
    severity = Envelope(0, 1, shape=1)
    with pytest.raises(InvalidArgumentError, match="normal form"):
        Envelope.join({name: Envelope(0, 1)})
    with pytest.raises(InvalidArgumentError, match="normal form"):
        Envelope.join({name: severity})
    with pytest.raises(InvalidArgumentError, match="normal form"):
        dp.cvxpy.PrivateParameter(lower=0, upper=1, name=name)


def test_states_are_numbers_and_no_texts_or_truth_values() -> None:
    for states in (["5"], [5, "5"], [True], [5.5]):
        with pytest.raises(InvalidArgumentError):
            dp.PrivateCost(Envelope(0, 1, shape=len(states)), 1.0, states=states)
