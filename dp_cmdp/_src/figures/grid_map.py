"""One policy on its grid: the environment's own drawing, and over it visits, actions and the path.

Cells, walls, starts, goals and candidates are drawn by :mod:`dp_cmdp.envs.drawing`, as `render()`
of a hazard grid draws them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.figures.style import INK
from dp_cmdp._src.figures.view import ARROWS, Places, View
from dp_cmdp.envs import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARROW, PATH = "#111827", "#db2777"
#: The colour of visits, and how much of what lies below it the most visited cell covers.
VISITS, DEEPEST = (0.03, 0.32, 0.61), 0.7
FAINT = 0.25
#: Discounted visits below which a cell counts as never visited.
UNSEEN = 1e-6
#: An action that is always taken, in sides of a cell; the others as they are likely.
LONGEST_ARROW = 0.74
#: Sides of a cell, in inches: the largest, and the smallest with a number in it.
LARGEST_CELL, NUMBERED_CELL = 0.62, 0.36


def draw_map(
    ax: Axes, view: View, *, title: str, shares: FloatArray | None = None, true: bool = False
) -> Any:
    """A policy on its grid; `shares` colour candidates (kinds × cells). Returns the heat map."""
    places = view.places
    (rows, cols), kinds = places.shape, [kind.cells for kind in places.kinds]
    grid = drawing.Grid(places.shape, places.walls, places.starts, places.goals, kinds, shares)
    image = drawing.draw_grid(grid, hatched=not true)
    ax.imshow(image, extent=(-0.5, cols - 0.5, rows - 0.5, -0.5), zorder=0)
    heat = np.sqrt(view.visits)
    top = float(np.nanmax(heat, initial=0.0)) or 1.0
    beside = heat.copy()
    beside[list(places.candidates)] = np.nan
    found = ax.imshow(beside.reshape(rows, cols), cmap=_visits(), vmin=0.0, vmax=top, zorder=1)
    for cell in places.candidates:  # in the middle, so that its own colour stays in sight
        row, col = divmod(cell, cols)
        shade = found.to_rgba(heat[cell])
        ax.add_patch(Rectangle((col - 0.3, row - 0.3), 0.6, 0.6, facecolor=shade, zorder=1))
    row, col = np.divmod(np.array(view.path), cols)
    ax.plot(col, row, color=PATH, linewidth=2.0, alpha=0.7, solid_capstyle="round", zorder=3)
    _draw_arrows(ax, view)
    if is_numbered(places) and not true:
        for cell, number in places.candidates.items():
            _draw_number(ax, places, cell, number)
    ax.grid(visible=False)
    ax.set_axis_off()
    ax.set_anchor("NW")
    ax.set_title(title, loc="left", fontsize=10)
    return found


def cell_side(places: Places) -> float:
    """Side of a cell, in inches."""
    return min(LARGEST_CELL, 6.0 / max(places.shape))


def is_numbered(places: Places) -> bool:
    """Whether cells are large enough for the numbers of candidates."""
    return cell_side(places) >= NUMBERED_CELL


def map_legend(*views: View, shares: bool = False, true: bool = False) -> list[Any]:
    """What each mark on maps of one grid means, as handles of a legend."""
    places = views[0].places

    def arrow(label: str, alpha: float) -> Line2D:
        options = {"color": ARROW, "markersize": 12, "alpha": alpha, "linestyle": "none"}
        return Line2D([], [], marker=r"$\rightarrow$", label=label, **options)

    handles: list[Any] = []
    for number, kind in enumerate(places.kinds):
        pale, line, deep = map(_hex, drawing.KIND_COLOURS[number % len(drawing.KIND_COLOURS)])
        named = f" ({kind.name})" if len(places.kinds) > 1 else ""
        face, edge = (deep, pale) if shares or true else (pale, line)
        label = f"{'true hazard' if true else 'may be hazardous'}{named}"
        if shares or true:
            label += f": the deeper, the worse{'' if true else ' the release allows'}"
        hatch = None if true else "////"
        options = {"facecolor": face, "edgecolor": edge, "hatch": hatch, "linewidth": 0.0}
        handles.append(Patch(label=label, **options))
    if any(len(view.path) > 1 for view in views):
        options = {"color": PATH, "linewidth": 2, "alpha": 0.7}
        handles.append(Line2D([], [], label="likeliest path from the start", **options))
    ring: dict[str, Any] = {"mfc": _hex(drawing.START), "mec": _hex(drawing.START_RING), "mew": 2}
    handles.append(Line2D([], [], label="start", marker="o", ms=8, linestyle="none", **ring))
    if places.goals:
        handles.append(Patch(facecolor=_hex(drawing.GOAL), label="end of an episode"))
    handles.append(arrow("action: its length is its probability", 1.0))
    if any((view.weights.any(axis=1) & ~(view.visits > UNSEEN)).any() for view in views):
        handles.append(arrow("action in a cell never visited", FAINT))
    if places.walls:
        handles.append(Patch(facecolor=_hex(drawing.WALL), label="wall"))
    return handles


def visits_bar(figure: Figure, image: Any, ax: Axes, label: str = "discounted visits") -> None:
    """The scale of the heat beside a map; colours go with square roots, numbers are visits."""
    cols = image.get_array().shape[1]
    beside = ax.inset_axes((1.0 + 0.3 / cols, 0.0, max(0.02, 0.25 / cols), 1.0))
    bar = figure.colorbar(image, cax=beside)
    top = image.get_clim()[1]
    ticks = np.linspace(0.0, top, 5).tolist()
    bar.set_ticks(ticks, labels=[f"{tick**2:.2g}" for tick in ticks])
    bar.ax.tick_params(labelsize=8)
    bar.set_label(label, fontsize=8)


@cache
def _visits() -> ListedColormap:
    """From nothing to the colour of visits: what lies below shines through."""
    shades = np.empty((256, 4))
    shades[:, :3], shades[:, 3] = VISITS, np.linspace(0.0, DEEPEST, 256)
    return ListedColormap(shades.tolist(), name="visits")


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _draw_arrows(ax: Axes, view: View) -> None:
    """One arrow per action that is taken, those of a cell in its middle together."""
    weights = np.where(view.weights > 0.01, view.weights, 0.0)
    tips = LONGEST_ARROW * weights[:, :, None] * ARROWS
    tails = -(tips.max(axis=1) + tips.min(axis=1)) / 2
    cells, toward = np.nonzero(weights)
    row, col = np.divmod(cells, view.places.shape[1])
    for seen, alpha in ((True, 0.9), (False, FAINT)):
        pick = (view.visits[cells] > UNSEEN) == seen
        here = cells[pick]
        ax.quiver(
            col[pick] + tails[here, 0],
            row[pick] + tails[here, 1],
            *tips[here, toward[pick]].T,
            angles="xy", scale_units="xy", scale=1, pivot="tail", units="xy", width=0.05,
            headwidth=4, headlength=3.6, headaxislength=3.2, minlength=0.0,
            color=ARROW, alpha=alpha, zorder=4,
        )  # fmt: skip


def _draw_number(ax: Axes, places: Places, cell: int, number: int) -> None:
    """The number of a candidate in the lower right of its cell."""
    row, col = divmod(cell, places.shape[1])
    ax.text(
        col + 0.42, row + 0.42, str(number), color=INK, fontweight="bold", zorder=6,
        fontsize=min(6.0, 13.0 * cell_side(places)), ha="right", va="bottom",
        path_effects=[withStroke(linewidth=1.5, foreground=_hex(drawing.FREE))],
    )  # fmt: skip
