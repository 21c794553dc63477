"""Rows of results as aligned text, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def print_json(content: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(content, ensure_ascii=False, allow_nan=False))


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Aligned columns, numbers to the right."""
    if not rows:
        return
    names = list(rows[0])
    cells = [[_text(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[k]) for line in cells)) for k, name in enumerate(names)]
    numeric = [any(isinstance(row.get(name), int | float) for row in rows) for name in names]

    def line(parts: Sequence[str]) -> str:
        return "  ".join(
            part.rjust(width) if right else part.ljust(width)
            for part, width, right in zip(parts, widths, numeric, strict=True)
        ).rstrip()

    print(line(names))
    print(line(["-" * width for width in widths]))
    for parts in cells:
        print(line(parts))


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
