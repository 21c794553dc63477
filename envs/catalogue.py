"""Layouts by name: the JSON files of ``envs/data/layouts``; to change one, edit its file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from inspect import cleandoc
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import validated
from dp_cmdp.envs.layout import Layout
from dp_cmdp.envs.layout_files import layout_from_dict, load_layout, parse_map


def data_file(folder: str, name: str) -> Path:
    """Path of a file shipped with the environments."""
    return Path(str(resources.files("dp_cmdp.envs").joinpath("data", folder, f"{name}.json")))


def layout_names() -> tuple[str, ...]:
    """List the layouts that come with the package.

    Returns
    -------
    tuple of str
        In alphabetical order.
    """
    folder = data_file("layouts", "any").parent
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


@validated
def named_layout(name: str) -> Layout:
    """One of the layouts of :func:`layout_names`.

    Parameters
    ----------
    name : str
        One of the names.

    Returns
    -------
    Layout
        The public grid.

    Raises
    ------
    InvalidArgumentError
        If there is no such layout.
    """
    if name not in layout_names():
        raise InvalidArgumentError(
            f"layout must be one of {', '.join(layout_names())}, a file, or a map of several "
            f"lines; got {name[:60]!r}"
        )
    return load_layout(data_file("layouts", name))


@validated
def as_layout(layout: Layout | Mapping[str, Any] | str | Path) -> Layout:
    """A layout from itself, from the content of a JSON file, from a name, a path or a text map.

    A text of several lines is a map (:mod:`dp_cmdp.envs.layout_files`), with one kind of hazard.

    Parameters
    ----------
    layout : Layout, mapping, str or Path
        A layout, the content of its JSON file, its name, its path or its map.

    Returns
    -------
    Layout
        The public grid.

    Raises
    ------
    InvalidArgumentError
        If it is none of these.
    """
    if isinstance(layout, Layout):
        return layout
    if isinstance(layout, Mapping):
        return layout_from_dict(layout)
    if isinstance(layout, str) and "\n" in layout.strip():
        return parse_map(cleandoc(layout))
    if isinstance(layout, Path) or (isinstance(layout, str) and Path(layout).suffix):
        return load_layout(layout)
    if isinstance(layout, str):
        return named_layout(layout)
    raise InvalidArgumentError(
        f"layout must be a Layout, a name, a path, a map or a mapping, got {type(layout).__name__}"
    )
