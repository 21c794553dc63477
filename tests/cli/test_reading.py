"""Private numbers are looked at when they are paid for, and refused without a word on which or why.

Whatever stands where a private number should (far outside its bounds, no number, none at all): the
account is debited, and one text says that the values cannot be used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp

ONCE = ("--epsilon", "1", "--delta", "1/1000", "--strategy", "entries", "--out", "out")
PAID = ("--ledger", "one.ledger", "--account", "account")


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Any) -> Any:
    """What a command writes when its private numbers cannot be used; its account is debited."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        Path("one.ledger").unlink(missing_ok=True)
        ledger = dp.PrivacyLedger.create("one.ledger", "account", epsilon=2, delta="1/500")
        code, out, err = say("solve", *arguments, *ONCE, *PAID)
        assert (code, out) == (2, "")
        assert ledger.spent.epsilon == 1, err
        return err

    return run


def test_a_table_of_hazards_is_read_by_its_labels(gate: Path, refused: Any, said: Any) -> None:
    good = "group,row,col,value\nlimit,,,0.7\ncost,0,1,0.25\n"
    (gate / "hazards.csv").write_text(good)
    how = ("gate.json", "--data", "hazards.csv")
    assert said("solve", *how, *ONCE)["certificate"]["verified"]
    assert said("evaluate", "out", "--curator", *how[1:])
    text = (gate / "out/curator_only/evaluation.json").read_text()
    assert "0.7" in text
    texts = set()
    for bad in (
        "",
        good.replace("0.25", "1e30"),
        good.replace("0.25", "nan"),
        good.replace("0,1,", "7,7,"),
        good + "cost,0,1,0.25\n",
        "group,row,value\ncost,0,0.25\n",
    ):
        (gate / "hazards.csv").write_text(bad)
        texts.add(refused(*how))
    assert len(texts) == 1
