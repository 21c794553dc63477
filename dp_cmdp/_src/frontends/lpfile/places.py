"""Where the private numbers of a model stand: from names and patterns to positions.

Positions follow from names alone, or from the pattern of coefficients where that is public, never
from a private number. Private numbers that leave no room for noise are refused: in equalities, and
in sides that may meet within the public bounds.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, listed
from dp_cmdp._src.frontends.lpfile.model import Model
from dp_cmdp._src.frontends.lpfile.outline import Stated
from dp_cmdp._src.frontends.lpfile.spec import PrivateBlock

IntArray = NDArray[np.int64]
#: More entries than this in one block are refused: a pattern says more than was meant.
MOST_ENTRIES = 10_000_000
_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of one block: row and column of each (−1: none), which of the model's sides it
    is (if it is one), and its public bounds."""

    block: PrivateBlock
    side: str | None
    row: IntArray
    column: IntArray
    at: IntArray
    lower: FloatArray
    upper: FloatArray
    radius: FloatArray | None

    @property
    def name(self) -> str:
        return self.block.name

    @property
    def kind(self) -> str:
        return self.block.kind

    @property
    def size(self) -> int:
        return self.row.size


def groups_of(model: Model, blocks: Sequence[PrivateBlock], *, relative: bool) -> list[Group]:
    """The positions of every block. `relative`: the model's own numbers are public."""
    groups = [_group(model, block, relative=relative) for block in blocks]
    _refuse_twice(model, groups)
    return groups


def check_places(model: Model, groups: Sequence[Group], *, relative: bool) -> None:
    """Refuse private numbers that leave no room for noise, by public numbers alone."""
    least, most = model.lower.copy(), model.upper.copy()  # hardest to keep in the public bounds
    for group in groups:
        if group.side == "upper":
            most[group.at] = group.lower
        elif group.side == "lower":
            least[group.at] = group.upper
    for group in groups:
        if group.kind == "coefficient":
            _refuse_equalities(model, group)
        elif group.kind == "rhs":
            _check_rows(model, group, least[group.at] >= most[group.at])
        elif group.kind == "bound":
            _check_bounds(model, group, least[group.at], most[group.at], relative=relative)
    if not relative:
        _refuse_shared(model, groups)
    crossed = np.flatnonzero((least > most)[model.num_rows :])
    if crossed.size:
        raise InvalidArgumentError(
            "the lower bound must not exceed the upper one; in the model it does for "
            + listed([model.column_names[j] for j in crossed])
        )


def at_places(model: Model, groups: Sequence[Group]) -> Callable[[Stated], bool]:
    """Whether a number stands at a place of a group."""
    places = {
        (group.kind, i, j, group.side if group.kind == "bound" else None)
        for group in groups
        for i, j in zip(group.row.tolist(), group.column.tolist(), strict=True)
    }
    rows = {name: i for i, name in enumerate(model.row_names)}
    columns = {name: j for j, name in enumerate(model.column_names)}

    def private(spot: Stated) -> bool:
        kind = "rhs" if spot.kind == "range" else spot.kind
        row, column = rows.get(spot.row, -1), columns.get(spot.column, -1)
        ends = [{"l": "lower", "u": "upper"}[end] for end in spot.ends] or [None]
        return any((kind, row, column, end) in places for end in ends)

    return private


def place(model: Model, kind: str, row: int, column: int) -> str:
    """A private position in words."""
    if kind == "coefficient":
        return f"the coefficient of {model.column_names[column]} in {model.row_names[row]}"
    if kind == "rhs":
        return f"the right-hand side of {model.row_names[row]}"
    return f"the {'cost' if kind == 'objective' else 'bound'} of {model.column_names[column]}"


def numbers_at(model: Model, group: Group) -> FloatArray:
    """The model's own numbers at the places of a group; 0 for coefficients that it has not."""
    if group.kind == "objective":
        return model.c[group.column]
    if group.kind != "coefficient":
        return model.side(group.side)[group.at]
    stored = model.A.tocoo()
    keys = stored.row.astype(np.int64) * model.num_columns + stored.col
    order, wanted = np.argsort(keys), group.row * model.num_columns + group.column
    at = np.minimum(np.searchsorted(keys[order], wanted), max(keys.size - 1, 0))
    if not keys.size:
        return np.zeros(group.size)
    return np.where(keys[order][at] == wanted, stored.data[order][at], 0.0)


def _group(model: Model, block: PrivateBlock, *, relative: bool) -> Group:
    rows = _matching(block, "rows", model.row_names)
    columns = _matching(block, "columns", model.column_names)
    side = block.side
    if block.kind == "coefficient":
        row, column = _coefficients(model, block, rows, columns, relative=relative)
    elif block.kind == "rhs":
        rows = _inequalities(model, block, rows, relative=relative)
        side = side or _side_of_rows(model, block, rows)
        row = _with_side(model, block, rows, side)
        column = np.full(row.size, -1)
    else:
        column = _columns(model, block, columns, relative=relative)
        row = np.full(column.size, -1)
    if not row.size:
        raise InvalidArgumentError(f"{block.name}: the model has none of the numbers it names")
    _check_count(block, row.size)
    at = row if block.kind == "rhs" else model.num_rows + column
    ones = np.ones(row.size)
    radius = None if block.radius is None else block.radius * ones
    group = Group(block, side, row, column, at, block.lower * ones, block.upper * ones, radius)
    return _relative(model, group, relative=relative) if block.relative else group


