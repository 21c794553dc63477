"""Folders with small problems, accounts, and what a command says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp
from dp_cmdp._src.cli.main import main

#: One candidate cell between start and goal: the best true value is 0 (closed) or 0.9.
GATE: dict[str, Any] = {
    "format": "dp_cmdp.Layout/2",
    "name": "gate",
    "map": ["S?G"],
    "slip": 0.0,
    "gamma": 0.9,
    "step_reward": 0.0,
    "goal_reward": 1.0,
    "kinds": [
        {"severity": [0, 1], "severity_radius": 0.1, "limit": [0, 1], "limit_radius": 0.1}
    ],
}  # fmt: skip
SPEC = '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nlower = 3\nupper = 5\nradius = 0.1\n'
FARM = "max\n value: 3 x + 2 y\nst\n LAND: x + y <= {land}\n WORK: 2 x + y <= 6\nend\n"

Told = tuple[int, str, str]


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Runs a command: exit code, standard output, standard error."""

    def run(*arguments: Any) -> Told:
        capfd.readouterr()
        code = main([*map(str, arguments)])
        found = capfd.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def said(say: Callable[..., Told]) -> Callable[..., Any]:
    """Runs a command with --json that must succeed: what it prints."""

    def run(*arguments: Any) -> Any:
        code, out, err = say(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the layout; its hazards go to hazards.json."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.json").write_text(json.dumps(GATE))
    return tmp_path


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small program, one of whose right-hand sides is private."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "farm.lp").write_text(FARM.format(land=4))
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def account(tmp_path: Path) -> dp.PrivacyLedger:
    path = tmp_path / "one.ledger"
    return dp.PrivacyLedger.create(path, "account", epsilon=4, delta="1/250", unit="one crew")


@pytest.fixture
def set_truth(gate: Path) -> Callable[[float, float], None]:
    def write(severity: float, limit: float) -> None:
        kinds = {"hazard": {"severity": [[0, 1, severity]], "limit": limit}}
        text = json.dumps({"format": "dp_cmdp.Hazards/2", "kinds": kinds})
        (gate / "hazards.json").write_text(text)

    return write
