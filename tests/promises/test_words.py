"""What users are told is true of what they have: names, commands, words of their own model."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.promises.adapter import (
    command,
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
