"""One word per thing: the privacy tag of docstrings and the names that code uses."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
FILES = sorted([*ROOT.rglob("*.py"), *ROOT.joinpath("envs").glob("*.py")])
MARK = "**Privacy.**"
TAGS = {"Public", "Spends the budget", "Post-processing", "Curator only"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings() -> Iterator[tuple[str, str]]:
    """Place and text of every docstring of the package, with the white space of each made one."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                name = getattr(node, "name", "module")
                yield f"{path.relative_to(ROOT)}:{name}", " ".join(text.split())


def tags(text: str) -> list[str]:
    """What a docstring says of privacy: the word in italics behind each mark."""
    return [m[1] for m in re.finditer(re.escape(MARK) + r"(?: \*([^*]+)\*)?", text)]


def test_every_privacy_note_is_exactly_one_of_four_tags():
    marked = [(place, text) for place, text in docstrings() if MARK in text]
    assert len(marked) > 100
    wrong = [place for place, text in marked if len(tags(text)) != 1 or tags(text)[0] not in TAGS]
    assert wrong == []


def test_no_second_tag_stands_beside_the_first():
    italics = re.compile(r"\*(" + "|".join(TAGS) + r")\*", re.IGNORECASE)
    noted = [(place, text.split(MARK)[1]) for place, text in docstrings() if MARK in text]
    assert [place for place, note in noted if len(italics.findall(note)) != 1] == []


@pytest.mark.parametrize("name", sorted(dp_cmdp.__all__))
def test_everything_on_the_public_face_has_a_privacy_tag(name):
    assert tags(" ".join((getattr(dp_cmdp, name).__doc__ or "").split()))
