"""Type checkers accept the programs and refuse the mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from .test_programs import FOLDER

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
pyright = which("pyright", path=str(Path(sys.executable).parent))
pytestmark = [pytest.mark.skipif(pyright is None, reason="needs pyright"), pytest.mark.long]


@pytest.fixture(scope="module")
def errors() -> dict[str, set[int]]:
    """Lines with errors, by file name."""
    programs = [p for p in FOLDER.glob("*.py") if p.stem != "learners"]
    command = [str(pyright), "--outputjson", str(HERE / "mistakes.py"), *map(str, programs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, set[int]] = {}
    for part in json.loads(done.stdout)["generalDiagnostics"]:
        if part["severity"] == "error":
            name = Path(part["file"]).name
            found.setdefault(name, set()).add(part["range"]["start"]["line"] + 1)
    return found


def test_every_mistake_is_refused_and_nothing_else(errors: dict[str, set[int]]) -> None:
    lines = (HERE / "mistakes.py").read_text().splitlines()
    mistakes = {n for n, line in enumerate(lines, 1) if re.search(r"  # \d", line)}
    assert len(mistakes) == 7
    assert errors.pop("mistakes.py", set()) == mistakes


def test_programs_are_typed(errors: dict[str, set[int]]) -> None:
    assert {name: lines for name, lines in errors.items() if name != "mistakes.py"} == {}
