"""Labels are public, distinct, of plain kinds, and count when envelopes are compared."""

import datetime as dt
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    release_database,
    solve_private,
)
from dp_cmdp.data.labels import Labels
from dp_cmdp.errors import InvalidArgumentError

GROUPS, ADVERTISERS = ["young", "old", "rich"], ["Acme", "B&Co"]


def prices(**facts: Any) -> Envelope:
    labels = {"group": GROUPS, "advertiser": ADVERTISERS}
    return Envelope(0.0, 1.0, radius=0.1, labels=labels, name="price", **facts)


def test_labels_give_the_shape_and_the_index():
    found = prices()
    assert found.groups == (("price", (3, 2)),)
    index = found.to_frame().index
    assert index.names == ["group", "advertiser"]
    assert index.tolist()[:3] == [("young", "Acme"), ("young", "B&Co"), ("old", "Acme")]


def test_entries_without_labels_have_their_positions():
    frame = Envelope(0.0, 1.0, shape=(2, 2)).to_frame()
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame["group"].tolist() == ["values"] * 4
    assert frame["entry"].tolist() == [0, 1, 2, 3]


def test_joined_groups_keep_their_labels_side_by_side():
    budget = Envelope(5.0, 9.0, labels={"advertiser": ADVERTISERS})
    joined = Envelope.join({"price": prices(), "budget": budget, "rest": Envelope(0, 1, shape=1)})
    index = joined.to_frame().index
    assert index.tolist()[-3:] == [("budget", "Acme"), ("budget", "B&Co"), ("rest", 0)]
    assert index[0] == ("price", ("young", "Acme"))
    own = joined.to_frame(group="price").index
    assert own.equals(prices().to_frame().index)
    with pytest.raises(InvalidArgumentError, match="group must be one of price, budget, rest"):
        joined.to_frame(group="prices")


def test_a_level_of_the_labels_can_say_whose_entries_they_are():
    budget = Envelope(5.0, 9.0, labels={"advertiser": ADVERTISERS[::-1]})
    joined = Envelope.join({"price": prices(), "budget": budget}, records="advertiser")
    assert joined.records.tolist() == [0, 1, 0, 1, 0, 1, 1, 0]
    with pytest.raises(InvalidArgumentError, match="'budget' has 'advertiser', not 'group'"):
        Envelope.join({"price": prices(), "budget": budget}, records="group")
    with pytest.raises(InvalidArgumentError, match="'rest' has no labels"):
        Envelope.join({"rest": Envelope(0, 1)}, records="group")


def test_envelopes_with_other_labels_are_others():
    same = Envelope(0, 1, labels=["a", "b"])
    assert same == Envelope(0, 1, labels=["a", "b"])
    assert hash(same) == hash(Envelope(0, 1, labels=["a", "b"]))
    assert same != Envelope(0, 1, labels=["b", "a"])
    assert same != Envelope(0, 1, shape=2)
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        Database([0.5, 0.5], same).check_envelope(Envelope(0, 1, labels=["b", "a"]))


def test_a_release_of_entries_with_other_labels_does_not_fit():
    def program(labels: Any) -> ParametricLP:
        envelope = Envelope(0.5, 1.0, radius=0.1, shape=2, labels=labels)
        A = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        return ParametricLP(envelope, c=[1.0, 1.0], A=A, b=[1.0])

    mine = program(["a", "b"])
    database = Database([0.75, 0.75], mine.envelope)
    release = release_database(database, PrivacyBudget(1, "1/1000"), rng=np.random.default_rng(0))
    assert solve_private(mine, release).certificate
    with pytest.raises(InvalidArgumentError, match="the labels of their entries differ"):
        solve_private(program(["b", "a"]), release)
    assert solve_private(program(None), release).certificate
    unnamed = Database([0.75, 0.75], program(None).envelope)
    with pytest.raises(InvalidArgumentError, match="or it has none"):
        solve_private(mine, release_database(unnamed, PrivacyBudget(1, "1/1000")))


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
def test_labels_of_every_kind_survive_a_file_bit_for_bit(labels, tmp_path):
    made = Envelope(0.0, 1.0, labels=labels)
    read = Envelope.load(made.save(tmp_path / "envelope.npz"))
    assert read == made
    assert read.document().digest == made.document().digest
    assert read.to_frame().index.equals(made.to_frame().index)
    assert read.to_frame().index.names == made.to_frame().index.names
    assert [type(a) for a in read.labels[0].axes[0].labels] == [
        type(a) for a in made.labels[0].axes[0].labels
    ]


