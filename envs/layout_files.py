"""Layouts as files: a text map, or a JSON file around one.

A map has one character per cell:

===========  ==================================================
``#``        wall
``.``        free
``S``        start (several: equally likely)
``G``        goal
``?``        candidate cell of every hazard kind
``1`` … ``9``  candidate cell of the first … ninth kind only
===========  ==================================================

A JSON file holds ``format``, ``map`` (a list of rows) and the other public parts of a
:class:`~dp_cmdp.envs.layout.Layout`; nothing in it is private, and it has no place for anything
that is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.storage import parse_json, read_text, write_text
from dp_cmdp._src.base.validation import validated
from dp_cmdp.envs.layout import HazardKind, Layout

FORMAT = "dp_cmdp.Layout/2"
LEGEND = "#.SG?123456789"
DYNAMICS = ("slip", "gamma", "step_reward", "goal_reward")
KIND_FIELDS = ("name", "severity", "severity_radius", "limit", "limit_radius")


@validated
def parse_map(
    text: str | Sequence[str],
    *,
    kinds: Sequence[Mapping[str, Any]] = ({},),
    source: str = "map",
    **fields: Any,
) -> Layout:
    """Build a layout from a text map.

    Parameters
    ----------
    text : str or sequence of str
        The rows, in the alphabet of the module's table. Empty lines around the map are ignored.
    kinds : sequence of mapping
        Parts of each hazard kind; ``cells`` lists candidates beyond those marked in the map.
    source : str
        Name of the map in error texts.
    **fields
        Other arguments of :class:`Layout` (``slip``, ``gamma``, …; ``start`` replaces the ``S``).

    Returns
    -------
    Layout
        The public grid.

    Raises
    ------
    InvalidArgumentError
        If rows differ in length or a letter is unknown.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import parse_map
    >>> rows = ["S.?G", ".#..", "...."]  # start, free, candidate, goal; below them a wall
    >>> layout = parse_map(rows, slip=0.0, gamma=0.9)
    >>> layout.candidates, layout.goals, layout.walls
    ((2,), (3,), (5,))
    """
    lines = text.strip("\r\n").splitlines() if isinstance(text, str) else check.items("text", text)
    for number, kind in enumerate(check.items("kinds", kinds)):
        if not check.is_mapping(kind):
            raise InvalidArgumentError(f"{source}: kinds must hold mappings of fields")
        _refuse_unknown(kind, (*KIND_FIELDS, "cells"), f"{source}, kinds[{number}]")
    cols = _rectangle(lines, len(kinds), source)
    places: dict[str, list[int]] = {letter: [] for letter in LEGEND}
    for row, line in enumerate(lines):
        for col, letter in enumerate(line):
            places[letter].append(row * cols + col)
    fields.setdefault("start", places["S"])
    if not fields["start"] and fields["start"] != 0:
        raise InvalidArgumentError(f"{source}: the map must hold a start 'S' or be given one")
    return Layout(
        rows=len(lines),
        cols=cols,
        walls=places["#"],
        goals=places["G"],
        kinds=tuple(
            _kind(kind, number=number, places=places, single=len(kinds) == 1)
            for number, kind in enumerate(kinds, start=1)
        ),
        **fields,
    )


def _kind(
    fields: Mapping[str, Any], *, number: int, places: Mapping[str, list[int]], single: bool
) -> HazardKind:
    """A hazard kind whose cells are those marked in the map and those listed in `fields`."""
    named = {"name": "hazard" if single else f"hazard-{number}", **fields}
    listed = check.items("cells", named.pop("cells", []))
    return HazardKind(cells=[*places["?"], *places[str(number)], *listed], **named)


def _rectangle(lines: Sequence[str], num_kinds: int, source: str) -> int:
    """Check the characters and the shape of a map; return its width."""
    if not lines or not isinstance(lines[0], str) or not lines[0]:
        raise InvalidArgumentError(f"{source}: the map must have at least one row")
    if not 1 <= num_kinds <= 9:
        raise InvalidArgumentError(f"{source}: a map holds 1 to 9 hazard kinds, got {num_kinds}")
    allowed = LEGEND[: 5 + num_kinds]
    for row, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise InvalidArgumentError(f"{source}, line {row}: every row must be a text")
        if len(line) != len(lines[0]):
            raise InvalidArgumentError(
                f"{source}, line {row}: every row must have the width of the first, "
                f"{len(lines[0])}; this one has {len(line)}"
            )
        for col, letter in enumerate(line, start=1):
            if letter not in allowed:
                raise InvalidArgumentError(
                    f"{source}, line {row}, column {col}: a cell must be one of {allowed}; "
                    f"got {letter!r}"
                )
    return len(lines[0])


@validated
def format_map(layout: Layout) -> str:
    """The map of a layout, readable by :func:`parse_map`.

    Not in it: start probabilities, and candidate cells that are starts or belong to several but
    not all kinds.

    Parameters
    ----------
    layout : Layout
        The public grid.

    Returns
    -------
    str
        One line per row.
    """
    letters = ["."] * layout.num_cells
    for cell in layout.candidates:
        here = [number for number, kind in enumerate(layout.kinds, 1) if cell in kind.cells]
        if len(here) == layout.num_kinds:
            letters[cell] = "?"
        elif len(here) == 1:
            letters[cell] = str(here[0])
    for cells, letter in ((layout.walls, "#"), (layout.goals, "G")):
        for cell in cells:
            letters[cell] = letter
    for cell, _ in layout.starts:
        letters[cell] = "S"
    rows = range(0, layout.num_cells, layout.cols)
    return "\n".join("".join(letters[first : first + layout.cols]) for first in rows)


@validated
def load_layout(path: str | Path) -> Layout:
    """Read a layout from a ``.json`` file or, with any other ending, from a text map.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Layout
        The public grid.

    Raises
    ------
    InvalidArgumentError
        Naming the file, the place and the rule that is broken.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import load_layout, named_layout, save_layout
    >>> path = save_layout(named_layout("corridor"), "corridor.json")
    >>> load_layout(path) == named_layout("corridor")
    True
    """
    source = check.path("layout", path)
    try:
        text = read_text(source)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(
            f"layout must name a readable text file; {source}: {type(error).__name__}"
        ) from None
    if source.suffix.lower() != ".json":
        return parse_map(text, source=source.name, name=source.stem)
    try:
        content = parse_json(text)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{source.name}, {error}") from None
    return layout_from_dict(content, source=source.name, default_name=source.stem)


@validated
def layout_from_dict(
    content: Any, *, source: str = "layout", default_name: str = "custom"
) -> Layout:
    """Build a layout from the content of a JSON file (see :func:`layout_to_dict`)."""
    if not check.is_mapping(content) or content.get("format") != FORMAT:
        raise InvalidArgumentError(f'{source}: must be an object with "format": "{FORMAT}"')
    _refuse_unknown(content, ("format", "name", "map", "start", "kinds", *DYNAMICS), source)
    if not isinstance(content.get("map"), list):
        raise InvalidArgumentError(f'{source}: "map" must be a list of rows')
    kinds = content.get("kinds", [{}])
    if not isinstance(kinds, list) or not all(isinstance(kind, Mapping) for kind in kinds):
        raise InvalidArgumentError(f'{source}: "kinds" must be a list of objects')
    rows = content["map"]
    read = []
    for number, kind in enumerate(kinds):
        _refuse_unknown(kind, (*KIND_FIELDS, "cells"), f"{source}, kinds[{number}]")
        listed = _places(kind.get("cells", []), rows, f"{source}, kinds[{number}].cells", width=2)
        read.append({**kind, "cells": [cell for cell, *_ in listed]})
    fields = {key: content[key] for key in DYNAMICS if key in content}
    if "start" in content:
        fields["start"] = _places(content["start"], rows, f"{source}, start", width=3)
    name = content.get("name", default_name)
    try:
        return parse_map(rows, kinds=read, source=f"{source}, map", name=name, **fields)
    except InvalidArgumentError as error:
        text = str(error)
        raise InvalidArgumentError(text if source in text else f"{source}: {text}") from None


def _refuse_unknown(content: Mapping[str, Any], known: Sequence[str], source: str) -> None:
    for key in content:
        if key not in known:
            raise InvalidArgumentError(
                f"{source}: {str(key)[:60]!r} is no field of a layout; known are {', '.join(known)}"
            )


def _places(value: Any, rows: list[Any], source: str, *, width: int) -> list[tuple[Any, ...]]:
    """``[[row, col, …], …]`` as tuples (cell, …)."""
    cols = len(rows[0]) if rows and isinstance(rows[0], str) else 0
    entries = value if isinstance(value, list) else [None]
    places = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != width:
            form = "[row, column]" if width == 2 else "[row, column, probability]"
            raise InvalidArgumentError(f"{source}: must be a list of {form}")
        row = check.integer(f"{source}: row", entry[0], high=len(rows) - 1)
        col = check.integer(f"{source}: column", entry[1], high=cols - 1)
        places.append((row * cols + col, *entry[2:]))
    return places


@validated
def layout_to_dict(layout: Layout) -> dict[str, Any]:
    """Everything about a layout, ready for JSON."""
    picture = format_map(layout)
    letters = picture.replace("\n", "")
    kinds = []
    for number, kind in enumerate(layout.kinds, 1):
        unmarked = [cell for cell in kind.cells if letters[cell] not in ("?", str(number))]
        fields = {key: getattr(kind, key) for key in KIND_FIELDS}
        kinds.append({**fields, "cells": [list(divmod(cell, layout.cols)) for cell in unmarked]})
    return {
        "format": FORMAT,
        "name": layout.name,
        "map": picture.splitlines(),
        "start": [[*divmod(cell, layout.cols), chance] for cell, chance in layout.starts],
        **{key: getattr(layout, key) for key in DYNAMICS},
        "kinds": kinds,
    }


@validated
def save_layout(layout: Layout, path: str | Path) -> Path:
    """Write a layout to a JSON file, atomically.

    Parameters
    ----------
    layout : Layout
        The public grid.
    path : str or Path
        The file.

    Returns
    -------
    Path
        The file that was written.
    """
    return write_text(path, json.dumps(layout_to_dict(layout), indent=2, ensure_ascii=False) + "\n")
