"""One person is one record, however the name is written: names are one, or they are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp._src.base.documents import read_document, write_document
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope


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
    path = write_document(tmp_path / "envelope.npz", "envelope", made.document())
    read = Envelope.from_document(read_document(path)[2])
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
