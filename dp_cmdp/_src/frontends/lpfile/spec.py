"""What of a linear program is private: a small TOML file, read strictly.

    [[private]]
    kind = "rhs"             # or "coefficient", "objective", "bound"
    name = "capacity"        # of the group of entries; by default the kind
    rows = ["CAP*"]          # names; * and ? stand for any letters
    lower = 0.0              # public bounds of the numbers …
    upper = 50.0
    radius = 1.0             # … and how far one may move between adjacent databases

Nothing here reads a model or data.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.storage import check_is_file, read_text
from dp_cmdp._src.base.validation import is_real
from dp_cmdp._src.frontends.lpfile.model import INFINITE, LARGEST_COEFFICIENT

KINDS = ("rhs", "coefficient", "objective", "bound")
SIDES = ("lower", "upper")
RECORDS = ("entry", "row", "column", "all")
PATTERNS = ("file", "all")
#: Which keys a kind of block has beside those that all have.
_COMMON = ("kind", "name", "lower", "upper", "radius", "relative", "record")
_OWN = {
    "rhs": ("rows", "side", "pattern", "equalities"),
    "coefficient": ("rows", "columns", "entries", "pattern", "equalities"),
    "objective": ("columns", "pattern"),
    "bound": ("columns", "side", "pattern"),
}


@dataclass(frozen=True, slots=True)
class PrivateBlock:
    """One ``[[private]]`` block: which numbers, and what is public about them."""

    kind: str
    name: str
    rows: tuple[str, ...]  # names or patterns
    columns: tuple[str, ...]
    entries: tuple[tuple[str, str], ...]  # single coefficients instead
    side: str | None
    lower: float  # factors of the model's number where relative
    upper: float
    radius: float | None  # None: the whole range
    relative: bool
    record: str
    pattern: str | None
    equalities: str | None


def blocks_of(private: Any) -> tuple[PrivateBlock, ...]:
    """The blocks of a TOML file, or of its content as a mapping."""
    if isinstance(private, Mapping):
        return _blocks(private)
    source = check_is_file(private, "TOML")
    try:
        content = tomllib.loads(read_text(source))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{source.name} must be a TOML file: {error}") from None
    try:
        return _blocks(content)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{source.name}: {error}") from None


def _blocks(content: Mapping[str, Any]) -> tuple[PrivateBlock, ...]:
    _check_keys("the specification", content, ("private",))
    blocks = content.get("private")
    if not isinstance(blocks, Sequence) or isinstance(blocks, str) or not blocks:
        raise InvalidArgumentError(
            'the specification must have [[private]] blocks, each with kind = "rhs", '
            '"coefficient", "objective" or "bound"'
        )
    made = [_block(number, block) for number, block in enumerate(blocks, start=1)]
    names = [block.name for block in made]
    for number, name in enumerate(names, start=1):
        if name in names[: number - 1]:
            raise InvalidArgumentError(
                f"block {number} is called {name!r} like another: give each a name of its own"
            )
    return tuple(made)


def _block(number: int, block: Any) -> PrivateBlock:
    where = f"block {number}"
    if not isinstance(block, Mapping):
        raise InvalidArgumentError(f"{where} must be a table, [[private]]")
    kind = _choice(where, block, "kind", KINDS)
    if kind is None:
        raise InvalidArgumentError(f"{where}: kind must be one of {', '.join(KINDS)}")
    name = block.get("name", kind)
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgumentError(f"{where}: name must be a text")
    where = f"block {number} ({name})"
    _check_keys(where, block, (*_COMMON, *_OWN[kind]), kind=kind)
    entries = _pairs(where, block.get("entries", []))
    rows, columns = (_names(where, block, key) for key in ("rows", "columns"))
    if entries and (rows or columns):
        raise InvalidArgumentError(f"{where}: entries stand for themselves; leave rows out")
    if not (rows or columns or entries):
        raise InvalidArgumentError(f"{where} must name {_wanted(kind)}")
    record = _choice(where, block, "record", RECORDS) or "entry"
    if (record, kind) in (("row", "objective"), ("row", "bound"), ("column", "rhs")):
        raise InvalidArgumentError(f"{where}: numbers of kind {kind!r} belong to no {record}")
    relative = block.get("relative", False)
    if not isinstance(relative, bool):
        raise InvalidArgumentError(f"{where}: relative must be true or false")
    lower, upper, radius = (_number(where, block, key) for key in ("lower", "upper", "radius"))
    if lower is None or upper is None or not lower < upper:
        raise InvalidArgumentError(f"{where} must have public bounds: lower, and upper above it")
    if radius is not None and radius <= 0.0:
        raise InvalidArgumentError(f"{where}: radius must be positive")
    return PrivateBlock(
        kind=kind,
        name=name,
        rows=rows,
        columns=columns,
        entries=entries,
        side=_choice(where, block, "side", SIDES),
        lower=lower,
        upper=upper,
        radius=radius,
        relative=relative,
        record=record,
        pattern=_choice(where, block, "pattern", PATTERNS),
        equalities=_choice(where, block, "equalities", ("public",)),
    )


def _wanted(kind: str) -> str:
    if kind == "coefficient":
        return 'rows, columns, or entries = [["ROW", "COLUMN"], …]'
    return "rows" if kind == "rhs" else "columns"


def _check_keys(
    where: str, table: Mapping[str, Any], known: tuple[str, ...], *, kind: str | None = None
) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; it may have {', '.join(known)}"
            of = f" of kind {kind!r}" if kind else ""
            raise InvalidArgumentError(f"{where}{of} has no {str(key)[:60]!r}{hint}")


def _choice(where: str, block: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    value = block.get(key)
    if value is not None and (not isinstance(value, str) or value not in choices):
        raise InvalidArgumentError(
            f"{where}: {key} must be one of {', '.join(choices)}; got {str(value)[:60]!r}"
        )
    return value


def _names(where: str, block: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = block.get(key, [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(n, str) and n for n in names):
        raise InvalidArgumentError(f'{where}: {key} must be a list of names, ["A", "B*"]')
    return tuple(names)


def _pairs(where: str, given: Any) -> tuple[tuple[str, str], ...]:
    fits = isinstance(given, Sequence) and all(
        isinstance(pair, Sequence)
        and not isinstance(pair, str)
        and len(pair) == 2
        and all(isinstance(name, str) for name in pair)
        for pair in given
    )
    if not fits or isinstance(given, str):
        raise InvalidArgumentError(f'{where}: entries must be pairs [["ROW", "COLUMN"], …]')
    return tuple((row, column) for row, column in given)


def _number(where: str, block: Mapping[str, Any], key: str) -> float | None:
    value = block.get(key)
    if value is None:
        return None
    limit = LARGEST_COEFFICIENT if block.get("kind") == "coefficient" else INFINITE
    if not is_real(value) or not math.isfinite(value) or abs(value) >= limit:
        raise InvalidArgumentError(f"{where}: {key} must be a number below {limit:g} in size")
    return float(value)
