"""An account adds up only releases that protect the same change of the same unit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.base import errors
from dp_cmdp._src.data.envelope import Envelope

HALF = PrivacyBudget("1/2", "1/4000")
TESTS = Path(__file__).parents[1]
ORACLES = TESTS / "oracles"
OLD = ORACLES / "files/ledger.sqlite"


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


# ----------------------------------------------------------------------------- radius and records


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


def test_a_ledger_of_version_0_1_counts_unchanged_and_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD, tmp_path / "old.sqlite"))
    for said in json.loads((ORACLES / "data/ledger.json").read_text()):
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
