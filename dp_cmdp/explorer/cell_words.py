"""What is known about a cell, and about a released total, in words."""

from __future__ import annotations

from collections.abc import Iterator

from dp_cmdp._check import FloatArray
from dp_cmdp.data.release import Release
from dp_cmdp.envs import Layout


def cell_words(
    layout: Layout, cell: int, *, release: Release | None, severity: FloatArray | None
) -> str:
    """Place and kind of a cell, what was released about it, and what was invented."""
    row, col = divmod(cell, layout.cols)
    place = f"row {row}, column {col}"
    if cell in layout.walls:
        return f"{place}: wall"
    if cell in layout.goals:
        return f"{place}: goal"
    told = [*_entries(layout, cell, release, severity)]
    start = "start" if cell in dict(layout.starts) else "free, publicly harmless"
    return f"{place}: " + ("; ".join(told) if told else start)


def _entries(
    layout: Layout, cell: int, release: Release | None, severity: FloatArray | None
) -> Iterator[str]:
    first = 0
    for number, kind in enumerate(layout.kinds):
        if cell in kind.cells:
            low, high = kind.severity
            text = f"candidate ({kind.name}), public bounds [{low:g}, {high:g}]"
            if release is not None:
                entry = first + kind.cells.index(cell)
                part = release.group("severity")
                lower, upper = part["lower"].ravel()[entry], part["upper"].ravel()[entry]
                text += f", released [{lower:.3g}, {upper:.3g}]"
            if severity is not None:
                text += f", invented {severity[number, cell]:.3g}"
            yield text
        first += len(kind.cells)


def totals_of(layout: Layout, release: Release) -> list[tuple[str, dict[int, float]]]:
    """Each released total: a sentence, and the weights of the cells in it.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    if release.totals is None:
        return []
    frame = release.to_frame("totals")
    cells = [cell for kind in layout.kinds for cell in kind.cells]
    found = []
    for number, row in enumerate(frame.itertuples(index=False)):
        weighed = release.totals.W[[number]].tocoo()
        weights = {
            cells[k]: float(w)
            for k, w in zip(weighed.coords[1], weighed.data, strict=True)
            if k < len(cells)
        }
        text = (
            f"total {number + 1}, over {row.entries} numbers: at most {row.bound:.4g} "
            f"(intervals alone: {row.interval_bound:.4g}, public: {row.public_bound:.4g})"
        )
        found.append((text, weights))
    return found
