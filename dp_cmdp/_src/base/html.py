"""Small tables for notebooks, with everything in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

#: Rows that a table shows before it says how many there are.
MOST_ROWS = 10


def shown(item: Any) -> str:
    """The text of a cell, escaped: floats in six digits, anything else as its own text."""
    text = f"{item:.6g}" if isinstance(item, float) else str(item)
    return escape(text)


def values_table(title: str, values: Iterable[tuple[str, Any]]) -> str:
    """Two columns: what, and its value."""
    lines = "".join(_row((name, value), first="th") for name, value in values)
    return f"<table><caption>{shown(title)}</caption><tbody>{lines}</tbody></table>"


def rows_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, count: int | None = None
) -> str:
    """One line per row, the first few of `count`."""
    lines = "".join(_row(row) for row in islice(rows, MOST_ROWS))
    names = "".join(f"<th>{shown(name)}</th>" for name in head)
    more = "" if count is None or count <= MOST_ROWS else f" ({MOST_ROWS} of {count} shown)"
    return (
        f"<table><caption>{shown(title + more)}</caption>"
        f"<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _row(cells: Sequence[Any], *, first: str = "td") -> str:
    kinds = [first, *["td"] * (len(cells) - 1)]
    inner = (f"<{k}>{shown(cell)}</{k}>" for k, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(inner)}</tr>"
