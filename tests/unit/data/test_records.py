"""Records: entries with one name are one record, whatever it is; doubtful names are refused."""

from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.cvxpy.parameter import PrivateParameter, joined

NAN = float("nan")
Pair = namedtuple("Pair", ["ward", "bed"])


class Nobody:
    """Equal to itself alone."""


@dataclass(frozen=True)
class Person:
    number: Any


class Site(Enum):
    NORTH = 1
    SOUTH = 2


def records(owners: Any, **more: Any) -> list[int]:
    return Envelope(0.0, 1.0, shape=3, records=owners, **more).records.tolist()


def fresh(make: Any) -> list[Any]:
    """One name written twice, and another one."""
    return [make(1), make(2), make(1)]


GOOD: dict[str, Any] = {
    "texts": ["ann", "bob", "ann"],
    "numpy texts": np.array(["ann", "bob", "ann"]),
    "series": pd.Series(["ann", "bob", "ann"], index=[7, 8, 9]),
    "categories": pd.Categorical(["ann", "bob", "ann"]),
    "index": pd.Index(["ann", "bob", "ann"]),
    "text of pandas": pd.array(["ann", "bob", "ann"], dtype="string"),
    "floats": [0.5, 1.5, 0.5],
    "flags": [True, False, True],
    "fractions": fresh(Fraction),
    "decimals": fresh(Decimal),
    "whole floats": [10.0, 11, 10],
    "white space": ["ann", "bob", " ann\n"],
    "normal forms": ["e\u0301", "e", "\u00e9"],
    "pairs": fresh(lambda k: ("p", float(k))),
    "named pairs": fresh(lambda k: Pair("p", str(k))),
    "outer tuple": ("ann", "bob", "ann"),
    "sets": fresh(lambda k: frozenset({"p", k})),
    "people": fresh(Person),
    "enums": fresh(Site),
    "none inside": fresh(lambda k: ("p", None, k)),
    "times": pd.to_datetime(["2024", "2025", "2024"]),
    "numpy times": np.array(["2024", "2025", "2024"], dtype="datetime64[ns]"),
    "units of time": [np.datetime64("2024", unit) for unit in ("ns", "s", "s")],
}


@pytest.mark.parametrize("kind", [kind for kind in GOOD if kind != "units of time"])
def test_records_have_names_of_any_type(kind):
    owners = GOOD[kind]
    assert records(owners) == [0, 1, 0]
    low = Envelope(0.0, 1.0, shape=3)
    both = Envelope.join({"x": low, "y": low}, records={"x": owners, "y": owners})
    assert both.records.tolist() == [0, 1, 0, 0, 1, 0]
    one, other = (PrivateParameter(3, lower=0, upper=1, records=owners) for _ in range(2))
    assert joined([one, other]).records.tolist() == [0, 1, 0, 0, 1, 0]


def test_a_time_is_one_name_in_every_unit():
    assert records(GOOD["units of time"]) == [0, 0, 0]
    assert records([("p", time) for time in GOOD["units of time"]]) == [0, 0, 0]
    low = Envelope(0.0, 1.0, shape=1)
    parts = {unit: np.array(["2024"], dtype=f"datetime64[{unit}]") for unit in ("ns", "s", "D")}
    assert Envelope.join(dict.fromkeys(parts, low), records=parts).record_size == 3


BAD: dict[str, Any] = {
    "nan": [NAN, NAN, 3],
    "nan inside": [("p", NAN), ("p", NAN), 3],
    "nan far inside": fresh(lambda k: ("p", (1, (k, NAN)))),
    "nan of numpy inside": fresh(lambda k: ("p", np.float64("nan"))),
    "decimal nan": fresh(lambda k: Decimal("nan")),
    "complex nan": fresh(lambda k: complex(NAN, k)),
    "nan in a set": fresh(lambda k: frozenset({NAN})),
    "nan in a person": fresh(lambda k: Person(NAN)),
    "nan in a named pair": fresh(lambda k: Pair(k, NAN)),
    "no time": fresh(lambda k: ("p", pd.NaT)),
    "no numpy time": np.array(["2024", "NaT", "NaT"], dtype="datetime64[ns]"),
    "none": ["ann", None, None],
    "missing": pd.array(["ann", None, None], dtype="string"),
    "missing inside": fresh(lambda k: ("p", pd.NA)),
    "identity": fresh(lambda k: Nobody()),
    "identity inside": fresh(lambda k: ("p", Nobody())),
    "classes": [int, str, int],
    "functions": fresh(lambda k: lambda: k),
    "unhashable": [{1}, {2}, {1}],
}


