"""Examples in docstrings run by themselves and print what they say."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
FILES = sorted({*ROOT.rglob("*.py"), *ROOT.joinpath("envs").glob("*.py")})
Documented = ast.Module | ast.ClassDef | ast.FunctionDef
#: Examples that do not belong into the default run, by a word in their text.
MARKS = {"audit_release": pytest.mark.long, "stable_baselines3": pytest.mark.rl}


def documented(node: ast.AST, name: str) -> Iterator[tuple[str, Documented]]:
    """A module, class or function and those inside of it, with their qualified names."""
    if isinstance(node, Documented):
        yield name, node
        for child in node.body:
            yield from documented(child, f"{name}.{getattr(child, 'name', '')}")


def examples() -> Iterator[Any]:
    """The docstrings of the package that hold an example, each as a parameter of a test."""
    parser = doctest.DocTestParser()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in documented(tree, str(path.relative_to(ROOT.parent))):
            if ">>>" in (text := ast.get_docstring(node) or ""):
                test = parser.get_doctest(text, {"__name__": "__main__"}, name, str(path), None)
                marks = [mark for word, mark in MARKS.items() if word in text]
                yield pytest.param(test, id=name, marks=marks)


@pytest.mark.parametrize("test", list(examples()))
def test_an_example_runs_by_itself_and_prints_what_it_says(
    test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder and namespace, so that it can be copied as it stands."""
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted == len(test.examples) > 0
