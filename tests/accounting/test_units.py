"""Ledgers and adjacencies that version 0.1 wrote (what an account adds up: tests/promises)."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.data.envelope import Envelope

ORACLES = Path(__file__).parents[1] / "oracles"
OLD = ORACLES / "files/ledger.sqlite"


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
    prices = Envelope.join({"price": Envelope(0, 2, radius=0.1, shape=3)})
    untouched = PrivacyLedger(path, "untouched")
    untouched.debit(PrivacyBudget("1/2", "1/4000"), prices)
    assert untouched.spent.epsilon == Fraction(1, 2)


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