@pytest.mark.parametrize("kind", BAD)
def test_names_that_would_split_a_person_are_refused(kind):
    owners = BAD[kind]
    with pytest.raises(InvalidArgumentError, match="names of records must"):
        records(owners)
    with pytest.raises(InvalidArgumentError, match="names of records must"):
        PrivateParameter(3, lower=0, upper=1, records=owners)
    facts: Any = pd.DataFrame({"lower": 0.0, "upper": 1.0, "radius": 0.1}, index=["a", "b", "c"])
    column = pd.Series(list(owners), index=facts.index, dtype=object)
    with pytest.raises(InvalidArgumentError, match=r"names of records must|record in every row"):
        Envelope.from_frame(facts.assign(who=column), record="who")


@pytest.mark.parametrize(
    ("owners", "shape", "named"),
    [
        (["ann", "bob"], (3,), r"records\['x'\] must broadcast to the shape \(3,\) of .* 'x'"),
        ([0, 1], (3,), r"records\['x'\] must broadcast to the shape \(3,\) of .* 'x'"),
        ([["ann"], ["bob", "cid"]], (2, 2), "rows of one length"),
        ((("ann", "ann"), ("bob", "bob")), (2, 2), "where tuples are names"),
        ([("ann", "ann")], (2,), "where tuples are names"),
        ([-1, 0, 1], (3,), r"records\['x'\] must hold integers"),
        ({"ann": 0}, (1,), "must be a list or array"),
        ({"ann", "bob"}, (2,), "must be a list or array"),
        (pd.DataFrame({"who": ["ann"]}), (1,), "got a table"),
        (Nobody(), (1,), "must be a list or array"),
    ],
)
def test_names_that_do_not_fit_are_refused_by_their_group(owners, shape, named):
    low = {"x": Envelope(0.0, 1.0, shape=shape)}
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope.join(low, records={"x": owners})


def test_names_are_nested_and_broadcast_as_integers_are():
    def owners(given: Any) -> list[Any]:
        return Envelope(0.0, 1.0, shape=(2, 2), records=given).records.reshape(2, 2).tolist()

    assert owners([["ann", "bob"], ["bob", "cid"]]) == owners([[0, 1], [1, 2]])
    assert owners(["ann", "bob"]) == owners([0, 1]) == [[0, 1], [0, 1]]
    assert owners([["ann"], ["bob"]]) == owners(((0,), (1,))) == [[0, 0], [1, 1]]
    assert owners([[("a", "b"), ("x", "y")], [("x", "y"), ("a", "b")]]) == [[0, 1], [1, 0]]


def test_integers_keep_their_meaning():
    assert records([7, 2, 7]) == [1, 0, 1]
    assert Envelope(0.0, 1.0, shape=3, records=[10**15, 10**15, 5]) == Envelope(
        0.0, 1.0, shape=3, records=[9, 9, 0]
    )
    low = Envelope(0.0, 1.0, shape=2)
    with pytest.raises(InvalidArgumentError, match="one kind"):
        Envelope.join({"x": low, "y": low}, records={"x": [5, 3], "y": ["5", "3"]})


def test_a_text_is_a_level_of_the_labels():
    labels = {"day": [1, 2], "person": ["ann", "bob"]}
    made = Envelope(0.0, 1.0, labels=labels, records="person")
    assert made.records.tolist() == [0, 1, 0, 1]
    with pytest.raises(InvalidArgumentError, match="level of the labels"):
        Envelope(0.0, 1.0, shape=2, records="person")


def test_labels_of_a_user_never_meet_records_that_nobody_named():
    plain = PrivateParameter(2, lower=0, upper=1)
    owners = pd.Series([(plain.id, 0)])
    named = PrivateParameter(1, lower=0, upper=1, records=owners)
    assert named.labels == ((plain.id, 0),)
    assert joined([plain, named]).record_size == 1


def test_groups_whose_records_have_names_are_joined_only_with_names_again():
    named = Envelope(0, 1, radius=0.1, shape=2, records=["ann", "bob"])
    plain = Envelope(0, 1, radius=0.1, shape=2)
    both = {"price": named, "budget": named}
    with pytest.raises(InvalidArgumentError, match="price, budget have names of records"):
        Envelope.join(both)
    again = Envelope.join(both, records={key: ["ann", "bob"] for key in both})
    assert again.record_size == 2
    assert Envelope.join({"price": named, "limit": plain}).record_size == 1
    assert named == Envelope(0, 1, radius=0.1, shape=2)  # a name is no part of the promise
