"""Where the private numbers of a model stand: from names and patterns to positions.

Positions follow from names alone, or from the pattern of coefficients where that is public: never
from a private number.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dp_cmdp.data.affine import IntArray
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.file_outline import Stated
from dp_cmdp.frontends.lp_file import LpModel, shown
from dp_cmdp.frontends.lp_spec import PrivateBlock

#: More entries than this in one block are refused: a pattern says more than was meant.
MOST_ENTRIES = 10_000_000
_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of one block: its name and what it is, and row and column of each (−1: none)."""

    name: str
    kind: str
    side: str | None
    row: IntArray
    column: IntArray

    @property
    def size(self) -> int:
        return self.row.size


def groups_of(model: LpModel, blocks: Sequence[PrivateBlock], *, public_model: bool) -> list[Group]:
    """The positions of every block; one that stands in two blocks is refused."""
    groups = [_group(model, block, public_model=public_model) for block in blocks]
    taken: dict[tuple[str, str | None], list[Group]] = {}
    for group in groups:
        taken.setdefault((group.kind, group.side), []).append(group)
    for alike in taken.values():
        keys = np.concatenate([group.row * model.num_columns + group.column for group in alike])
        found, count = np.unique(keys, return_counts=True)
        if (count > 1).any():
            at = np.flatnonzero(keys == found[np.argmax(count > 1)])[0]
            row = int(np.concatenate([group.row for group in alike])[at])
            column = int(np.concatenate([group.column for group in alike])[at])
            raise InvalidArgumentError(
                f"{place(model, alike[0].kind, row, column)} is named twice as private: one number "
                "is one entry"
            )
    return groups


def is_named(block: PrivateBlock, spot: Stated) -> bool:
    """Whether a block names a number of a file, or a pattern of it matches."""
    if block.kind != ("rhs" if spot.kind == "range" else spot.kind):
        return False
    if block.kind == "bound" and block.side is not None and block.side[0] not in spot.ends:
        return False
    if block.entries:
        return (spot.row, spot.column) in block.entries
    of_rows = block.kind not in ("rhs", "coefficient") or _matches(block.rows, spot.row)
    return of_rows and (block.kind == "rhs" or _matches(block.columns, spot.column))


def _matches(patterns: Sequence[str], name: str) -> bool:
    """Whether one of them does, or there is none."""
    return not patterns or any(name == one or _pattern(one).fullmatch(name) for one in patterns)


def _pattern(text: str) -> re.Pattern[str]:
    """`*` and `?` stand for any letters."""
    return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def place(model: LpModel, kind: str, row: int, column: int) -> str:
    """A private position in words."""
    if kind == "coefficient":
        return f"the coefficient of {model.column_names[column]} in {model.row_names[row]}"
    if kind == "rhs":
        return f"the right-hand side of {model.row_names[row]}"
    return f"the {'cost' if kind == 'objective' else 'bound'} of {model.column_names[column]}"


def _group(model: LpModel, block: PrivateBlock, *, public_model: bool) -> Group:
    rows = _matching(block, "rows", model.row_names)
    columns = _matching(block, "columns", model.column_names)
    side = block.side
    if block.kind == "coefficient":
        row, column = _coefficients(model, block, rows, columns, public_model=public_model)
    elif block.kind == "rhs":
        rows = _inequalities(model, block, rows, public_model=public_model)
        side = side or _side_of_rows(model, block, rows)
        row = _with_side(model, block, rows, side)
        column = np.full(row.size, -1)
    else:
        column = _columns(model, block, columns, public_model=public_model)
        row = np.full(column.size, -1)
    if not row.size:
        raise InvalidArgumentError(f"{block.name}: the model has none of the numbers it names")
    if row.size > MOST_ENTRIES:
        raise InvalidArgumentError(
            f"{block.name} names {row.size} numbers, more than {MOST_ENTRIES}: name fewer"
        )
    return Group(block.name, block.kind, side, row, column)


def _matching(block: PrivateBlock, key: str, known: tuple[str, ...]) -> IntArray:
    """Positions of the names that a block's patterns match, in the model's order."""
    number = {name: i for i, name in enumerate(known)}
    found: set[int] = set()
    for pattern in getattr(block, key):
        if pattern in number:
            found.add(number[pattern])
            continue
        matches = [i for i, name in enumerate(known) if _pattern(pattern).fullmatch(name)]
        if not matches:
            raise InvalidArgumentError(_unknown(block.name, key, pattern, known))
        found.update(matches)
    return np.array(sorted(found), dtype=np.int64)


