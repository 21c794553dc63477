"""Envelopes: bounds, records, people who share entries, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dp_cmdp._src.base.documents import document_digest, read_document, write_document
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope


def joined(**more: Any) -> Envelope:
    return Envelope.join(
        {
            "prices": Envelope(0.0, 1.0, radius=0.1, shape=(2, 3)),
            "budgets": Envelope([5.0, 6.0], [10.0, 12.0], radius=[1.0, 2.0]),
        },
        **more,
    )


def owners(envelope: Envelope) -> list[int]:
    assert envelope.owners is not None
    return envelope.owners.tolist()


def kept(envelope: Envelope, path: Any) -> Envelope:
    """The envelope after a visit to a file."""
    content = envelope.document()
    made = read_document(write_document(path, "envelope", content), "envelope")[2]
    assert document_digest("envelope", made) == document_digest("envelope", content)
    return Envelope.from_document(made)


# ------------------------------------------------------------------------------ bounds and groups


def test_groups_keep_their_places() -> None:
    envelope = joined()
    assert [(g.name, g.shape, g.start, g.stop) for g in envelope.groups] == [
        ("prices", (2, 3), 0, 6),
        ("budgets", (2,), 6, 8),
    ]
    assert envelope["prices"].entry.tolist() == [0, 1, 2, 3, 4, 5]
    assert envelope["budgets"].entry.tolist() == [6, 7]
    assert envelope.radius.tolist() == [0.1] * 6 + [1.0, 2.0]
    assert envelope.size == envelope[:].size == 8
    with pytest.raises(InvalidArgumentError, match="'prices', 'budgets'; got 'price'"):
        envelope["price"]
    numbers = envelope.lower, envelope.radius, envelope.step
    for array in (*numbers, envelope.change.data, envelope.moves.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


CHANGES: dict[str, Any] = {
    "lower": lambda: Envelope([0.25, 1.0], [3.0, 1.5], radius=0.5),
    "upper": lambda: Envelope([0.0, 1.0], [3.0, 2.0], radius=0.5),
    "radius": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=[0.5, 0.25]),
    "records": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5, records=[0, 0]),
    "name": lambda: Envelope.join({"x": Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5)}),
    "shape": lambda: Envelope([[0.0, 1.0]], [[3.0, 1.5]], radius=0.5),
    "labels": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5, labels=["a", "b"]),
}


def test_envelopes_that_say_the_same_are_equal_and_hash_alike() -> None:
    one, other = (
        Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5),
        Envelope([-0.0, 1.0], [3.0, 1.5], radius=[0.5, 0.5], records=[4, 9]),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != "another kind of thing"


@pytest.mark.parametrize("changed", CHANGES)
def test_envelopes_that_differ_in_one_public_number_or_name_are_not_equal(changed: str) -> None:
    one, other = Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5), CHANGES[changed]()
    assert one != other
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        Database._of(Database(other.lower, other), one)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1.0, 0.0, {}), "lower must be below upper"),
        ((np.nan, 1.0, {}), "lower must be finite"),
        ((-1.7e308, 1.7e308, {}), "finite float"),
        ((0.0, 1.0, {"radius": 0.0}), "radius must be positive"),
        ((0.0, 1.0, {"radius": 1.5}), "radius must not exceed"),
        (([0.0, 0.0], [1.0, 1.0, 1.0], {}), "broadcast"),
        ((0.0, 1.0, {"shape": 0}), "at least one entry"),
        ((0.0, 1.0, {"shape": 3, "labels": ["a", "b"]}), "labels must be of the shape"),
        ((0.0, 1.0, {"entries_per_record": 0}), "entries_per_record must be at least 1"),
    ],
)
def test_bad_envelopes_are_refused_by_name(arguments: Any, named: str) -> None:
    lower, upper, options = arguments
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope(lower, upper, **options)


# ------------------------------------------------------------------------------------ whole range


def test_the_default_radius_is_the_whole_range_and_said() -> None:
    assert Envelope([0.0, 1.0], [3.0, 1.5]).radius.tolist() == [3.0, 0.5]
    assert "whole range" in repr(Envelope(0, 1, shape=3))
    assert "whole range" not in repr(Envelope(0, 1, radius=0.1, shape=3))
    groups = {"price": Envelope(0, 1, radius=0.1, shape=3), "budget": Envelope(5, 9, shape=2)}
    assert "whole range" in repr(Envelope.join(groups))


def test_the_whole_range_is_never_rounded_down() -> None:
    rng = np.random.default_rng(0)
    for lo, hi in [(-3.0, 1.8), *rng.uniform(-10, 10, (300, 2)).round(2).tolist()]:
        lower, upper = min(lo, hi), max(lo, hi)
        if lower < upper:
            radius = Envelope([lower], [upper]).radius[0]
            assert Fraction(radius) >= Fraction(upper) - Fraction(lower)
            assert radius <= (upper - lower) * (1 + 1e-15)


THIRD = Fraction(1, 3)
LARGE = 2**53 + 1
EXACT: dict[str, Any] = {
    "a fraction": THIRD,
    "a decimal": Decimal("0.1"),
    "an integer beyond the floats": LARGE,
    "a huge integer": 10**200 + 1,
    "an integer of numpy": np.int64(LARGE),
    "a long double": np.longdouble(1) / 3,
}


@pytest.mark.parametrize("name", EXACT)
def test_bounds_of_exact_type_are_rounded_outwards_and_radii_up(name: str) -> None:
    number = EXACT[name]
    whole = isinstance(number, np.integer)
    exactly = Fraction(int(number)) if whole else Fraction(*number.as_integer_ratio())
    for given in (number, [number], np.array([number]), [number, 0.5]):
        high, low = Envelope(-1e250, given), Envelope(given, 1e250)
        assert Fraction(low.lower[0]) <= exactly <= Fraction(high.upper[0])
        assert np.nextafter(low.lower[0], np.inf) > exactly
        assert np.nextafter(high.upper[0], -np.inf) < exactly
    radius = Envelope(0, [number * 2], radius=[number]).radius
    assert radius[0] >= exactly


# ---------------------------------------------------------------------------------------- records


def test_records_are_rows_of_the_changes() -> None:
    envelope = Envelope(0, 1, radius=[0.1, 0.2, 0.3], records=["ann", "bob", "ann"])
    assert owners(envelope) == [0, 1, 0]
    assert envelope.change.toarray().tolist() == [[0.1, 0, 0.3], [0, 0.2, 0]]
    assert envelope.changes == "one record of up to 2 entries changes"


def test_records_may_reach_across_groups() -> None:
    names = {"prices": [["Acme", "Bolt", "Cone"]] * 2, "budgets": ["Bolt", "Acme"]}
    assert owners(joined(records=names)) == [0, 1, 2, 0, 1, 2, 1, 0]
    with pytest.raises(InvalidArgumentError, match="same groups"):
        joined(records={"prices": names["prices"]})
    with pytest.raises(InvalidArgumentError, match=r"records\['budgets'\] must broadcast"):
        joined(records={**names, "budgets": ["a", "b", "c"]})


def test_a_level_of_the_labels_can_say_whose_entries_they_are() -> None:
    price = Envelope(0.0, 1.0, labels={"group": ["old", "new"], "advertiser": ["Acme", "Bolt"]})
    budget = Envelope(5.0, 9.0, labels={"advertiser": ["Bolt", "Acme"]})
    both = Envelope.join({"price": price, "budget": budget}, records="advertiser")
    assert owners(both) == [0, 1, 0, 1, 1, 0]
    with pytest.raises(InvalidArgumentError, match="'budget' has 'advertiser', not 'group'"):
        Envelope.join({"price": price, "budget": budget}, records="group")
    with pytest.raises(InvalidArgumentError, match="'rest' has no labels"):
        Envelope.join({"rest": Envelope(0, 1)}, records="group")
    labels = {"day": [1, 2], "person": ["ann", "bob"]}
    assert owners(Envelope(0.0, 1.0, labels=labels, records="person")) == [0, 1, 0, 1]


def test_groups_that_state_records_are_joined_only_with_records_again() -> None:
    """One person may be in two of them."""
    named = Envelope(0, 1, radius=0.1, shape=2, records=["ann", "bob"])
    people = Envelope(0, 1, radius=0.1, shape=2, entries_per_record=1)
    plain = Envelope(0, 1, radius=0.1, shape=2)
    for both in ({"a": named, "b": named}, {"a": people, "b": people}, {"a": named, "b": people}):
        with pytest.raises(InvalidArgumentError, match="a, b state records"):
            Envelope.join(both)
    again = Envelope.join({"a": named, "b": named}, records={k: ["ann", "bob"] for k in "ab"})
    assert again.changes == "one record of up to 2 entries changes"
    assert Envelope.join({"price": named, "limit": plain}).changes == "one entry changes"
    limited = Envelope.join({"people": people, "limit": plain})
    assert limited.entries_per_record == 1
    assert limited.change.toarray().tolist() == [[0.1, 0.1, 0, 0], [0, 0, 0.1, 0], [0, 0, 0, 0.1]]


def test_one_person_at_few_of_many_places() -> None:
    visits = Envelope(0, 5000, shape=100, radius=1, entries_per_record=3)
    assert visits.change.shape == (1, 100)
    assert visits.changes == "one record changes up to 3 of its entries"
    both = joined(entries_per_record=2)
    assert both.change.shape == (1, 8)
    wards = Envelope(0, 9, radius=1, records=["n", "n", "s"], shape=3, entries_per_record=1)
    assert wards.change.shape == (2, 3)
    assert wards.changes == "one entry changes"


# ----------------------------------------------------------------------------- changes of any kind


CHANGE = [[0.1, 0.1, 0.0], [0.0, 0.2, 0.3]]


@pytest.mark.parametrize(
    "form", [list, np.array, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array]
)
def test_people_may_share_entries(form: Any) -> None:
    envelope = Envelope(0, 1, change=form(CHANGE))
    assert envelope.size == 3
    assert envelope.radius.tolist() == [0.1, 0.2, 0.3]
    assert envelope.owners is None
    assert envelope.to_frame()["records"].tolist() == [1, 2, 1]
    assert joined(change=np.tile([[0.1] * 6 + [1, 1]], (2, 1))).change.shape == (2, 8)


def twice() -> Any:
    return sparse.coo_array(([0.1, 0.1, 0.1], ([0, 0, 0], [0, 0, 1])), shape=(1, 2))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ([[0.1, -0.1]], "change must not be negative"),
        ([[0.1, 0.0]], "record for every entry; the first without is entry 1"),
        ([[0.1, 0.1, 0.1]], "change must have 2 columns"),
        ([[0.1, 1.5]], "radius must not exceed"),
        (twice(), "once|several entries"),
        (sparse.csr_array((np.ones(2) / 9, [0, 7], [0, 2]), shape=(1, 2)), "once|sound"),
    ],
)
def test_changes_that_are_no_adjacency_are_refused(change: Any, named: str) -> None:
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope(0, 1, shape=2, change=change)


# ------------------------------------------------------------------------------------------- files


ENVELOPES: dict[str, Any] = {
    "groups": joined,
    "records": lambda: joined(records={"prices": [["a", "b", "c"]] * 2, "budgets": ["b", "a"]}),
    "people": lambda: Envelope(0, 1, shape=3, entries_per_record=2),
    "shared": lambda: Envelope(0, 1, change=CHANGE),
    "labels": lambda: Envelope(
        0, 1, labels={"city": ["Bern"], "day": pd.date_range("2024", periods=2)}
    ),
    "nothing": Envelope._empty,
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_an_envelope_survives_a_file(name: str, tmp_path: Any) -> None:
    made = ENVELOPES[name]()
    read = kept(made, tmp_path / "envelope.npz")
    assert read == made
    assert repr(read) == repr(made)
    assert read == made
    assert (read.moves != made.moves).nnz == 0


FORGED: dict[str, Any] = {
    "a negative change": {"change": np.array([-0.1, 0.1])},
    "a record deleted": {"change_record": np.array([0]), "change_entry": np.array([0])},
    "a pair twice": {"change_record": np.array([0, 0]), "change_entry": np.array([0, 0])},
    "an entry outside": {"change_entry": np.array([0, 2])},
    "a record outside": {"change_record": np.array([0, 9])},
    "a limit of none": {"entries_per_record": 0},
    "a limit that is no number": {"entries_per_record": "1"},
    "crossed bounds": {"lower": np.array([0.0, 2.0])},
    "another length": {"upper": np.ones(3)},
    "groups of other sizes": {"groups": [{"name": "x", "shape": [3], "labels": []}]},
    "a group twice": {"groups": [{"name": "x", "shape": [1], "labels": []}] * 2},
    "labels of another shape": {
        "groups": [{"name": "x", "shape": [2], "labels": [{"names": [""], "labels": ["a"]}]}]
    },
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_envelope_is_refused(name: str) -> None:
    content = Envelope(0, 1, radius=0.1, shape=2).document() | FORGED[name]
    with pytest.raises(InvalidArgumentError):
        Envelope.from_document(content)


def test_names_of_records_are_not_forgotten_by_joining_twice() -> None:
    """Ann in both groups is one person, who must be counted as one."""
    both = [Envelope(0, 1, shape=2, records=["Ann", other], radius=0.1) for other in ("Bo", "Cy")]
    inner = Envelope.join({"p": both[0]})
    with pytest.raises(InvalidArgumentError, match="whose entries are whose"):
        Envelope.join({"p": inner, "q": both[1]})
    reread = Envelope.from_document(both[0].document())
    with pytest.raises(InvalidArgumentError, match="whose entries are whose"):
        Envelope.join({"p": reread, "q": both[1]})


def test_exact_changes_are_rounded_up_as_radii_are() -> None:
    more = Fraction(2**60 + 1, 2**60)
    both: list[dict[str, Any]] = [{"radius": [more]}, {"change": [[more]]}]
    by_radius, by_change = (Envelope(0, 8, shape=1, **said) for said in both)
    assert by_change.moves.data.tolist() == by_radius.moves.data.tolist() == [65537]
