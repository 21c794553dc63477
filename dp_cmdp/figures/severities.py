"""What a release says about the hazards of a grid, beside its map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp.data.to_frame import entries_frame, totals_frame
from dp_cmdp.figures.grid_map import CLEARED, OPEN, entry_names, is_numbered
from dp_cmdp.figures.style import COLOURS, PUBLIC, small_legend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dp_cmdp.data.release import Release
    from dp_cmdp.figures.grid_view import GridView

#: Characters below the axis at most; of more numbers, every second or third and so on is shown.
MOST_CHARACTERS = 60
#: Totals drawn at most.
MOST_TOTALS = 4


def cleared_cells(release: Release, view: GridView) -> set[int]:
    """Candidates of which no severity can be as bad as the public bounds allow."""
    worst: dict[int, bool] = {}
    for _, frame, cells in _groups(release, view):
        reached = (frame["upper"] >= frame["public_upper"]).tolist()
        for cell, bad in zip(cells, reached, strict=True):
            worst[cell] = worst.get(cell, False) or bad
    return {cell for cell, bad in worst.items() if not bad}


def tells_cells(release: Release, view: GridView) -> bool:
    """Whether the release says something about single candidates."""
    return bool(_groups(release, view))


def draw_severities(ax: Axes, release: Release, view: GridView) -> None:
    """The interval of every severity within its public bounds, by the number of its cell."""
    groups = _groups(release, view)
    if not groups:
        _draw_entries(ax, release)
        return
    start = 0
    ticks: list[str] = []
    for name, frame, _ in groups:
        place = np.arange(start, start + len(frame))
        start += len(frame)
        ticks += entry_names(view, name)
        _draw_intervals(ax, place, frame)
    step = -(-start * (1 + max(map(len, ticks))) // MOST_CHARACTERS)
    ax.set_xticks(range(0, start, step), ticks[::step], fontsize=7)
    ax.set_xlim(-0.8, start - 0.2)
    counted = "number of the candidate on the map" if is_numbered(view) else "candidate, row by row"
    ax.set_xlabel(counted, fontsize=8)
    worst = sum(int((f["upper"] >= f["public_upper"]).sum()) for _, f, _ in groups)
    _dress(ax, f"released: severity of the candidates\n{worst} of {start} may be at their worst")


def draw_totals(ax: Axes, release: Release) -> None:
    """The largest that each weighted total can be: by the release, its intervals, the public."""
    frame = totals_frame(release)[:MOST_TOTALS]
    place = np.arange(len(frame))
    ax.barh(place, frame["public_bound"], 0.8, color=PUBLIC, label="public")
    ax.barh(place, frame["bound"], 0.5, color=COLOURS["totals"], label="released")
    ends = place - 0.4, place + 0.4
    look = {"color": COLOURS["database"], "linewidth": 2}
    ax.vlines(frame["interval_bound"], *ends, label="by intervals alone", **look)
    names = [f"total {k + 1}: {count} entries" for k, count in enumerate(frame["entries"])]
    ax.set_yticks(place, names, fontsize=8)
    ax.set_ylim(len(frame) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(visible=False, axis="y")
    more = len(release.totals or ()) - len(frame)
    told = f" (and {more} more)" if more else ""
    ax.set_title(f"released: bounds on weighted totals{told}", loc="left", fontsize=9)
    small_legend(ax, label=False)


def _draw_entries(ax: Axes, release: Release) -> None:
    """Intervals of a release that does not name the severities one by one."""
    name = release.groups[0][0]
    frame = entries_frame(release, name)
    own = release.method == "database"
    look = {"color": COLOURS["database" if own else "benvenuti2025"], "linewidth": 2}
    place = np.arange(len(frame))
    ax.vlines(place, frame["lower"], frame["upper"], label="released interval", **look)
    ax.set_xlabel("entry", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", integer=True)
    _dress(ax, f"released: entries of {name}")


def _draw_intervals(ax: Axes, place: np.ndarray, frame: pd.DataFrame) -> None:
    low, high = frame["public_lower"], frame["public_upper"]
    first = place[0] == 0
    thick = float(np.clip(160.0 / max(len(frame), 1), 1.2, 7.0))
    bounds = "public bounds" if first else "_"
    ax.vlines(place, low, high, color=PUBLIC, linewidth=thick, label=bounds)
    reached = (frame["upper"] >= high).to_numpy()
    for pick, shade, text, sign in (
        (reached, OPEN["edgecolor"], "may be its worst", "^"),
        (~reached, CLEARED["edgecolor"], "worst excluded", "_"),
    ):
        if pick.any():
            part = frame[pick]
            look = {"color": shade, "linewidth": 0.5 * thick}
            ax.vlines(place[pick], part["lower"], part["upper"], **look)
            label = text if text not in _labels(ax) else None
            size = min(5.0, thick + 1.0)
            ax.plot(place[pick], part["upper"], sign, color=shade, markersize=size, label=label)


def _labels(ax: Axes) -> list[str]:
    return ax.get_legend_handles_labels()[1]


def _dress(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=9)
    ax.tick_params(axis="y", labelsize=8)
    ax.grid(visible=False, axis="x")
    small_legend(ax)


def _groups(release: Release, view: GridView) -> list[tuple[str, pd.DataFrame, tuple[int, ...]]]:
    """Name, table and cells of each released group of severities."""
    if release.method != "database" or release.envelope is None:
        return []
    sizes = {name: int(np.prod(shape)) for name, shape in release.groups}
    return [
        (name, entries_frame(release, name), cells)
        for name, cells in view.entries.items()
        if sizes.get(name) == len(cells)
    ]
