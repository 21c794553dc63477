"""Tables in: found by label and never by place, refused by name, and nothing private is said."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import Database, Envelope
from dp_cmdp.data.labels import Axis, Labels
from dp_cmdp.errors import InvalidArgumentError
from tests.marked import MARKS, leaks_from_error

CITIES = ["Bern", "Basel", "Genf"]
FACTS: Any = pd.DataFrame(
    {"lower": [0.0, 0.1, 0.0], "upper": [1.0, 1.0, 2.0], "radius": [0.1, 0.2, 0.5]}, index=CITIES
)
GROUPS, ADVERTISERS = ["young", "old", "rich"], ["Acme", "B&Co"]
PRICES: Any = pd.DataFrame(MARKS[:6].reshape(3, 2), index=GROUPS, columns=ADVERTISERS)
NAMED: Any = PRICES.rename_axis(index="group", columns="advertiser")


def wide() -> Envelope:
    labels = {"group": GROUPS, "advertiser": ADVERTISERS}
    return Envelope(0.0, 1.0, radius=0.1, labels=labels, name="price")


def test_columns_are_named_and_the_index_is_kept():
    made = Envelope.from_frame(FACTS, name="demand")
    by_hand = Envelope(
        FACTS["lower"].to_numpy(),
        FACTS["upper"].to_numpy(),
        radius=FACTS["radius"].to_numpy(),
        name="demand",
        labels=CITIES,
    )
    assert made == by_hand
    pd.testing.assert_frame_equal(made.to_frame()[["lower", "upper", "radius"]], FACTS)
    other = FACTS.rename(columns={"lower": "at least", "upper": "at most", "radius": "Δ"})
    assert made == Envelope.from_frame(
        other, lower="at least", upper="at most", radius="Δ", name="demand"
    )


def test_a_fact_that_holds_for_all_is_a_number():
    made = Envelope.from_frame(FACTS[["upper"]], lower=0, radius=0.25)
    assert made == Envelope(0, FACTS["upper"].to_list(), radius=0.25, labels=CITIES)
    anything = Envelope.from_frame(FACTS, radius=None)
    assert anything.radius.tolist() == [1.0, 0.9, 2.0]


@pytest.mark.parametrize(
    "owners",
    [
        ["ann", "bob", "ann"],
        [("a", 1), ("b", 1), ("a", 1)],
        [pd.Timestamp("2024"), pd.Timestamp("2025"), pd.Timestamp("2024")],
        [0.5, 1.5, 0.5],
        [-1, 7, -1],
        [7, 9, 7],
        [True, False, True],
        pd.Categorical(["x", "y", "x"]),
    ],
)
def test_records_are_named_by_values_of_any_type(owners):
    made = Envelope.from_frame(FACTS.assign(person=owners), record="person")
    assert made.records.tolist() == [0, 1, 0]
    assert made.record_size == 2


def test_records_may_be_a_level_or_several_columns():
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["person", "day"])
    table = pd.DataFrame({"upper": [1.0] * 4, "site": ["x", "x", "x", "y"]}, index=index)
    one = Envelope.from_frame(table, lower=0, radius=0.1, record="person")
    both = Envelope.from_frame(table, lower=0, radius=0.1, record=["person", "site"])
    assert one.records.tolist() == [0, 0, 1, 1]
    assert both.records.tolist() == [0, 0, 1, 2]


def test_labels_may_stand_in_columns():
    table = FACTS.rename_axis("city").reset_index()
    assert Envelope.from_frame(table, index="city") == Envelope.from_frame(
        FACTS.rename_axis("city")
    )
    grid = pd.DataFrame({"row": [0, 0, 1], "col": [0, 1, 0], "upper": [1.0, 2.0, 3.0]})
    made = Envelope.from_frame(grid, lower=0, radius=0.1, index=["row", "col"])
    assert made.to_frame().index.names == ["row", "col"]
    values = pd.DataFrame({"severity": [3, 1, 2], "col": [0, 0, 1], "row": [1, 0, 0]})
    assert Database.from_frame(values, made, column="severity").values.tolist() == [1, 2, 3]


def test_one_table_per_fact_has_one_cell_per_entry():
    low = pd.DataFrame(0.0, index=GROUPS, columns=ADVERTISERS).rename_axis(
        index="group", columns="advertiser"
    )
    high = (low + 1.0).iloc[::-1, ::-1]
    made = Envelope.from_frame({"lower": low, "upper": high}, radius=0.1, name="price")
    assert made == wide()
    steps = low + np.arange(1.0, 7.0).reshape(3, 2)
    mixed = Envelope.from_frame({"lower": low, "upper": steps.iloc[[1, 2, 0], ::-1]}, radius=None)
    assert mixed.upper.tolist() == [1, 2, 3, 4, 5, 6]
    shared = Envelope.from_frame(
        {"lower": low, "upper": high}, radius=0.1, record="advertiser", name="price"
    )
    assert shared.records.reshape(3, 2).tolist() == [[0, 1]] * 3


@pytest.mark.parametrize(
    ("frame", "arguments", "named"),
    [
        (FACTS.drop(columns="lower"), {}, "one column 'lower'; its columns are 'upper', 'radius'"),
        (FACTS.drop(columns="radius"), {}, "radius=a number or None"),
        (FACTS, {"upper": "most"}, "one column 'most'"),
        (pd.concat([FACTS, FACTS], axis=1), {}, "more than once"),
        (FACTS.assign(lower=["0", "0", "0"]), {}, "column 'lower' .*real numbers, no text"),
        (FACTS.assign(lower=[True, False, True]), {}, "column 'lower' .*real numbers"),
        (FACTS.assign(lower=[0.0, np.nan, 0.0]), {}, "column 'lower' .*missing.*at Basel"),
        (FACTS.assign(radius=pd.array([0.1, None, 1], "Float64")), {}, "missing.*at Basel"),
        (FACTS.assign(upper=[1.0, np.inf, 1.0]), {}, "column 'upper' .*finite.*at Basel"),
        (FACTS.assign(lower=[0.0, 5.0, 0.0]), {}, r"entry 1 \(values: Basel\)"),
        (pd.concat([FACTS, FACTS]), {}, "the index of frame must be distinct; 'Bern'"),
        (FACTS.set_index(pd.Index(["a", None, "b"])), {}, "the index of frame .*missing"),
        (FACTS.reset_index(drop=True), {}, "must hold labels; it only numbers"),
        (FACTS, {"index": "city"}, "one column 'city'"),
        (FACTS, {"index": []}, "index must name at least one column"),
        (FACTS, {"record": "person"}, "one column 'person'"),
        (FACTS.assign(p=["a", None, "b"]), {"record": "p"}, "name a record in every row"),
        (FACTS.assign(p=[[1], [2], [3]]), {"record": "p"}, "hashable"),
        (FACTS.iloc[:0], {}, "at least one label"),
        (FACTS["lower"], {}, "frame must be a DataFrame or a mapping; got Series"),
        ({}, {}, "must hold the tables that lower, upper or radius name"),
        ({"lower": [[0.0]]}, {}, r"frame\['lower'\] must be a DataFrame"),
        ({"lower": PRICES}, {}, "must hold a table 'upper'"),
        ({"lower": PRICES * 0, "upper": PRICES.T + 1}, {"radius": 0.1}, "rows and columns of the"),
        ({"lower": PRICES.reset_index(drop=True)}, {"upper": 1}, "must hold labels"),
    ],
)
def test_public_tables_are_refused_by_column_and_label(frame, arguments, named):
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope.from_frame(frame, **arguments)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_shuffled_table_gives_the_same_database(order):
    envelope = Envelope.from_frame(FACTS)
    table = pd.DataFrame({"value": [0.5, 0.25, 0.75], "note": "x"}, index=CITIES)
    found = Database.from_frame(table.iloc[list(order)], envelope)
    assert found.values.tolist() == [0.5, 0.25, 0.75]


LONG = NAMED.stack().rename("price")


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
        NAMED.reset_index(),
        PRICES.astype("Float64"),
        PRICES.astype(object),
    ],
)
def test_a_table_of_prices_is_read_in_every_shape(table):
    found = Database.from_frame(table, wide(), identity="prices")
    assert found.values.tolist() == MARKS[:6].tolist()
    assert found.identity == "prices"
    assert found.envelope == wide()


def test_groups_have_a_table_each_and_those_without_labels_an_array():
    budget = Envelope.from_frame(pd.DataFrame(index=ADVERTISERS), lower=5, upper=9, radius=None)
    joined = Envelope.join({"price": wide(), "budget": budget, "rest": Envelope(0, 1, shape=2)})
    tables = {
        "price": PRICES,
        "budget": pd.DataFrame({"budget": [8.0, 7.0], "value": 0.0}, index=ADVERTISERS[::-1]),
        "rest": [0.25, 0.5],
    }
    found = Database.from_frame(tables, joined)
    assert found.values.tolist() == [*MARKS[:6], 7.0, 8.0, 0.25, 0.5]
    for wrong in (PRICES, {"price": PRICES}, {**tables, "more": 1}):
        with pytest.raises(InvalidArgumentError, match="groups price, budget, rest"):
            Database.from_frame(wrong, joined)


def test_numbers_of_rows_are_no_labels():
    """Two tables that pandas numbered by itself would be matched by place."""
    envelope = Envelope(0, 1, labels={"state": range(3)})
    values = pd.Series([0.1, 0.2, 0.3])
    with pytest.raises(InvalidArgumentError, match="only numbers the rows is none"):
        Database.from_frame(values, envelope)
    assert Database.from_frame(values.rename_axis("state"), envelope).values.tolist() == [
        0.1,
        0.2,
        0.3,
    ]
    chosen = values.iloc[[2, 0, 1]]
    assert Database.from_frame(chosen, envelope).values.tolist() == [0.1, 0.2, 0.3]


def test_a_square_table_the_other_way_round_is_refused():
    envelope = Envelope(0, 1, labels={"from": ["a", "b"], "to": ["a", "b"]})
    table = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], index=["a", "b"], columns=["a", "b"])
    flipped = table.rename_axis(index="to", columns="from")
    with pytest.raises(InvalidArgumentError, match="one row and one column"):
        Database.from_frame(flipped, envelope)
    assert Database.from_frame(flipped.T, envelope).values.tolist() == [0.1, 0.3, 0.2, 0.4]
    stacked = flipped.stack()
    assert Database.from_frame(stacked, envelope).values.tolist() == [0.1, 0.3, 0.2, 0.4]


ENDS = ["a", "b"]
SQUARE: Any = pd.DataFrame(MARKS[:4].reshape(2, 2), index=ENDS, columns=ENDS)
STACK: Any = SQUARE.stack()


@pytest.mark.parametrize(
    ("labels", "table"),
    [
        (("from", "to"), SQUARE.rename_axis(index="to")),
        (("from", "to"), SQUARE.rename_axis(columns="from")),
        (("from", "to"), SQUARE.rename_axis(index="57913579")),
        (("from", "to"), SQUARE.rename_axis(index="from", columns="57913579")),
        (("from", "to"), STACK.rename_axis(["to", None])),
        (("from", "to"), STACK.rename_axis([None, "from"])),
        (("from", "to"), STACK.rename_axis(["from", "57913579"])),
        (("", "to"), SQUARE.rename_axis(index="to")),
        (("", "to"), STACK.rename_axis(["to", None])),
        (("from", ""), SQUARE.rename_axis(columns="from")),
        (("room",), pd.Series(MARKS[:2], index=ENDS).rename_axis("57913579")),
        (("room",), pd.DataFrame({"value": MARKS[:2]}, index=ENDS).rename_axis(57913579)),
        (("room",), pd.DataFrame({"value": MARKS[:2]}, index=pd.RangeIndex(2, name="57913579"))),
    ],
)
def test_an_axis_with_another_name_than_its_labels_is_refused(labels, table):
    """Whether one axis, both or all levels are named: a name that contradicts is a mistake."""
    ends = [0, 1] if isinstance(table.index, pd.RangeIndex) else ENDS
    made = Envelope(0, 1, labels=Labels(tuple(Axis(tuple(ends), (name,)) for name in labels)))
    with pytest.raises(InvalidArgumentError, match="may have no name, or that of") as caught:
        Database.from_frame(table, made)
    assert leaks_from_error(caught.value) == []
    texts = {str(caught.value)}
    with pytest.raises(InvalidArgumentError) as caught:
        Database.from_frame(table.rename({ends[0]: "57913579"}), made)
    assert texts == {str(caught.value)}


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
def test_an_axis_needs_no_name(table):
    made = Envelope(0, 1, labels={"from": ENDS, "to": ENDS})
    assert Database.from_frame(table, made).values.tolist() == MARKS[:4].tolist()
    plain = Envelope(0, 1, labels=Labels((Axis(tuple(ENDS)), Axis(tuple(ENDS)))))
    assert Database.from_frame(table, plain).values.tolist() == MARKS[:4].tolist()


def test_public_tables_of_other_axes_are_refused():
    low, high = (SQUARE * 0).rename_axis("from"), (SQUARE + 1).rename_axis("to")
    with pytest.raises(InvalidArgumentError, match="no other names of its axes"):
        Envelope.from_frame({"lower": low, "upper": high}, radius=0.1)


#: Tables whose labels are wrong, each in its own way.
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


def test_what_is_wrong_with_private_labels_is_not_said():
    """Which rows a private table has may be private: one text for every fault."""
    envelope = Envelope.from_frame(FACTS, name="demand")
    texts = set()
    for table in WRONG_LABELS.values():
        for form in (table, table.rename("value").to_frame()):
            with pytest.raises(InvalidArgumentError, match="one row for each label") as caught:
                Database.from_frame(form, envelope)
            assert leaks_from_error(caught.value) == []
            assert caught.value.__context__ is None
            texts.add(str(caught.value))
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
        pd.Categorical(MARKS[:3]),
        [MARKS[:2], MARKS[:2], MARKS[:2]],
    ],
)
def test_private_values_are_refused_without_being_shown(values):
    envelope = Envelope.from_frame(FACTS)
    table = pd.DataFrame({"value": values}, index=CITIES)
    if isinstance(values, pd.Categorical):
        assert Database.from_frame(table, envelope).values.tolist() == MARKS[:3].tolist()
        return
    with pytest.raises(InvalidArgumentError) as caught:
        Database.from_frame(table, envelope)
    assert leaks_from_error(caught.value) == []
    assert caught.value.__context__ is None


def test_a_missing_column_is_named_by_the_caller_only():
    envelope = Envelope.from_frame(FACTS, name="demand")
    table = pd.DataFrame({"57913579": MARKS[:3]}, index=CITIES)
    with pytest.raises(InvalidArgumentError, match="one column 'demand' or 'value'") as caught:
        Database.from_frame(table, envelope)
    assert leaks_from_error(caught.value) == []
    with pytest.raises(InvalidArgumentError, match="one column 'price'"):
        Database.from_frame(table, envelope, column="price")
    unnamed = pd.DataFrame({"": MARKS[:3], "value": 0.0}, index=CITIES)
    found = Database.from_frame(unnamed, envelope, column="")
    assert found.values.tolist() == MARKS[:3].tolist()


def test_a_table_needs_an_envelope_with_labels():
    with pytest.raises(InvalidArgumentError, match="envelope must have labels"):
        Database.from_frame(MARKED, Envelope(0, 1, shape=3))
    with pytest.raises(InvalidArgumentError, match="from_frame"):
        Database(MARKED.to_frame(), Envelope(0, 1, shape=3))


def test_tables_of_other_libraries_are_refused_by_name():
    other: Any = type("DataFrame", (), {"__module__": "polars", "columns": ["value"]})()
    with pytest.raises(InvalidArgumentError, match=r"of polars .*to_pandas"):
        Envelope.from_frame(other)
    with pytest.raises(InvalidArgumentError, match=r"frame\['values'\] must be .*of polars"):
        Database.from_frame(other, Envelope.from_frame(FACTS))
    with pytest.raises(InvalidArgumentError, match=r"frame\['values'\] must be .*of builtins"):
        Database.from_frame({"values": MARKS[:3].tolist()}, Envelope.from_frame(FACTS))


def test_a_subclass_of_a_table_is_a_table():
    class Frame(pd.DataFrame):
        pass

    class Column(pd.Series):
        pass

    envelope = Envelope.from_frame(Frame(FACTS))
    assert Database.from_frame(Column(MARKED), envelope).values.tolist() == MARKS[:3].tolist()


def test_a_table_can_wait_until_the_debit():
    envelope = Envelope.from_frame(FACTS)
    reads: list[int] = []

    def read() -> Any:
        reads.append(1)
        return Database.from_frame(MARKED, envelope).values

    waiting = Database.deferred(read, envelope)
    assert not reads
    assert waiting.values.tolist() == MARKS[:3].tolist()
