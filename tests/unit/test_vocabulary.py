"""One word per thing: the privacy tag of docstrings and the names that code uses."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
FILES = sorted([*ROOT.rglob("*.py"), *ROOT.joinpath("envs").glob("*.py")])
FACE = sorted(vars(dp_cmdp)["__all__"])
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


@pytest.mark.parametrize("name", FACE)
def test_everything_on_the_public_face_has_a_privacy_tag(name):
    assert tags(" ".join((getattr(dp_cmdp, name).__doc__ or "").split()))


#: Words that the glossary has replaced: record_size, ReleaseNoise, unprotected, certain, switch.
RETIRED = {
    "largest_record",
    "together",
    "reach",
    "bare",
    "exposed",
    "sure",
    "rigorous",
    "kink",
    "dear",
}


def words(path: Path) -> Iterator[str]:
    """Every name that a file binds or reads, and its words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name
                yield from re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def test_no_name_uses_a_word_that_the_glossary_has_replaced():
    used = {path.name: RETIRED & set(words(path)) for path in FILES}
    assert {name: found for name, found in used.items() if found} == {}


def test_the_words_of_the_glossary_stand_in_order_and_once():
    text = (ROOT.parent / "docs/glossary.md").read_text(encoding="utf-8")
    found = [
        re.sub(r"[^a-z0-9 ]", "", word.lower())
        for word in re.findall(r"^\| \*\*(.+?)\*\*", text, re.M)
    ]
    assert len(found) > 80
    assert found == sorted(set(found))


ROOMS = ("cmdp", "theory", "advice", "audit", "baselines", "program", "noise", "release")


def numbers(path: Path) -> Iterator[tuple[str, str]]:
    """Names and values of the numeric constants of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            sides = [getattr(side, "elts", [side]) for side in (node.targets[0], node.value)]
            for name, value in zip(*sides, strict=False):
                text = ast.unparse(value)
                if re.fullmatch(r"[\d.e_+*<() -]+", text):
                    yield ast.unparse(name).strip("_"), text


def test_the_same_name_never_has_two_values():
    values: dict[str, set[str]] = {}
    for path in FILES:
        if path.relative_to(ROOT).parts[0] in ROOMS:
            for name, value in numbers(path):
                values.setdefault(name, set()).add(value)
    assert len(values) > 80
    assert {name: found for name, found in values.items() if len(found) > 1} == {}