def _relative(model: Model, group: Group, *, relative: bool) -> Group:
    """The group with bounds and radius in shares of the model's numbers."""
    if not relative:
        raise InvalidArgumentError(
            f"{group.name}: relative bounds would be made from the private numbers of the model "
            "file, and show them. Give absolute bounds, or a public model and the private numbers "
            "in a file of their own (relative_to_model=True; --data)"
        )
    nominal = numbers_at(model, group)
    usable = np.isfinite(nominal) & (nominal != 0.0)
    if not usable.all():
        wrong = int(np.argmin(usable))
        where = place(model, group.kind, int(group.row[wrong]), int(group.column[wrong]))
        raise InvalidArgumentError(
            f"{group.name}: {where} is 0 or infinite in the model: relative bounds say nothing "
            "about it. Give it a block with absolute ones"
        )
    ends = np.stack([group.lower * nominal, group.upper * nominal])
    radius = None if group.radius is None else group.radius * np.abs(nominal)
    return replace(group, lower=ends.min(axis=0), upper=ends.max(axis=0), radius=radius)


def _pattern(text: str) -> re.Pattern[str]:
    """`*` and `?` stand for any letters."""
    return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


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
    hint = f"did you mean {', '.join(close)}?" if close else f"it has {listed(known)}"
    costs = ' (costs are of kind "objective")' if key == "rows" else ""
    return f"{block}: the model has no {key[:-1]} {pattern[:60]!r}; {hint}{costs}"


def _check_count(block: PrivateBlock, count: int) -> None:
    if count > MOST_ENTRIES:
        raise InvalidArgumentError(
            f"{block.name} names {count} numbers, more than {MOST_ENTRIES}: name fewer"
        )


def _by_pattern(block: PrivateBlock, relative: bool) -> str:
    """Which of the named coefficients are private: those the model has, or all."""
    wild = any(_WILD.search(name) for name in (*block.rows, *block.columns))
    wild = wild or (block.kind == "coefficient" and not (block.rows and block.columns))
    if block.pattern is None and wild and not relative:
        raise InvalidArgumentError(
            f"{block.name}: the model file holds private numbers, so say which of the coefficients "
            'may be non-zero: pattern = "file" if it is public which of them the file has, '
            'pattern = "all" if any of the named rows and columns may meet'
        )
    return block.pattern or ("file" if wild or relative else "all")


def _coefficients(
    model: Model, block: PrivateBlock, rows: IntArray, columns: IntArray, *, relative: bool
) -> tuple[IntArray, IntArray]:
    if block.entries:
        row, column = zip(*block.entries, strict=True)
        return (
            _positions(block, "rows", model.row_names, row),
            _positions(block, "columns", model.column_names, column),
        )
    rows = rows if block.rows else np.arange(model.num_rows)
    rows = _inequalities(model, block, rows, relative=relative)
    columns = columns if block.columns else np.arange(model.num_columns)
    if _by_pattern(block, relative) == "file":
        stored = model.A.tocoo()
        kept = np.isin(stored.row, rows) & np.isin(stored.col, columns)
        return stored.row[kept].astype(np.int64), stored.col[kept].astype(np.int64)
    _check_count(block, rows.size * columns.size)
    return np.repeat(rows, columns.size), np.tile(columns, rows.size)


def _inequalities(model: Model, block: PrivateBlock, rows: IntArray, *, relative: bool) -> IntArray:
    """The rows that are meant: without equalities where the block says so."""
    if block.equalities is None:
        return rows
    if not relative:
        raise InvalidArgumentError(
            f"{block.name}: the model file holds private numbers, and a range whose sides meet "
            "looks like an equality there. Name the rows that are meant, or give the private "
            "numbers in a file of their own (relative_to_model=True; --data)"
        )
    return rows[~model.equal[rows]]


def _with_side(model: Model, block: PrivateBlock, rows: IntArray, side: str) -> IntArray:
    """Rows that are named, and those matched by a pattern that have the side."""
    right = model.side(side)
    named = np.array([name in block.rows for name in model.row_names], dtype=bool)
    kept = rows[np.isfinite(right[rows]) | named[rows]]
    return kept[right[kept] != 0.0] if block.pattern == "file" else kept


def _columns(model: Model, block: PrivateBlock, columns: IntArray, *, relative: bool) -> IntArray:
    """Columns whose cost or bound is private."""
    if block.kind == "objective":
        by_file = _by_pattern(block, relative) == "file"
        return columns[model.c[columns] != 0.0] if by_file else columns
    if block.side is None:
        raise InvalidArgumentError(
            f'{block.name}: say which bound of the columns is private, side = "lower" or "upper"'
        )
    own = model.side(block.side)[model.num_rows + columns]
    return columns[np.isfinite(own) & (own != 0.0)] if block.pattern == "file" else columns


