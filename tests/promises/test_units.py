"""An account adds up only releases that protect the same change of the same unit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.promises.adapter import (
    Envelope,
    PrivacyBudget,
    PrivacyLedger,
    errors,
    new_account,
    protecting,
    publish,
    spent,
)

SPEND: dict[str, Any] = {"epsilon": "1/2", "delta": "1/4000"}
#: A ledger as versions wrote it that knew no units: total and debits of two accounts.
OLD = Path(__file__).parent / "data" / "ledger-of-version-1.sqlite"
OLD_HEAD = "7:6e48a240b02b2627c4c011ea3e95f698b888e1bb72334b3b70d76d4bc1e8e243"
CITIES = ["Bern", "Basel", "Genf"]


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return new_account(tmp_path / "ledger.sqlite", unit="one patient")


class Values:
    """Private values in the middle of their bounds, and whether anybody has read them."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.was_read = False

    def __call__(self) -> Any:
        self.was_read = True
        return (self.envelope.lower + self.envelope.upper) / 2


def accepted(ledger: PrivacyLedger, *envelopes: Envelope) -> None:
    for envelope in envelopes:
        before = spent(ledger)
        publish(envelope, Values(envelope), ledger=ledger, **SPEND)
        assert spent(ledger) == before + 0.5


def refused(ledger: PrivacyLedger, envelope: Envelope, *words: str) -> None:
    """Nothing is spent, written or read, and the text says why and what to do."""
    values, before, written = Values(envelope), spent(ledger), ledger.path.read_bytes()
    with pytest.raises(errors.InvalidArgumentError) as caught:
        publish(envelope, values, ledger=ledger, **SPEND)
    assert not values.was_read
    assert spent(ledger) == before
    assert ledger.path.read_bytes() == written
    for word in (*words, "nothing was recorded"):
        assert word in str(caught.value)


def prices(**facts: Any) -> Envelope:
    facts = {"shape": 3, "name": "price", "radius": 0.1} | facts
    return Envelope(facts.pop("lower", 0), facts.pop("upper", 2), **facts)


# ------------------------------------------------------------------------------ the unit in words


def test_a_debit_of_another_unit_is_refused(ledger: PrivacyLedger) -> None:
    visits = protecting(ledger, unit="one visit")
    refused(visits, prices(), "'one patient'", "'one visit'", "name another account")
    accepted(protecting(ledger, unit="one patient"), prices())


def test_an_account_keeps_the_unit_it_was_created_with(ledger: PrivacyLedger) -> None:
    new_account(ledger.path, unit="one patient")  # again: nothing changes
    with pytest.raises(errors.InvalidArgumentError, match=r"one patient.*one visit"):
        new_account(ledger.path, unit="one visit")


@pytest.mark.parametrize("unit", ["", "  ", "x" * 201, "a\0", None, 3])
def test_a_new_account_needs_a_unit_in_words(tmp_path: Path, unit: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="unit"):
        new_account(tmp_path / "ledger.sqlite", unit=unit)
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
        return prices(shape=len(cities), labels=cities, records=records)

    accepted(ledger, of(CITIES[:2], [0, 0]), of(CITIES[1:], [0, 0]))
    refused(ledger, of([CITIES[0], CITIES[2]], [0, 1]), "Bern", "Genf")
    accepted(ledger, of([CITIES[2], CITIES[0]], [4, 4]))


def test_every_earlier_release_counts_not_only_the_last(ledger: PrivacyLedger) -> None:
    accepted(ledger, prices(), prices(name="weight", radius=1), prices(name="age", radius=2))
    for name, radius in (("price", 1), ("weight", 2), ("age", 1)):
        refused(ledger, prices(name=name, radius=radius), f"{name}[")


