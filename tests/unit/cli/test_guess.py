"""``--guess``: a public guess of the private numbers, around which plans are tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cli import main
from dp_cmdp.data.release import Release
from tests.lp_files import planning

BUDGET = ("--epsilon", "1", "--delta", "1/1000", "--seed", "3")
SPEC = """[[private]]
kind = "rhs"
name = "hours"
rows = ["HOURS"]
lower = 80
upper = 120
radius = 1
"""
HAZARDS = {"format": "dp_cmdp.Hazards/1"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    planning(tmp_path)
    for name, hours in (("values", 97.25), ("guess", 95)):
        (tmp_path / f"{name}.csv").write_text(f"group,row,column,value\nhours,HOURS,,{hours}\n")
    (tmp_path / "latin.csv").write_bytes(b"group,row,column,value\nhours,H\xfcRS,,95\n")
    (tmp_path / "far.csv").write_text("group,row,column,value\nhours,HOURS,,1000\n")
    kinds = {"hazard": {"severity": [[1, 3, 0.5]], "tolerance": 1.0}}
    for name in ("hazards", "guess"):
        (tmp_path / f"{name}.json").write_text(json.dumps(HAZARDS | {"kinds": kinds}))
    return tmp_path


def solve(*more: str) -> int:
    files = ["lp", "planning.mps", "--private", "spec.toml", "--data", "values.csv"]
    return main([*files, "--out", "out", *BUDGET, *more])


def synthesize(*more: str) -> int:
    return main(["synthesize", "--layout", "corridor", "--out", "out", *BUDGET, *more])


@pytest.mark.parametrize(("run", "guess"), [(solve, "guess.csv"), (synthesize, "guess.json")])
def test_plans_are_tried_around_a_guess(folder, capsys, run, guess):
    tried = []
    for more in ((), ("--guess", guess)):
        assert run(*more) == 0
        plan = Release.load("out/release.npz").plan
        assert plan is not None
        tried.append(plan["trials"])
    assert tried[0] != tried[1]


@pytest.mark.parametrize(
    ("run", "arguments", "said"),
    [
        (solve, ["--guess", "guess.csv", "--plan", "database"], "--guess serves --plan auto"),
        (solve, ["--guess", "no.csv"], "there is none at no.csv"),
        (solve, ["--guess", "latin.csv"], "--guess: latin.csv must be a table of comma-separated"),
        (solve, ["--guess", "far.csv"], "--guess: 1 number(s) lie outside their public bounds"),
        (solve, ["--guess", "values.csv"], "the file of the private numbers"),
        (synthesize, ["--guess", "guess.json", "--plan", "database"], "--guess serves --plan auto"),
        (synthesize, ["--guess", "guess.json", "--method", "robust"], "serve --method database"),
        (
            synthesize,
            ["--guess", "hazards.json", "--hazards", "hazards.json"],
            "the file of the private numbers",
        ),
        (synthesize, ["--guess", "spec.toml"], "--guess: hazards must name"),
    ],
)
def test_a_guess_that_is_of_no_use_or_private_is_refused_before_a_debit(
    folder, capsys, run, arguments, said
):
    ledger = PrivacyLedger("ledger.sqlite")
    ledger.create("site", PrivacyBudget(3, "1/100"), "one person")
    assert run(*arguments, "--ledger", "ledger.sqlite", "--identity", "site") == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert ledger.remaining("site").epsilon == 3


def test_a_guess_is_checked_without_spending(folder, capsys):
    files = ["lp", "planning.mps", "--private", "spec.toml", "--data", "values.csv", "--check"]
    assert main([*files, "--guess", "guess.csv"]) == 0
    assert main([*files, "--guess", "far.csv"]) == 2
    assert "--guess: 1 number(s) lie outside" in capsys.readouterr().err
