"""LP and MPS files in, certified public files out, and nothing said of private numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dp_cmdp as dp

PLANNING = """NAME PLANNING
OBJSENSE
    MAX
ROWS
 N PROFIT
 L HOURS
 L WOOD
 G ORDER
 E BALANCE
COLUMNS
 CHAIR PROFIT 20 HOURS {chair}
 CHAIR WOOD 4 ORDER 1
 TABLE PROFIT 50 HOURS 3
 TABLE WOOD 9 BALANCE 1
 STOCK BALANCE -1 PROFIT -1
RHS
 RHS HOURS {hours} WOOD 240
 RHS ORDER 5 PROFIT -7
BOUNDS
 UP BND STOCK 20
ENDATA
"""
HOURS = '[[private]]\nkind = "rhs"\nname = "hours"\nrows = ["HOURS"]\nlower = 80\nupper = 120\n'
CHAIR = '[[private]]\nkind = "coefficient"\nname = "chair"\nentries = [["HOURS", "CHAIR"]]\n' + (
    "lower = 1.5\nupper = 2.5\n"
)
SMALL = "radius = 1\n"
BUDGET = ("--epsilon", "1", "--delta", "1/1000")
PAID = ("--ledger", "one.ledger", "--account", "account")
FILES = {
    "problem.npz", "release.npz", "answer.npz", "certificate.json", "solution.csv", "answer.png",
}  # fmt: skip


def planning(folder: Path, *, hours: Any = 100, chair: Any = 2) -> None:
    (folder / "planning.mps").write_text(PLANNING.format(hours=hours, chair=chair))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(HOURS + SMALL + CHAIR + "radius = 0.05\n")
    planning(tmp_path)
    (tmp_path / "values.csv").write_text(
        "group,row,column,value\nhours,HOURS,,97.25\nchair,HOURS,CHAIR,2.125\n"
    )
    return tmp_path


@pytest.fixture
def run(folder: Path, say: Any) -> Any:
    def solved(*arguments: str) -> tuple[int, str, str]:
        return say("solve", "planning.mps", "--private", "spec.toml", "--out", "out", *arguments)

    return solved


@pytest.mark.parametrize("data", [(), ("--data", "values.csv")])
@pytest.mark.parametrize("strategy", ["auto", "entries", "queries", "worst row"])
def test_it_writes_an_answer_that_verify_proves(
    folder: Path, run: Any, say: Any, data: tuple[str, ...], strategy: str
) -> None:
    code, out, err = run(*BUDGET, *data, "--strategy", strategy)
    assert code == 0, err
    assert "verified: A(θ)x ≤ b(θ) for every database the release allows" in " ".join(out.split())
    assert {path.name for path in (folder / "out").iterdir()} == FILES
    same = ("--problem", "planning.mps", "--private", "spec.toml", "--relative-to-model")
    code, out, _ = say("verify", "out", *same)
    assert code == 0
    assert "all that can be judged holds" in out


def test_files_and_json_say_the_same(folder: Path, run: Any) -> None:
    code, out, _ = run(*BUDGET, "--data", "values.csv", "--json")
    assert code == 0
    report = json.loads(out)
    assert report.pop("comparison") is None
    assert report == json.loads((folder / "out/certificate.json").read_text())
    assert next(iter(report["certificate"])) == "verified"
    assert report["certificate"]["verified"] is True
    assert report["certificate"]["slack"] >= 0.0
    found = dp.Answer.load("out")
    assert report["value"] == found.value
    assert report["bound"] == found.bound
    table = pd.read_csv("out/solution.csv")
    assert table["column"].tolist()[:3] == ["CHAIR", "TABLE", "STOCK"]
    assert table["x"].tolist() == found.decision.tolist()


def test_a_decision_of_ones_own_is_certified_from_a_table(folder: Path, run: Any, say: Any) -> None:
    assert run(*BUDGET)[0] == 0
    table = pd.read_csv("out/solution.csv")
    for scale, code in ((1.0, 0), (2.0, 1)):
        table.assign(x=scale * table["x"]).to_csv("own.csv", index=False)
        assert say("certify", "out", "own.csv")[0] == code
    table.iloc[::-1].to_csv("own.csv", index=False)
    code, _, err = say("certify", "out", "own.csv")
    assert (code, "in their order" in err) == (2, True)


def test_the_ledger_is_debited_once_and_not_for_what_public_data_refuse(
    folder: Path, account: dp.PrivacyLedger, run: Any
) -> None:
    assert run(*BUDGET, *PAID, "--data", "values.csv")[0] == 0
    assert account.remaining.epsilon == 3
    other = (*BUDGET, *PAID, "--data", "values.csv", "--out", "other")
    for wrong in (
        ("--data", "nothing.csv"),
        ("--private", "values.csv"),
        ("--private", "nothing.toml"),
        ("--prior", "values.csv"),
        ("--prior", "nothing.csv"),
        ("--epsilon", "0"),
    ):
        code, _, err = run(*other, *wrong)
        assert code == 2, wrong
        assert "dp-cmdp solve: error: " in err
    (folder / "spec.toml").write_text(HOURS.replace("80", "1").replace("120", "2"))
    code, _, err = run(*other)
    assert code == 2
    assert "HOURS" in err
    assert account.remaining.epsilon == 3
    assert not (folder / "other").exists()
