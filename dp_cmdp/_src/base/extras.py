"""Packages that not every installation has: one question, one error that says what to install.

Which extra brings which package is written in ``pyproject.toml`` and read from the metadata of the
installed package; it is repeated nowhere.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import Any

from dp_cmdp._src.base.errors import MissingExtraError


def is_installed(package: str) -> bool:
    """Whether `package` can be imported; it is not imported.

    A folder of that name without ``__init__.py``, such as ``examples/cvxpy`` beside a script, is no
    package.
    """
    if package in sys.modules:
        return sys.modules[package] is not None
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def require(package: str) -> None:
    """Refuse to go on without `package`: called before it is imported and before budget is spent.

    The error names the command that installs it.
    """
    if not is_installed(package):
        raise MissingExtraError(f"{package} is needed here: {_command(package)}")


def lazily(module: str, name: str) -> Any:
    """What a module of a higher layer calls `name`: imported when a caller's object needs it."""
    return getattr(import_module(module), name)


def _command(package: str) -> str:
    try:
        extra = extra_of(package, requires("dp-cmdp") or [])
    except PackageNotFoundError:  # a source tree that was never installed
        extra = None
    if extra is None:
        return f"pip install {package}"
    return f"in a clone of the project, pip install '.[{extra}]'"


def extra_of(package: str, requirements: list[str]) -> str | None:
    """The smallest extra of `requirements` (as in METADATA) that brings `package`, None without."""
    brought: dict[str, set[str]] = {}
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"\bextra == ['\"]([\w.-]+)['\"]", requirement)
        if name is not None and extra is not None:
            brought.setdefault(extra[1], set()).add(name[0])
    fitting = [extra for extra, packages in brought.items() if package in packages]
    return min(fitting, key=lambda extra: len(brought[extra]), default=None)
