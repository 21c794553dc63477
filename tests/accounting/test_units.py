"""An account adds up only releases that protect the same change of the same unit."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dp_cmdp._src.accounting import PrivacyBudget, PrivacyLedger
from dp_cmdp._src.base import errors
from dp_cmdp._src.data import Envelope

HALF = PrivacyBudget("1/2", "1/4000")
HERE = Path(__file__).parent
#: A ledger as versions wrote it that knew no units, and one of version 0.1 with adjacencies.
BEFORE_UNITS, OLD = HERE / "ledger-of-version-1.sqlite", HERE / "ledger.sqlite"
HEAD_BEFORE_UNITS = "7:6e48a240b02b2627c4c011ea3e95f698b888e1bb72334b3b70d76d4bc1e8e243"
CITIES = ["Bern", "Basel", "Genf"]


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return account(tmp_path / "ledger.sqlite")


def account(path: Path, *, unit: str = "one patient") -> PrivacyLedger:
    return PrivacyLedger.create(path, "clinic", epsilon=20, delta="1/1000", unit=unit)


def accepted(ledger: PrivacyLedger, *envelopes: Envelope) -> None:
    for envelope in envelopes:
        before = ledger.spent
        ledger.debit(HALF, envelope)
        assert ledger.spent == before + HALF


def refused(ledger: PrivacyLedger, envelope: Envelope, *words: str) -> None:
    """Nothing is spent or written, and the text says why and what to do."""
    before, written = ledger.spent, ledger.path.read_bytes()
    with pytest.raises(errors.InvalidArgumentError) as caught:
        ledger.debit(HALF, envelope)
    assert ledger.spent == before
    assert ledger.path.read_bytes() == written
    for word in (*words, "nothing was recorded"):
        assert word in str(caught.value)


def group(**facts: Any) -> Envelope:
    facts = {"shape": 3, "radius": 0.1} | facts
    if "labels" in facts:
        del facts["shape"]
    return Envelope(facts.pop("lower", 0), facts.pop("upper", 2), **facts)


def prices(name: str = "price", **facts: Any) -> Envelope:
    return Envelope.join({name: group(**facts)})


# ------------------------------------------------------------------------------ the unit in words


def test_an_account_keeps_the_unit_it_was_created_with(ledger: PrivacyLedger) -> None:
    account(ledger.path)  # again: nothing changes
    assert ledger.unit == "one patient"
    with pytest.raises(errors.InvalidArgumentError, match=r"one patient.*one visit"):
        account(ledger.path, unit="one visit")


@pytest.mark.parametrize("unit", ["", "  ", "x" * 201, "a\0", None, 3])
def test_a_new_account_needs_a_unit_in_words(tmp_path: Path, unit: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="unit"):
        account(tmp_path / "ledger.sqlite", unit=unit)
    assert not (tmp_path / "ledger.sqlite").exists()


# ----------------------------------------------------------------------------- radius and records


@pytest.mark.parametrize("radius", [0.5, 1, None, 0.05, [0.1, 0.1, 0.10000000000000002]])
def test_an_entry_changes_by_one_amount_in_all_releases(ledger: PrivacyLedger, radius: Any) -> None:
    accepted(ledger, prices())
    refused(ledger, prices(radius=radius), "price[", "0.1", "State the radius")
    accepted(ledger, prices())


JOINED = [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("records", JOINED)
def test_entries_of_one_record_were_of_one_record_before(
    ledger: PrivacyLedger, records: list[int]
) -> None:
    accepted(ledger, prices())
    refused(ledger, prices(records=records), "price[0]", "one record", "as before")


@pytest.mark.parametrize("records", [[0, 1, 2], *JOINED[1:]])
def test_entries_of_one_record_stay_so(ledger: PrivacyLedger, records: list[int]) -> None:
    accepted(ledger, prices(records=[0, 0, 0]))
    refused(ledger, prices(records=records), "one record")


def test_records_are_the_same_whatever_they_are_called(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(records=["b", "a", "b"]), prices(records=[5, 7, 5]))


def test_records_that_several_releases_join_are_one(ledger: PrivacyLedger) -> None:
    """Who has a and b, and b and c, has all three: they cannot be two people elsewhere."""

    def of(cities: list[str], records: list[int]) -> Envelope:
        return prices(labels=cities, records=records)

    accepted(ledger, of(CITIES[:2], [0, 0]), of(CITIES[1:], [0, 0]))
    refused(ledger, of([CITIES[0], CITIES[2]], [0, 1]), "Bern", "Genf")
    accepted(ledger, of([CITIES[2], CITIES[0]], [4, 4]))


def test_every_earlier_release_counts_not_only_the_last(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(), prices("weight", radius=1), prices("age", radius=2))
    for name, radius in (("price", 1), ("weight", 2), ("age", 1)):
        refused(ledger, prices(name, radius=radius), f"{name}[")


def test_releases_about_different_entries_add_up(ledger: PrivacyLedger) -> None:
    accepted(
        ledger,
        prices(labels=CITIES),
        prices(labels=["Chur", "Biel", "Thun"], radius=0.5, records=[0, 0, 0]),
        prices(labels=["Bern", "Visp", "Thun"], radius=[0.1, 2, 0.5]),
        prices("weight", radius=1),
    )


def test_an_entry_is_known_by_its_label_wherever_it_stands(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(labels=CITIES, radius=[0.1, 0.2, 0.3]))
    accepted(ledger, prices(labels=CITIES[::-1], radius=[0.3, 0.2, 0.1]))
    refused(ledger, prices(labels=CITIES[::-1], radius=[0.1, 0.2, 0.3]), "Genf", "0.3")


def test_entries_without_labels_are_known_by_their_place_in_a_group_of_one_shape(
    ledger: PrivacyLedger,
) -> None:
    accepted(ledger, prices(shape=(2, 2)))
    for other in (prices(shape=4), prices(shape=(2, 3)), prices(labels=CITIES)):
        refused(ledger, other, "'price'", "cannot be compared", "name the group")


def test_one_record_may_reach_across_groups_that_were_released_one_by_one(
    ledger: PrivacyLedger,
) -> None:
    accepted(ledger, prices("weight", radius=1), prices())
    groups = {"weight": group(radius=1), "price": group()}
    accepted(ledger, Envelope.join(groups, records={name: [0, 1, 2] for name in groups}))
    refused(ledger, Envelope.join(groups), "price[0]", "weight[0]")


def test_bounds_may_be_others(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(), prices(lower=-1, upper=5))


def test_a_large_envelope_is_stored_once(ledger: PrivacyLedger) -> None:
    large = prices(shape=20_000, records=[k // 2 for k in range(20_000)])
    accepted(ledger, large)
    size = ledger.path.stat().st_size
    accepted(ledger, large, large)
    assert ledger.path.stat().st_size <= size + 4096


# ----------------------------------------------------------- people who share or change few entries


def test_a_person_at_few_of_many_places_is_one_unit(ledger: PrivacyLedger) -> None:
    people = prices(shape=3, entries_per_record=2)
    accepted(ledger, people, prices(shape=3, entries_per_record=2))
    for other in (prices(), prices(entries_per_record=3), prices(records=[0, 0, 0])):
        refused(ledger, other, "how many change at once")
    accepted(ledger, prices("weight", radius=1))


def test_one_entry_of_many_is_one_entry(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(), prices(entries_per_record=1), prices(records=[0, 1, 2]))


def test_a_limit_that_limits_nothing_is_none(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(records=[0, 0, 1]), prices(records=[0, 0, 1], entries_per_record=2))


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_records_that_overlap_are_compared_as_a_whole(
    ledger: PrivacyLedger, order: list[int]
) -> None:
    change = [[0.1, 0.1, 0], [0, 0.2, 0.2]]
    accepted(ledger, prices(radius=None, change=change))
    accepted(ledger, prices(radius=None, change=[change[k] for k in order]))
    refused(ledger, prices(radius=None, change=[[0.1, 0.1, 0], [0, 0.2, 0.1]]))
    refused(ledger, prices(radius=[0.1, 0.2, 0.2]), "records of 'price' are others")


# --------------------------------------------------------------------------------------- old files


def test_a_ledger_before_units_counts_unchanged_and_spends_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(BEFORE_UNITS, tmp_path / "old.sqlite"))
    clinic, site = PrivacyLedger(path, "clinic 2024"), PrivacyLedger(path, "site-7")
    assert (clinic.spent.epsilon, clinic.spent.delta) == (Fraction(4, 5), Fraction(13, 30000))
    assert (site.spent.epsilon, len(site.entries())) == (Fraction(1, 7), 1)
    assert clinic.verify(HEAD_BEFORE_UNITS).pinned
    assert path.read_bytes() == BEFORE_UNITS.read_bytes()
    accepted(clinic, prices())
    refused(clinic, prices(radius=1), "price")
    site.debit(PrivacyBudget("1/7", "1/30000"))
    with pytest.raises(errors.BudgetExceededError):
        site.debit(PrivacyBudget("1/7", "1/30000"))
    assert clinic.verify(HEAD_BEFORE_UNITS).head.count == 9


def test_the_unit_of_an_old_account_can_be_added_once(tmp_path: Path) -> None:
    path = Path(shutil.copy(BEFORE_UNITS, tmp_path / "old.sqlite"))
    total: dict[str, Any] = {"epsilon": 2, "delta": "1/1000"}
    assert PrivacyLedger(path, "clinic 2024").unit == ""
    made = PrivacyLedger.create(path, "clinic 2024", **total, unit="one patient")
    assert PrivacyLedger.create(path, "clinic 2024", **total, unit="one patient") == made
    assert made.unit == "one patient"
    assert made.verify(HEAD_BEFORE_UNITS).head.count == 8
    with pytest.raises(errors.InvalidArgumentError, match=r"one patient.*one visit"):
        PrivacyLedger.create(path, "clinic 2024", **total, unit="one visit")
    with pytest.raises(errors.InvalidArgumentError, match="already has the total"):
        PrivacyLedger.create(path, "clinic 2024", epsilon=3, delta="1/1000", unit="one patient")


def test_a_ledger_of_version_0_1_counts_unchanged_and_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD, tmp_path / "old.sqlite"))
    for said in json.loads((HERE / "ledger.json").read_text()):
        found = PrivacyLedger(path, said["account"])
        for name in ("total", "spent", "remaining"):
            budget = getattr(found, name)
            assert [str(budget.epsilon), str(budget.delta)] == said[name]
        assert len(found.entries()) == said["debits"]
        assert found.head.hash == said["head"]
    assert path.read_bytes() == OLD.read_bytes()
    accepted(PrivacyLedger(path, "untouched"), prices())


def test_an_adjacency_is_written_as_version_0_1_wrote_it(tmp_path: Path) -> None:
    """So that an account goes on with the digests that it knows."""
    envelope = Envelope.join({"price": Envelope(0, 1, radius=0.1, labels=["Bern", "Basel"])})
    said = (
        '[{"labels":[["Bern","Basel"]],"levels":[[""]],"name":"price","radius":[0.1,0.1],'
        '"records":[0,1],"shape":[2]}]'
    )
    assert envelope.adjacency().text == said
    dated = Envelope(0, 1, radius=0.1, labels={"day": [10.0, 11]})
    assert '"labels":[[10,11]],"levels":[["day"]]' in dated.adjacency().text