def test_labels_are_python_values_whoever_gave_them():
    given = [np.str_("a"), np.int64(3), np.float32(0.5), np.bool_(True)]
    found = [Labels.of([label]).axes[0].labels[0] for label in given]
    assert [type(label) for label in found] == [str, int, float, bool]


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["a", "a"], "'a' is there twice"),
        ([1, 1.0], "1 is there twice"),
        (["a", None], "got NoneType"),
        (["a", float("nan")], "got nan"),
        ([pd.NaT, pd.Timestamp(0)], "got NaTType"),
        ([pd.Interval(0, 1)], "got Interval"),
        ([2**70], "got int"),
        ([dt.timedelta.max], "got timedelta"),
        ([np.datetime64("NaT")], "got datetime64"),
        ([b"a"], "got bytes"),
        ([("a", 1), ("a",)], "tuples of one length"),
        ([("a", 1), "a"], "tuples of one length"),
        ([((1, 2), 3)], "got tuple"),
        ([], "at least one label"),
        ({}, "at least one axis"),
        ("ab", "must be a sequence"),
        ({1: ["a"]}, "an axis of labels must be a text"),
        (["\ud800"], "valid characters"),
        ({"a", "b"}, "in order"),
        (pd.DataFrame({"a": [1], "b": [2]}), "pass frame.index"),
        ([["a", "b"], ["c"]], "several axes are a mapping"),
        (pd.MultiIndex.from_tuples([(1, 2)], names=["x", "x"]), "levels of different names"),
    ],
)
def test_labels_that_say_nothing_or_too_much_are_refused(labels, named):
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope(0.0, 1.0, labels=labels)


def test_labels_of_another_shape_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"labels must be of the shape \(3,\)"):
        Envelope(0.0, 1.0, shape=3, labels=["a", "b"])
    with pytest.raises(InvalidArgumentError, match="broadcast"):
        Envelope([0.0, 0.0, 0.0], 1.0, labels=["a", "b"])
    with pytest.raises(InvalidArgumentError, match="at most"):
        Envelope(0.0, 1.0, labels={"a": range(10**5), "b": range(10**5)})


@pytest.mark.parametrize(
    "wrong",
    [
        {"lower": [0.0, 2.0, 0.0], "upper": 1.0},
        {"lower": 0.0, "upper": 1.0, "radius": [0.1, 0.0, 0.1]},
        {"lower": 0.0, "upper": 1.0, "radius": [0.1, 2.0, 0.1]},
    ],
)
def test_an_entry_at_fault_is_named_by_its_label(wrong):
    with pytest.raises(InvalidArgumentError, match=r"entry 1 \(values: wood\)"):
        Envelope(**cast(Any, wrong), labels=["steel", "wood", "hours"])


def test_variables_have_labels_that_reach_the_solution():
    program = ParametricLP(
        Envelope(0.5, 1.0, shape=1),
        c=[1.0, 2.0, 3.0, 4.0],
        A=Affine((1, 4), constant=[[1.0] * 4]),
        b=Affine(1, at=[0], entry=[0]),
        variables={"from": ["A", "B"], "to": ["C", "D"]},
    )
    release = release_database(
        Database([0.75], program.envelope), PrivacyBudget(1, 0.001), rng=np.random.default_rng(0)
    )
    frame = solve_private(program, release).to_frame()
    assert frame.index.names == ["from", "to"]
    assert frame["x"].unstack().columns.tolist() == ["C", "D"]
    assert frame["x"].idxmax() == ("B", "D")
    with pytest.raises(InvalidArgumentError, match="variables must have 4 labels, got 2"):
        ParametricLP(program.envelope, c=[1.0] * 4, variables=["a", "b"])
