"""What is known about a cell, and about a released linear query, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.explorer.map_svg import Places


def cell_words(places: Places, cell: int, *, release: dp.Release | None, truth: Any = None) -> str:
    """Place and kind of a cell, what was released about it, and what was invented."""
    row, col = divmod(cell, places.shape[1])
    place = f"row {row}, column {col}"
    if cell in places.walls:
        return f"{place}: wall"
    if cell in places.goals:
        return f"{place}: goal"
    known = [*_entries(places, cell, release, truth)]
    start = "start" if cell in places.starts else "free, publicly harmless"
    return f"{place}: " + ("; ".join(known) if known else start)


def _entries(places: Places, cell: int, release: dp.Release | None, truth: Any) -> Iterator[str]:
    for kind in places.kinds:
        if cell not in kind.cells:
            continue
        at, public = kind.cells.index(cell), kind.price.envelope
        low, high = (part[at] for part in kind.interval(public.lower, public.upper))
        text = f"candidate ({kind.name}), public bounds [{low:g}, {high:g}]"
        if release is not None:
            lower, upper = (part[at] for part in kind.interval(release.lower, release.upper))
            text += f", released [{lower:.3g}, {upper:.3g}]"
        if truth is not None:
            text += f", invented {kind.interval(truth, truth)[0][at]:.3g}"
        yield text


def queries_of(places: Places, release: dp.Release) -> list[tuple[str, dict[int, float]]]:
    """Each released inequality: a sentence, and the weights of the cells in it."""
    known, public = release.uncertainty, release.envelope
    cells = {
        int(entry): kind.cells[at]
        for kind in places.kinds
        for at, entry in zip(kind.price.row, kind.price.entry, strict=True)
    }
    found = []
    for number in range(known.q.size):
        row = known.W[[number]].tocoo()
        entries, weights = row.coords[1], row.data
        size = np.abs(weights).max()
        high = [
            float(np.maximum(weights * part.lower[entries], weights * part.upper[entries]).sum())
            for part in (known, public)
        ]
        bound, alone, before = (value / size for value in (known.q[number], *high))
        text = (
            f"query {number + 1}, over {entries.size} numbers: at most {bound:.4g} "
            f"(intervals alone: {alone:.4g}, public: {before:.4g})"
        )
        pairs = zip(entries.tolist(), weights.tolist(), strict=True)
        found.append((text, {cells[k]: w for k, w in pairs if k in cells}))
    return found
