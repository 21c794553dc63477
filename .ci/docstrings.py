"""Whether every public callable documents what it takes, returns and raises (`make lint`).

The face is found by introspection: the names of ``dp_cmdp`` and of its submodules, and the public
methods of its classes. numpydoc's own checker judges each; a function that raises by itself must
also say so under Raises, which numpydoc does not check.

Run it:  python .ci/docstrings.py
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from numpydoc.validate import validate

from dp_cmdp import errors

MODULES = ("", ".audit", ".curator", ".cvxpy", ".envs", ".errors", ".extend", ".figures")
MODULES += (".gymnasium", ".lpfile")
#: Codes that are not checked, with the reason. All others are.
NOT_CHECKED = {
    "SA01": "the reference groups what belongs together; See Also would repeat its pages",
    "ES01": "a summary that says everything needs no second paragraph",
    "EX01": "examples stand where they teach something, on every class; tests/docs runs them",
}


def face() -> Iterator[tuple[str, Any]]:
    """Every public callable with the path under which numpydoc finds it."""
    for name in MODULES:
        module = import_module(f"dp_cmdp{name}")
        for public in (getattr(module, each) for each in module.__all__):
            if callable(public):
                yield path_of(public), public
                yield from methods(public)


def methods(owner: Any) -> Iterator[tuple[str, Any]]:
    for name, _ in inspect.getmembers(owner) if inspect.isclass(owner) else ():
        found = inspect.getattr_static(owner, name)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        own = getattr(found, "__module__", None) or ""
        documented = found.__doc__ or not inspect.getdoc(getattr(owner, name))
        if not name.startswith("_") and own.startswith("dp_cmdp") and documented:
            yield path_of(found), found  # else it overrides what a base class documents


def path_of(public: Any) -> str:
    return f"{public.__module__}.{public.__qualname__}"


def findings(path: str, public: Any) -> Iterator[str]:
    """What numpydoc objects to, and what is raised without a word."""
    for code, text in validate(path)["errors"]:
        if code not in NOT_CHECKED and not (code == "PR01" and made_by_the_package(public)):
            yield f"{path}: {code} {text}"
    said = (inspect.getdoc(public) or "").partition("Raises\n------")[2]
    yield from (
        f"{path}: raises {name}, not in Raises" for name in raised(public) if name not in said
    )


def made_by_the_package(public: Any) -> bool:
    """Results say Attributes, environments Arguments; nobody constructs a protocol or an error."""
    text = inspect.getdoc(public) or ""
    other = "Attributes\n---" in text or "## Arguments" in text
    if not inspect.isclass(public):
        return False
    return other or getattr(public, "_is_protocol", False) or issubclass(public, errors.Error)


def raised(public: Any) -> set[str]:
    """Names of the exceptions of this package that the body of a function raises itself."""
    if inspect.isclass(public):
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(public)))
    calls = (
        node.exc.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        if isinstance(node.exc, ast.Call)
    )
    return {call.id for call in calls if isinstance(call, ast.Name)} & set(errors.__all__)


def main() -> int:
    checked = dict(face())
    found = [finding for path, public in checked.items() for finding in findings(path, public)]
    print(*found, f"{len(checked)} public callables, {len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
