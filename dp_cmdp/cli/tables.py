"""Rows of results as aligned text that fits a terminal, or as JSON with all there is."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

#: Characters of a line at most.
WIDTH = 100
#: Columns of longer texts are folded, the widest first, where a line has no room for them.
LEAST_FOLD = 30
GAP = "  "


def print_json(content: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(content, ensure_ascii=False, allow_nan=False))


def print_fact(name: str, text: str) -> None:
    """A named line; what has no room in it stands below, as do texts without a name."""
    folded = textwrap.fill(
        text, WIDTH, initial_indent=f"{name:10}", subsequent_indent=" " * 10,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    print(folded)


def print_table(
    rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str] = (), caption: bool = False
) -> None:
    """Aligned columns, numbers to the right, in lines of at most 100 characters.

    Parameters
    ----------
    rows : sequence of mapping
        All with the keys of the first.
    columns : sequence of str
        The most important keys, first to last; all of them by default.
    caption : bool
        Say what is the same in all rows once, above the table, and below which keys are left out.

    Notes
    -----
    Ends of an interval (``…low…`` and ``…high…``) stand in brackets behind their mean.
    """
    if not rows:
        return
    table = _columns(rows)
    same = [part for part in table[1:] if caption and len(rows) > 1 and len(set(part.cells)) == 1]
    if same:
        told = "; ".join(f"{_words(part.name)} {part.cells[0]}" for part in same)
        print(textwrap.fill(f"in all rows: {told}", WIDTH) + "\n")
    rest = [part for part in table if part not in same]
    by_name = {part.name: part for part in rest}
    asked = [by_name[name] for name in columns if name in by_name] or rest
    shown = _fitting(asked)
    for line in _lines(shown):
        print(line)
    missing = [_words(part.name) for part in rest if part not in shown]
    if caption and missing:
        print("\n" + textwrap.fill(f"with --json also: {', '.join(missing)}", WIDTH))


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A heading of several lines, and cells that are right-aligned if they are numbers."""

    name: str
    heading: tuple[str, ...]
    cells: tuple[str, ...]
    numeric: bool

    @property
    def width(self) -> int:
        return max(map(len, (*self.heading, *self.cells)))


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[_Column]:
    """The columns; two ends of an interval join the mean before them, or stand together."""
    names, made = list(rows[0]), list[_Column]()
    while names:
        name = names.pop(0)
        if "low" in name and names and names[0] == name.replace("low", "high"):
            high = names.pop(0)
            ends = tuple(_interval(row.get(name), row.get(high)) for row in rows)
            if made and made[-1].numeric and _belongs(made[-1].name, name):
                mean = made.pop()
                pad = max(map(len, mean.cells))
                both = zip(mean.cells, ends, strict=True)
                cells = tuple(f"{cell.rjust(pad)} {end}".rstrip() for cell, end in both)
                made.append(_Column(mean.name, mean.heading, cells, numeric=False))
            else:
                text = name.replace("low", "interval")
                made.append(_Column(text, tuple(text.split("_")), ends, numeric=False))
            continue
        values = [row.get(name) for row in rows]
        numeric = any(isinstance(value, int | float) for value in values)
        made.append(_Column(name, tuple(name.split("_")), tuple(map(_text, values)), numeric))
    return made


def _belongs(mean: str, low: str) -> bool:
    """Whether ``…_ci_low`` or ``…_low`` is an end of the interval of the mean before it."""
    stem = low.replace("ci_low", "").replace("low", "").strip("_")
    return mean.startswith(stem.removesuffix("_percent"))


def _interval(low: Any, high: Any) -> str:
    return "" if low is None or high is None else f"[{low:.3g}, {high:.3g}]"


def _fitting(columns: Sequence[_Column]) -> list[_Column]:
    """From the left, as many columns as a line can hold once long texts are folded."""
    shown: list[_Column] = []
    used = -len(GAP)
    for column in columns:
        needed = len(GAP) + (column.width if column.numeric else min(column.width, LEAST_FOLD))
        if not shown or used + needed <= WIDTH:
            shown.append(column)
            used += needed
    return shown


def _widths(columns: Sequence[_Column]) -> list[int]:
    """Widths whose sum fits a line: what is too much is taken from the widest texts."""
    widths = [column.width for column in columns]
    texts = [k for k, column in enumerate(columns) if not column.numeric]
    while sum(widths) + len(GAP) * (len(widths) - 1) > WIDTH and texts:
        widest = max(texts, key=lambda k: widths[k])
        if widths[widest] <= LEAST_FOLD:
            break
        widths[widest] -= 1
    return widths


def _lines(columns: Sequence[_Column]) -> list[str]:
    widths = _widths(columns)
    depth = max(len(column.heading) for column in columns)
    heads = [["" for _ in range(depth - len(c.heading))] + list(c.heading) for c in columns]
    lines = [_line(columns, widths, parts) for parts in zip(*heads, strict=True)]
    lines.append(_line(columns, widths, ["-" * width for width in widths]))
    for cells in zip(*(column.cells for column in columns), strict=True):
        folded = [
            textwrap.wrap(cell, width) or [""] if len(cell) > width else [cell]
            for cell, width in zip(cells, widths, strict=True)
        ]
        lines += [_line(columns, widths, parts) for parts in zip_longest(*folded, fillvalue="")]
    return lines


def _line(columns: Sequence[_Column], widths: Sequence[int], parts: Sequence[str]) -> str:
    return GAP.join(
        part.rjust(width) if column.numeric else part.ljust(width)
        for part, width, column in zip(parts, widths, columns, strict=True)
    ).rstrip()


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")