def _unknown(block: str, key: str, pattern: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(pattern, known[:10_000], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else f"it has {shown(known)}"
    costs = ' (costs are of kind "objective")' if key == "rows" else ""
    return f"{block}: the model has no {key[:-1]} {pattern[:60]!r}; {hint}{costs}"


def _by_pattern(model: LpModel, block: PrivateBlock, public_model: bool) -> str:
    """Which of the named coefficients are private: those the model has, or all."""
    wild = any(_WILD.search(name) for name in (*block.rows, *block.columns))
    wild = wild or (block.kind == "coefficient" and not (block.rows and block.columns))
    if block.pattern is None and wild and not public_model:
        raise InvalidArgumentError(
            f"{block.name}: the model file holds private numbers, so say which of the coefficients "
            'may be non-zero: pattern = "file" if it is public which of them the file has, '
            'pattern = "all" if any of the named rows and columns may meet'
        )
    return block.pattern or ("file" if wild or public_model else "all")


def _coefficients(
    model: LpModel,
    block: PrivateBlock,
    rows: IntArray,
    columns: IntArray,
    *,
    public_model: bool,
) -> tuple[IntArray, IntArray]:
    if block.entries:
        ends = zip(*block.entries, strict=True)
        known = (("rows", model.row_names), ("columns", model.column_names))
        row, column = (
            _numbers(block, *each, names) for each, names in zip(known, ends, strict=True)
        )
        return row, column
    rows = rows if block.rows else np.arange(model.num_rows)
    rows = _inequalities(model, block, rows, public_model=public_model)
    columns = columns if block.columns else np.arange(model.num_columns)
    if _by_pattern(model, block, public_model) == "file":
        stored = model.A.tocoo()
        kept = np.isin(stored.row, rows) & np.isin(stored.col, columns)
        return stored.row[kept].astype(np.int64), stored.col[kept].astype(np.int64)
    if rows.size * columns.size > MOST_ENTRIES:
        raise InvalidArgumentError(
            f"{block.name} names {rows.size} × {columns.size} coefficients, more than "
            f"{MOST_ENTRIES}: name fewer rows or columns"
        )
    return np.repeat(rows, columns.size), np.tile(columns, rows.size)


def _inequalities(
    model: LpModel, block: PrivateBlock, rows: IntArray, *, public_model: bool
) -> IntArray:
    """The rows that are meant: without equalities where the block says so."""
    if block.equalities is None:
        return rows
    if not public_model:
        raise InvalidArgumentError(
            f"{block.name}: the model file holds private numbers, and a range whose sides meet "
            "looks like an equality there. Name the rows that are meant, or give the private "
            "numbers in a file of their own (--data)"
        )
    return rows[~model.equal[rows]]


def _with_side(model: LpModel, block: PrivateBlock, rows: IntArray, side: str) -> IntArray:
    """Rows that are named, and those matched by a pattern that have the side."""
    right = model.row_upper if side == "upper" else model.row_lower
    named = np.array([name in block.rows for name in model.row_names])
    kept = rows[np.isfinite(right[rows]) | named[rows]]
    return kept[right[kept] != 0.0] if block.pattern == "file" else kept


def _columns(
    model: LpModel, block: PrivateBlock, columns: IntArray, *, public_model: bool
) -> IntArray:
    """Columns whose cost or bound is private."""
    if block.kind == "objective":
        by_file = _by_pattern(model, block, public_model) == "file"
        return columns[model.c[columns] != 0.0] if by_file else columns
    if block.side is None:
        raise InvalidArgumentError(
            f'{block.name}: say which bound of the columns is private, side = "lower" or "upper"'
        )
    own = (model.upper if block.side == "upper" else model.lower)[columns]
    return columns[np.isfinite(own) & (own != 0.0)] if block.pattern == "file" else columns


def _numbers(
    block: PrivateBlock, key: str, known: tuple[str, ...], names: tuple[str, ...]
) -> IntArray:
    number = {name: i for i, name in enumerate(known)}
    for name in names:
        if name not in number:
            raise InvalidArgumentError(_unknown(block.name, key, name, known))
    return np.array([number[name] for name in names], dtype=np.int64)


def _side_of_rows(model: LpModel, block: PrivateBlock, rows: IntArray) -> str:
    """The only side that the named rows have."""
    up, down = np.isfinite(model.row_upper[rows]), np.isfinite(model.row_lower[rows])
    both = [model.row_names[i] for i in rows[up & down]]
    if both:
        raise InvalidArgumentError(
            f"{block.name}: these rows are ranges or equalities: {shown(both)}. Of a range, say "
            'which side is private: side = "lower" or "upper", a block for each. No answer can '
            "satisfy an equality with a private right-hand side with certainty: write it as two "
            "inequalities with room between them"
        )
    if up.any() and down.any():
        raise InvalidArgumentError(
            f"{block.name}: some of its rows are ≤ and some ≥; make a block for each "
            '(side = "upper", side = "lower")'
        )
    return "lower" if down.any() else "upper"
