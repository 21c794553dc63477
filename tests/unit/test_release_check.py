"""The pure parts of ``make release-check`` and of the scale that weighs an installation.

They object to what is wrong; that this tree has nothing wrong is tested as well.
"""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _script(path: str, monkeypatch: pytest.MonkeyPatch):
    """A script as a module, with its own folder to import from."""
    place = ROOT / path
    monkeypatch.syspath_prepend(place.parent)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, place.stem, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def facts(monkeypatch):
    return _script(".ci/release_facts.py", monkeypatch)


@pytest.fixture
def check(monkeypatch):
    return _script(".ci/release_check.py", monkeypatch)


@pytest.fixture
def weight(monkeypatch):
    return _script("benchmarks/install_weight.py", monkeypatch)


PROJECT = {
    "version": "1.2.0",
    "requires-python": ">=3.11",
    "classifiers": [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12)],
    "urls": {"Repository": "https://example.org/code"},
}
TEXTS = {
    "module": '__version__ = "1.2.0"\n',
    "changelog": "# Changelog\n\n## 1.2.0 (2026-03-01)\n\n## 1.1.0 (2026-01-01)\n",
    "citation": "version: 1.2.0\ndate-released: 2026-03-01\n"
    "repository-code: https://example.org/code\n",
}


def test_facts_that_agree_have_no_faults(facts):
    assert facts.faults(PROJECT, **TEXTS) == []


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        ("module", "1.2.0", "1.2.1", "dp_cmdp/_version.py says version 1.2.1"),
        ("citation", "version: 1.2.0", "version: 1.1.0", "CITATION.cff says version 1.1.0"),
        ("changelog", "## 1.2.0", "## 1.3.0", "CHANGELOG.md says version 1.3.0"),
        ("changelog", "## 1.2.0 (2026-03-01)\n", "", "CHANGELOG.md says version 1.1.0"),
        ("changelog", "2026-03-01", "unreleased", "CITATION.cff is 2026-03-01, CHANGELOG.md is"),
        ("changelog", "2026-03-01", "1 March", "must date its first entry"),
        ("citation", "date-released: 2026-03-01", "", "CITATION.cff is unreleased"),
        ("citation", "repository-code", "url", "has the repository None"),
    ],
)
def test_a_fact_that_differs_is_named(facts, text, old, new, told):
    found = facts.faults(PROJECT, **{**TEXTS, text: TEXTS[text].replace(old, new, 1)})
    assert any(told in fault for fault in found)


def test_classifiers_name_the_pythons_that_were_tried(facts):
    assert facts.python_faults(PROJECT, ["3.11", "3.12"]) == []
    assert facts.python_faults(PROJECT, ["3.11"]) == [
        "classifiers name Python 3.12, which was not tried"
    ]
    assert facts.python_faults(PROJECT, ["3.11", "3.12", "3.13"]) == [
        "Python 3.13 was tried and has no classifier"
    ]
    higher = PROJECT | {"requires-python": ">=3.12"}
    assert "must be >=3.11" in facts.python_faults(higher, ["3.11", "3.12"])[0]


def test_this_tree_says_the_same_of_itself_everywhere(facts):
    found = facts.faults(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"],
        module=(ROOT / "dp_cmdp/_version.py").read_text(),
        changelog=(ROOT / "CHANGELOG.md").read_text(),
        citation=(ROOT / "CITATION.cff").read_text(),
    )
    assert found == []


def test_of_each_minor_version_the_newest_python_is_taken(check):
    found = [
        ("3.9.18", Path("a")),
        ("3.12.1", Path("b")),
        ("3.11.7", Path("c")),
        ("3.12.10", Path("d")),
        ("3.12.9", Path("e")),
        ("2.7.18", Path("f")),
    ]
    chosen = check.newest_of_each_minor(iter(found), "3.11")
    assert list(chosen.items()) == [("3.11", Path("c")), ("3.12", Path("d"))]


def test_this_python_is_found(check):
    assert any(version == sys.version.split()[0] for version, _ in check.interpreters())


def test_an_outcome_is_passed_skipped_or_failed_with_its_reason(check):
    def fails():
        raise check.StepError("broken")

    def skips():
        raise check.StepSkipped("nothing here")

    rows = [
        check.attempt("a", lambda: "done"),
        check.attempt("b", fails),
        check.attempt("c", skips),
    ]
    assert [(row.outcome, row.note) for row in rows] == [
        ("passed", "done"),
        ("FAILED", "broken"),
        ("skipped", "nothing here"),
    ]
    head, *lines = check.table(rows).splitlines()
    assert head.split() == ["step", "python", "outcome", "seconds", "note"]
    assert [line.index(row.note) for line, row in zip(lines, rows, strict=True)] == [
        head.index("note")
    ] * 3


def test_a_command_that_fails_fails_its_step_with_its_last_words(check, tmp_path):
    command = [sys.executable, "-c", "import sys; print('why'); sys.exit(3)"]
    with pytest.raises(check.StepError, match="exit code 3: why"):
        check.run(command, cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "code", "fine"),
    [
        ("plain.py", "print('done')", True),
        ("plain.py", "1 / 0", False),
        ("ppo_lagrangian.py", """import sys; sys.exit("pip install '.[rl]'")""", True),
        ("ppo_lagrangian.py", "1 / 0", False),
        ("ppo_lagrangian.py", "print('done')", False),
    ],
)
def test_an_example_ends_well_or_names_the_extra_it_lacks(check, tmp_path, name, code, fine):
    (tmp_path / name).write_text(code)
    if fine:
        check.run_example(Path(sys.executable), tmp_path / name, cwd=tmp_path)
    else:
        with pytest.raises(check.StepError, match=name):
            check.run_example(Path(sys.executable), tmp_path / name, cwd=tmp_path)


def test_every_example_with_options_or_an_extra_exists(check):
    names = {path.name for path in ROOT.glob("examples/**/*.py")}
    assert {*check.OPTIONS, *check.UNMET} <= names


def test_what_is_saved_is_needed_by_nobody_else(weight):
    needs = {
        "a": frozenset({"shared", "own"}),
        "b": frozenset({"shared", "absent"}),
        "shared": frozenset(),
        "own": frozenset({"deep"}),
        "deep": frozenset({"own"}),
    }
    assert weight.closure(["b"], needs) == {"b", "shared"}
    assert weight.saved("a", ["a", "b"], needs) == {"a", "own", "deep"}


def test_requirements_are_read_with_and_without_their_extra(weight):
    lines = ["numpy>=2.0", "Lazy_Loader>=0.4", "cvxpy>=1.9; extra == 'cvxpy'"]
    assert weight.required(lines) == {"numpy", "lazy-loader"}
    assert weight.required(lines, "cvxpy") == {"cvxpy"}
