"""Tables of pandas: public ones are explained, private ones are read by their labels or refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope

CITIES = ["Bern", "Basel", "Genf"]
PUBLIC: Any = pd.DataFrame({"lower": 0.0, "upper": [1.0, 2.0, 3.0], "radius": 0.1}, index=CITIES)
GROUPS, ADVERTISERS = ["young", "old", "rich"], ["Acme", "B&Co"]
MARKS = np.array([0.57913579, 0.25, 0.75, 0.125, 0.5, 0.375])
PRICES: Any = pd.DataFrame(MARKS.reshape(3, 2), index=GROUPS, columns=ADVERTISERS)
NAMED: Any = PRICES.rename_axis(index="group", columns="advertiser")
LONG: Any = NAMED.stack().rename("price")


def wide() -> Envelope:
    axes = {"group": GROUPS, "advertiser": ADVERTISERS}
    return Envelope.join({"price": Envelope(0, 1, radius=0.1, labels=axes)})


def read(table: Any, envelope: Envelope) -> list[float]:
    return Database(table, envelope).read().tolist()


def refused(table: Any, envelope: Envelope) -> str:
    with pytest.raises(RefusedError, match="cannot be used") as caught:
        Database(table, envelope).read()
    assert caught.value.__context__ is None
    return str(caught.value)


# -------------------------------------------------------------------------------- public tables


def test_a_public_table_is_an_envelope() -> None:
    made = Envelope.from_frame(PUBLIC)
    assert made == Envelope(0, [1, 2, 3], radius=0.1, labels=CITIES)
    owned = PUBLIC.assign(person=["ann", "bob", "ann"]).rename_axis("city")
    by_column = Envelope.from_frame(owned, record="person", radius=None)
    assert by_column.owners is not None
    assert by_column.owners.tolist() == [0, 1, 0]
    assert by_column.radius.tolist() == [1, 2, 3]
    assert Envelope.from_frame(owned, record="city", lower=-1, upper=5).lower.tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("frame", "arguments", "named"),
    [
        (PUBLIC.drop(columns="lower"), {}, "one column 'lower'; its columns are 'upper', 'radius'"),
        (pd.concat([PUBLIC, PUBLIC], axis=1), {}, "more than once"),
        (PUBLIC.assign(lower=["0", "0", "0"]), {}, "lower must be an array of real numbers"),
        (PUBLIC.assign(radius=pd.array([0.1, None, 1], "Float64")), {}, "radius must be"),
        (pd.concat([PUBLIC, PUBLIC]), {}, "labels must be distinct; 'Bern'"),
        (PUBLIC.reset_index(drop=True), {}, "must hold labels; it only numbers"),
    ],
)
def test_public_tables_are_refused_by_column_and_label(
    frame: Any, arguments: Any, named: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope.from_frame(frame, **arguments)


# ------------------------------------------------------------------------------------ tables out


def test_entries_are_rows_with_their_labels() -> None:
    index = wide().to_frame().index
    assert index.names == ["group", "advertiser"]
    assert index.tolist()[:3] == [("young", "Acme"), ("young", "B&Co"), ("old", "Acme")]
    frame = Envelope(0.0, 1.0, shape=(2, 2)).to_frame()
    assert frame.index.tolist() == frame["entry"].tolist() == [0, 1, 2, 3]
    assert frame["group"].tolist() == ["values"] * 4
    assert frame["record"].tolist() == [0, 1, 2, 3]


def test_joined_groups_keep_their_labels_side_by_side() -> None:
    axes = {"group": GROUPS, "advertiser": ADVERTISERS}
    price, budget = Envelope(0, 1, labels=axes), Envelope(5.0, 9.0, labels=[7, 8])
    joined = Envelope.join({"price": price, "budget": budget, "rest": Envelope(0, 1, shape=1)})
    index = joined.to_frame().index
    assert index.tolist()[-3:] == [("budget", 7), ("budget", 8), ("rest", 0)]
    assert index[0] == ("price", ("young", "Acme"))
    assert joined.to_frame(group="price").index.equals(wide().to_frame().index)
    assert joined.to_frame(group="rest")["entry"].tolist() == [0]
    with pytest.raises(InvalidArgumentError, match="'price', 'budget', 'rest'; got 'prices'"):
        joined.to_frame(group="prices")
    assert "young" in joined._repr_html_()


# -------------------------------------------------------------------------------- private tables


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_shuffled_table_gives_the_same_database(order: Any) -> None:
    table = pd.DataFrame({"value": [0.5, 0.25, 0.75], "note": "x"}, index=CITIES)
    assert read(table.iloc[list(order)], Envelope.from_frame(PUBLIC)) == [0.5, 0.25, 0.75]


@pytest.mark.parametrize(
    "table",
    [
        PRICES,
        PRICES.iloc[[2, 0, 1], [1, 0]],
        NAMED,
        PRICES.stack(),
        LONG.sample(frac=1, random_state=1),
        LONG.to_frame(),
        LONG.reset_index(),
        LONG.reset_index().set_index(["advertiser", "group"]),
        LONG.rename("value").reset_index().sample(frac=1, random_state=2),
        LONG.rename("other").to_frame(),
        NAMED.reset_index(),
        PRICES.astype("Float64"),
        PRICES.astype(object),
        {"price": PRICES},
        PRICES.to_numpy(),
    ],
)
def test_a_table_of_prices_is_read_in_every_shape(table: Any) -> None:
    assert read(table, wide()) == MARKS.tolist()


def test_groups_have_a_table_each_and_those_without_labels_an_array_or_a_column() -> None:
    axes = {"group": GROUPS, "advertiser": ADVERTISERS}
    groups = {"price": Envelope(0, 1, labels=axes), "budget": Envelope(5, 9, labels=ADVERTISERS)}
    joined = Envelope.join({**groups, "rest": Envelope(0, 1, shape=2)})
    budget = pd.DataFrame({"budget": [8.0, 7.0], "value": 0.0}, index=ADVERTISERS[::-1])
    for rest in (
        [0.25, 0.5],
        pd.Series([0.25, 0.5], index=[9, 8]),
        pd.DataFrame({"x": [0.25, 0.5]}),
    ):
        tables = {"price": PRICES, "budget": budget, "rest": rest}
        assert read(tables, joined) == [*MARKS, 7.0, 8.0, 0.25, 0.5]


def test_numbers_of_rows_are_no_labels() -> None:
    """Two tables that pandas numbered by itself would be matched by place."""
    envelope = Envelope(0, 1, labels={"state": range(3)})
    values = pd.Series([0.1, 0.2, 0.3])
    refused(values, envelope)
    assert read(values.rename_axis("state"), envelope) == [0.1, 0.2, 0.3]
    assert read(values.iloc[[2, 0, 1]], envelope) == [0.1, 0.2, 0.3]


def test_a_square_table_the_other_way_round_is_refused() -> None:
    envelope = Envelope(0, 1, labels={"from": ["a", "b"], "to": ["a", "b"]})
    table = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], index=["a", "b"], columns=["a", "b"])
    flipped: Any = table.rename_axis(index="to", columns="from")
    refused(flipped, envelope)
    assert read(flipped.T, envelope) == [0.1, 0.3, 0.2, 0.4]
    assert read(flipped.stack(), envelope) == [0.1, 0.3, 0.2, 0.4]


ENDS = ["a", "b"]
SQUARE: Any = pd.DataFrame(MARKS[:4].reshape(2, 2), index=ENDS, columns=ENDS)
STACK: Any = SQUARE.stack()


@pytest.mark.parametrize(
    "table",
    [
        SQUARE.rename_axis(index="to"),
        SQUARE.rename_axis(columns="from"),
        SQUARE.rename_axis(index="57913579"),
        SQUARE.rename_axis(index="from", columns="57913579"),
        STACK.rename_axis(["to", None]),
        STACK.rename_axis([None, "from"]),
        STACK.rename_axis(["from", "57913579"]),
        PRICES,
        SQUARE.iloc[:1],
        SQUARE.iloc[:, [0, 0]],
    ],
)
def test_an_axis_with_another_name_or_other_labels_is_refused(table: Any) -> None:
    """Whether one axis, both or all levels are named: a name that contradicts is a mistake."""
    refused(table, Envelope(0, 1, labels={"from": ENDS, "to": ENDS}))


@pytest.mark.parametrize(
    "table",
    [
        SQUARE,
        SQUARE.rename_axis(index="from"),
        SQUARE.rename_axis(columns="to"),
        STACK.rename_axis(["from", None]),
        STACK.rename_axis([None, "to"]),
    ],
)
def test_an_axis_needs_no_name(table: Any) -> None:
    assert read(table, Envelope(0, 1, labels={"from": ENDS, "to": ENDS})) == MARKS[:4].tolist()


MARKED: Any = pd.Series(MARKS[:3], index=CITIES, name="value")
WRONG_LABELS: dict[str, Any] = {
    "missing": MARKED.iloc[:2],
    "unknown": MARKED.rename({"Genf": "57913579"}),
    "one more": pd.concat([MARKED, pd.Series([MARKS[3]], index=["Zug"])]),
    "twice": MARKED.rename({"Genf": "Bern"}),
    "all twice": pd.concat([MARKED, MARKED]),
    "none": MARKED.iloc[:0],
    "no name": MARKED.rename({"Genf": None}),
    "two levels": pd.concat({"a": MARKED}),
    "unhashable": pd.Series(MARKS[:3], index=pd.Index([[1], [2], [3]], dtype=object)),
    "times": pd.Series(MARKS[:3], index=pd.date_range("2024", periods=3)),
    "numbers": MARKED.reset_index(drop=True),
}


def test_what_is_wrong_with_private_labels_is_not_said() -> None:
    """Which rows a private table has may be private: one text for all that is wrong."""
    forms = [form for table in WRONG_LABELS.values() for form in (table, table.to_frame("value"))]
    texts = {refused(form, Envelope.from_frame(PUBLIC)) for form in forms}
    assert len(texts) == 1
    assert not any(city in text for city in CITIES for text in texts)


@pytest.mark.parametrize(
    "values",
    [
        [f"{mark}" for mark in MARKS[:3]],
        [MARKS[0], np.nan, MARKS[2]],
        [MARKS[0], 57913579.0, MARKS[2]],
        [MARKS[0], None, object()],
        pd.array([MARKS[0], None, MARKS[2]], dtype="Float64"),
        [True, False, True],
        [MARKS[0] + 0j, 1j, 0j],
        pd.to_timedelta([1, 2, 3]),
        [MARKS[:2], MARKS[:2], MARKS[:2]],
    ],
)
def test_private_values_are_refused_without_being_shown(values: Any) -> None:
    text = refused(pd.DataFrame({"value": values}, index=CITIES), Envelope.from_frame(PUBLIC))
    assert "57913579" not in text