def _positions(
    block: PrivateBlock, key: str, known: tuple[str, ...], names: tuple[str, ...]
) -> IntArray:
    number = {name: i for i, name in enumerate(known)}
    for name in names:
        if name not in number:
            raise InvalidArgumentError(_unknown(block.name, key, name, known))
    return np.array([number[name] for name in names], dtype=np.int64)


def _side_of_rows(model: Model, block: PrivateBlock, rows: IntArray) -> str:
    """The only side that the named rows have."""
    up, down = np.isfinite(model.upper[rows]), np.isfinite(model.lower[rows])
    both = [model.row_names[i] for i in rows[up & down]]
    if both:
        raise InvalidArgumentError(
            f"{block.name}: these rows are ranges or equalities: {listed(both)}. Of a range, say "
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


# ------------------------------------------------------------------- what no private number may be


def _refuse_twice(model: Model, groups: Sequence[Group]) -> None:
    """Refuse a number that stands in two blocks."""
    taken: dict[tuple[str, str | None], list[Group]] = {}
    for group in groups:
        taken.setdefault((group.kind, group.side), []).append(group)
    for alike in taken.values():
        row = np.concatenate([group.row for group in alike])
        column = np.concatenate([group.column for group in alike])
        _, first, count = np.unique(
            row * model.num_columns + column, return_index=True, return_counts=True
        )
        if (count > 1).any():
            at = first[np.argmax(count > 1)]
            raise InvalidArgumentError(
                f"{place(model, alike[0].kind, int(row[at]), int(column[at]))} is named twice as "
                "private: one number is one entry"
            )


def _refuse_equalities(model: Model, group: Group) -> None:
    wrong = group.row[model.equal[group.row]]
    if wrong.size:
        raise InvalidArgumentError(
            f"{group.name}: {model.row_names[wrong[0]]} is an equality row. No answer can satisfy "
            "an equality with a private coefficient with certainty: write it as two inequalities "
            "with room between them (a range), or leave it public"
        )


def _check_rows(model: Model, group: Group, meet: NDArray[np.bool_]) -> None:
    row = group.row
    without = ~np.isfinite(model.side(group.side)[row]) & ~model.equal[row]
    if without.any():
        name = model.row_names[row[np.argmax(without)]]
        sign = "≤" if group.side == "upper" else "≥"
        raise InvalidArgumentError(
            f"{group.name}: {name} has no {group.side} side ({sign}) whose right-hand side "
            "could be private"
        )
    meet = model.equal[row] | meet
    if meet.any():
        raise InvalidArgumentError(
            f"{group.name}: {model.row_names[row[np.argmax(meet)]]} is an equality row, or a "
            "range whose two sides may meet within the public bounds. No answer can satisfy it "
            "for every database: write an equality as two inequalities with room between them, "
            "or choose public bounds that keep the sides apart"
        )


def _check_bounds(
    model: Model, group: Group, lower: FloatArray, upper: FloatArray, *, relative: bool
) -> None:
    wrong = lower > upper
    if not relative:  # a fixed column states both its bounds by one number
        wrong |= (lower == upper) | model.equal[group.at]
    if wrong.any():
        name = model.column_names[group.column[np.argmax(wrong)]]
        raise InvalidArgumentError(
            f"{group.name}: the two bounds of {name} may {'cross' if relative else 'meet'} "
            "within the public bounds: choose public bounds that keep them apart"
            + ("" if relative else ", or give the private numbers in a file of their own")
        )


def _refuse_shared(model: Model, groups: Sequence[Group]) -> None:
    """Refuse private numbers of the file from which a public side would follow."""
    records: dict[str, dict[int, str]] = {"lower": {}, "upper": {}}
    for group in groups:
        if group.kind == "rhs":
            records[str(group.side)].update(dict.fromkeys(group.row.tolist(), group.block.record))
        if group.kind == "bound" and group.side == "upper" and group.block.lower < 0.0:
            raise InvalidArgumentError(
                f"{group.name}: in the model file a negative upper bound may change the lower one, "
                "which is public. Choose lower ≥ 0, or give the private numbers in a file of their "
                "own (relative_to_model=True; --data)"
            )
    two = np.isfinite(model.lower) & np.isfinite(model.upper)
    for side, other in (("lower", "upper"), ("upper", "lower")):
        for row, record in records[side].items():
            if two[row] and (record not in ("row", "all") or records[other].get(row) != record):
                raise InvalidArgumentError(
                    f"{model.row_names[row]} is a range: its file states both sides by one "
                    "right-hand side, so that they are private together. Make the other side "
                    'private too, both with record = "row" (or "all"), or give the private numbers '
                    "in a file of their own (relative_to_model=True; --data)"
                )
