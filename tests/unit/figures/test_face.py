"""The face of the pictures: one convention, and nothing computed or run while drawing."""

import ast
import inspect
from pathlib import Path

import pytest

from dp_cmdp import figures
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.reproductions import REPRODUCTIONS

ROOM = Path(figures.__file__).parent
PICTURES = sorted(set(dir(figures)) - {"save_figure"})
#: What draws nothing: it runs, releases or solves.
WORK = (
    "advice.adviser",
    "baselines",
    "cmdp.occupancy",
    "cmdp.solvers",
    "cmdp.synthesis",
    "envs",
    "experiments",
    "metrics",
    "noise",
    "program",
    "release",
    "theory",
)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(path: Path) -> set[str]:
    """What a module imports when it runs, inside functions too."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        waiting.extend(child for child in ast.iter_child_nodes(node) if not is_for_types(child))
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_takes_what_it_shows_first_and_returns_a_figure(name):
    function = getattr(figures, name)
    assert function.__name__ == name
    assert name.endswith("_figure")
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert first.default is first.empty
    assert all(other.kind is other.KEYWORD_ONLY for other in others)
    assert signature.return_annotation == "Figure"


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("value", [None, "rows", 7])
def test_a_picture_of_something_else_is_refused_by_name(name, value):
    function = getattr(figures, name)
    first, *others = inspect.signature(function).parameters
    with pytest.raises(InvalidArgumentError, match=f"{first} must be"):
        function(value, **dict.fromkeys(others))


def test_every_function_that_returns_a_figure_is_on_the_face():
    made = {
        node.name
        for path in ROOM.glob("*.py")
        if path.stem != "style"  # sizes and looks: figures without anything in them
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.returns is not None
        if ast.unparse(node.returns) == "Figure"
    }
    assert made == set(PICTURES)


def test_the_picture_of_a_reproduction_bears_its_name():
    assert {f"{name.replace('-', '_')}_figure" for name in REPRODUCTIONS} <= set(PICTURES)


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_pictures_import_nothing_that_runs_or_solves(path):
    rooms = tuple(f"dp_cmdp.{room}." for room in WORK)
    assert not [name for name in imported(path) if f"{name}.".startswith(rooms)]