def test_releases_about_different_entries_add_up(ledger: PrivacyLedger) -> None:
    accepted(
        ledger,
        prices(labels=CITIES),
        prices(labels=["Chur", "Biel", "Thun"], radius=0.5, records=[0, 0, 0]),
        prices(labels=["Bern", "Visp", "Thun"], radius=[0.1, 2, 0.5]),
        prices(name="weight", radius=1),
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
    groups = {"weight": prices(name="weight", radius=1), "price": prices()}
    accepted(ledger, *groups.values())
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
    people = prices(entries_per_record=2)
    accepted(ledger, people, prices(entries_per_record=2))
    for other in (prices(), prices(entries_per_record=3), prices(records=[0, 0, 0])):
        refused(ledger, other, "how many change at once")
    accepted(ledger, prices(name="weight", radius=1))


def test_one_entry_of_many_and_a_limit_that_limits_nothing_change_no_unit(
    ledger: PrivacyLedger,
) -> None:
    accepted(ledger, prices(), prices(entries_per_record=1), prices(records=[0, 1, 2]))
    pair = {"name": "weight", "records": [0, 0, 1]}
    accepted(ledger, prices(**pair), prices(**pair, entries_per_record=2))


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


@pytest.fixture
def old(tmp_path: Path) -> PrivacyLedger:
    shutil.copy(OLD, tmp_path / "old.sqlite")
    return PrivacyLedger(tmp_path / "old.sqlite")


def sums(ledger: PrivacyLedger) -> dict[str, tuple[Fraction, Fraction, int]]:
    return {
        each.account: (each.spent.epsilon, each.spent.delta, each.debits)
        for each in ledger.verify("clinic 2024", OLD_HEAD).balances
    }


OLD_SUMS = {
    "clinic 2024": (Fraction(4, 5), Fraction(13, 30000), 4),
    "site-7": (Fraction(1, 7), Fraction(1, 30000), 1),
}


def test_an_old_ledger_counts_unchanged(old: PrivacyLedger) -> None:
    written = old.path.read_bytes()
    assert sums(old) == OLD_SUMS
    assert old.verify("clinic 2024", OLD_HEAD).pinned
    assert old.path.read_bytes() == written == OLD.read_bytes()


def in_old(envelope: Envelope) -> Callable[[PrivacyLedger], Any]:
    return lambda old: publish(envelope, Values(envelope), ledger=old, name="clinic 2024", **SPEND)


def test_an_old_account_spends_on_and_its_first_release_says_what_it_protects(
    old: PrivacyLedger,
) -> None:
    in_old(prices())(old)
    spent_now = OLD_SUMS["clinic 2024"]
    more = (spent_now[0] + Fraction(1, 2), spent_now[1] + Fraction(1, 4000), 5)
    assert sums(old) == OLD_SUMS | {"clinic 2024": more}
    assert old.verify("clinic 2024", OLD_HEAD).head.count == 8
    with pytest.raises(errors.InvalidArgumentError, match="price"):
        in_old(prices(radius=1))(old)
    assert sums(old)["clinic 2024"] == more
    old.debit("site-7", PrivacyBudget("1/7", "1/30000"))
    with pytest.raises(errors.BudgetExceededError):
        old.debit("site-7", PrivacyBudget("1/7", "1/30000"))


def test_the_unit_of_an_old_account_can_be_added_once(old: PrivacyLedger) -> None:
    total = PrivacyBudget(2, "1/1000")
    patients = protecting(old, unit="one patient")
    for _ in range(2):
        old.create("clinic 2024", total, "one patient")
    assert sums(old) == OLD_SUMS
    assert old.verify("clinic 2024", OLD_HEAD).head.count == 8
    with pytest.raises(errors.InvalidArgumentError, match=r"one patient.*one visit"):
        old.create("clinic 2024", total, "one visit")
    in_old(prices())(patients)


def test_a_total_of_an_old_account_stays_what_it_is(old: PrivacyLedger) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="already has the total"):
        old.create("clinic 2024", PrivacyBudget(3, "1/1000"), "one patient")
    assert old.path.read_bytes() == OLD.read_bytes()
