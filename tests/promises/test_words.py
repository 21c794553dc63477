"""What users are told is true of what they have: names, commands, words of their own model."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.promises.adapter import (
    Envelope,
    RefusedError,
    command,
    database,
    entering_costs,
    load_environment_of_kinds,
    private_cost,
    robust_policy,
    solve,
)

ROOT = Path(__file__).parents[2]

# ------------------------------------------------------------------------------ names and commands

COMMANDS = [
    "solve", "publish", "answer", "certify", "advise", "simulate", "verify", "evaluate", "rollout",
    "ledger", "audit", "explore",
]  # fmt: skip


@pytest.mark.parametrize("word", COMMANDS)
def test_what_a_help_text_names_exists(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command(word, "--help")
    text = capsys.readouterr().out
    named = set(re.findall(r"\bdp_cmdp(?:\.\w+)+", text))
    assert named or word != "audit"
    for name in named:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


#: What users read; minutes of decisions say what was true when they were made.
FOLDERS = ("dp_cmdp", "envs", "docs", "examples")


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    paths = [p for p in (*paths, *ROOT.glob("*.md")) if p.suffix in {".py", ".md", ".pyi"}]
    texts = {p: p.read_text(encoding="utf-8") for p in paths if "decisions" not in p.parts}
    assert any("pip install" in text for text in texts.values())
    wrong = re.compile(r"pip install (?:-\S+ )*['\"]?dp[-_]cmdp")
    assert [p.name for p, text in texts.items() if wrong.search(text)] == []


# ------------------------------------------------------------------------------ refusals of CMDPs


def impossible() -> Any:
    """One state that every policy enters in each step, which costs more than may be spent."""
    return entering_costs(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        gamma=0.5,
        start=[1.0],
        states=[0],
        cost=Envelope([0.0], [1.0], radius=0.1),
        limit=Envelope([0.5], [3.0], radius=0.1),
    )


@pytest.mark.parametrize(
    "ask",
    [robust_policy, lambda model: solve(model, [0.2, 2.5], epsilon=1, delta="1/1000")],
    ids=["answer", "solve"],
)
def test_a_model_is_refused_in_its_own_words(ask: Any) -> None:
    with pytest.raises(RefusedError) as told:
        ask(impossible())
    text = str(told.value)
    assert "1.5" in text  # the smallest repair: the limit must be 2 where it may be .5
    assert "limit" in text
    assert not re.search(r"right-hand|\brows?\b", text)


# ------------------------------------------------------------------------------ several kinds


def two_costs() -> Any:
    hole = private_cost(
        Envelope(0, 1, radius=0.1, shape=2), Envelope(0.05, 0.5), states=[5, 7], on="entering"
    )
    ice = private_cost(Envelope(0, 2, radius=0.1, shape=2), Envelope(4, 9), states=[1, 4])
    costs = {"hole": hole, "ice": ice}
    return load_environment_of_kinds("FrozenLake-v1", gamma=0.95, costs=costs)


def test_costs_and_limits_of_several_kinds_are_given_by_their_names() -> None:
    model = two_costs()
    data = {"hole.cost": [0.9, 0.5], "ice.cost": [1.5, 0.2], "ice.limit": 8, "hole.limit": 0.3}
    assert database(model, data).envelope == model.envelope
    with pytest.raises(RefusedError):
        database(model, {**data, "hole.limit": 8, "ice.limit": 0.3})  # out of their bounds
