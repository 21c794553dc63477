"""One policy drawn on its grid: candidates, where the agent goes, what it does there."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.patheffects import withStroke

from dp_cmdp._check import FloatArray
from dp_cmdp.figures.grid_view import ARROWS, GridView
from dp_cmdp.figures.style import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEAT = "YlGnBu"
WALL, GOAL, START = "#374151", "#15803d", "#b91c1c"
ARROW, PATH, HAZARD = "#111827", "#db2777", "#dc2626"
#: Candidates that may be at their worst, and those of which the release excludes it.
OPEN: Any = {"fill": False, "hatch": "////", "edgecolor": "#d97706"}
CLEARED: Any = {"fill": False, "hatch": "..", "edgecolor": COLOURS["database"]}
FAINT = 0.25
#: Discounted visits below which a cell counts as never visited.
UNSEEN = 1e-6
#: An action that is always taken, in sides of a cell; the others as they are likely.
LONGEST_ARROW = 0.74
#: Sides of a cell, in inches: the largest, and the smallest with a number in it.
LARGEST_CELL, NUMBERED_CELL = 0.62, 0.36
#: Where letters and numbers stand, in sides of a cell from its middle; half a letter's width, and
#: how far an arrow must be from its middle.
CORNER, LETTER, ROOM = 0.41, 0.12, 0.25


def draw_policy(
    ax: Axes, view: GridView, *, title: str, cleared: Collection[int] = (), numbers: bool = False
) -> Any:
    """Visits as heat, actions as arrows, the likeliest path as a line; returns the heat map.

    `cleared` are candidates of which a release excludes the worst; `numbers` counts candidates.
    """
    # the darkest third of the colours is left out, so that arrows stay readable
    image = draw_walk(ax, view, top=1.5, line=2.0)
    _furniture(ax, view, cleared)
    if numbers and is_numbered(view):
        for cell, text in candidate_names(view).items():
            draw_letter(ax, view, cell, text, colour=INK, side=(1, 1), size=0.75)
    ax.set_title(title, loc="left", fontsize=10)
    return image


def draw_walk(ax: Axes, view: GridView, *, top: float, line: float, **look: Any) -> Any:
    """Visits as heat, with the most visited at 1/`top` of the colours, the path, the actions."""
    heat = np.sqrt(view.visits.reshape(view.rows, view.cols))
    shades = {"cmap": HEAT, "vmin": 0.0, "vmax": top * np.nanmax(heat), "zorder": 0, **look}
    image = ax.imshow(heat, **shades)
    row, col = np.divmod(np.array(view.path), view.cols)
    ax.plot(col, row, color=PATH, linewidth=line, alpha=0.7, solid_capstyle="round", zorder=3)
    draw_arrows(ax, view)
    return image


def cell_side(view: GridView) -> float:
    """Side of a cell, in inches."""
    return min(LARGEST_CELL, 6.0 / max(view.rows, view.cols))


def is_numbered(view: GridView) -> bool:
    """Whether cells are large enough for the numbers of candidates."""
    return cell_side(view) >= NUMBERED_CELL


def candidate_names(view: GridView) -> dict[int, str]:
    """A number per candidate and, of several kinds of hazard, a letter for each it may be."""
    letters = kind_letters(view)
    return {
        cell: str(number) + "".join(letters[k] for k in letters if cell in view.kinds[k])
        for number, cell in enumerate(view.candidates, start=1)
    }


def kind_letters(view: GridView) -> dict[str, str]:
    """A letter per kind of hazard, where there are several."""
    return dict(zip(view.kinds, "abcdefghi", strict=False)) if len(view.kinds) > 1 else {}


def entry_names(view: GridView, group: str) -> list[str]:
    """The number of the candidate of each severity, and the letter of the kind it measures."""
    numbers = {cell: number for number, cell in enumerate(view.candidates, start=1)}
    letters = kind_letters(view)
    owners = zip(view.entries[group], view.entry_kinds[group], strict=True)
    return [f"{numbers[cell]}{letters.get(kind, '')}" for cell, kind in owners]


def draw_hazards(ax: Axes, view: GridView, severity: FloatArray) -> None:
    """A frame inside each cell whose true severity is above 0: the thicker, the worse."""
    worst = severity.max(axis=0)
    for cell in np.flatnonzero(worst > 0):
        row, col = divmod(int(cell), view.cols)
        width = 72.0 * cell_side(view) * (0.02 + 0.05 * worst[cell] / worst.max())
        frame = FancyBboxPatch(
            (col - 0.44, row - 0.44), 0.88, 0.88, boxstyle="round,pad=0.01,rounding_size=0.1",
            fill=False, edgecolor=HAZARD, linewidth=width, zorder=5,
        )  # fmt: skip
        ax.add_patch(frame)


def map_legend(
    *views: GridView, cleared: bool = False, numbers: bool = False, hazards: bool = False
) -> list[Any]:
    """What each mark on maps of one grid means, as handles of a legend."""
    view = views[0]

    def arrow(label: str, alpha: float) -> Line2D:
        look = {"color": ARROW, "markersize": 12, "alpha": alpha, "linestyle": "none"}
        return Line2D([], [], marker=r"$\rightarrow$", label=label, **look)

    counted = " (numbered)" if numbers and is_numbered(view) else ""
    if len(view.kinds) > 1 and counted:
        told = ", ".join(f"{a}: {k}" for a, k in zip("abcdefghi", view.kinds, strict=False))
        counted = f" (numbered; {told})"
    handles: list[Any] = []
    if view.candidates:
        handles.append(Patch(label=f"may be hazardous{counted}", **OPEN))
    if cleared:
        handles.append(Patch(label="the same, but the release excludes the worst", **CLEARED))
    if any(len(each.path) > 1 for each in views):
        look = {"color": PATH, "linewidth": 2, "alpha": 0.7}
        handles.append(Line2D([], [], label="likeliest path from the start S", **look))
    handles += [
        Patch(facecolor=GOAL, label="goal G"),
        arrow("action: its length is its probability", 1.0),
    ]
    if any(np.any(_arrows(each)[0].any(axis=1) & ~_seen(each)) for each in views):
        handles.append(arrow("action in a cell never visited", FAINT))
    if view.walls:
        handles.append(Patch(facecolor=WALL, label="wall"))
    if hazards:
        frame = {"fill": False, "edgecolor": HAZARD, "linewidth": 2.0}
        handles.append(Patch(label="true hazard: the thicker, the worse", **frame))
    return handles


def visits_bar(figure: Figure, image: Any, ax: Axes) -> None:
    """The scale of the heat beside a map; colours go with square roots, numbers are visits."""
    cols = image.get_array().shape[1]
    width = max(0.02, 0.25 / cols)
    beside = ax.inset_axes((1.0 + 0.3 / cols, 0.0, width, 1.0))
    bar = figure.colorbar(image, cax=beside)
    top = float(np.nanmax(image.get_array()))
    bar.ax.set_ylim(0.0, top)
    ticks = np.linspace(0.0, top, 5).tolist()
    bar.set_ticks(ticks, labels=[f"{tick**2:.2g}" for tick in ticks])
    bar.set_label("discounted visits")


def _furniture(ax: Axes, view: GridView, cleared: Collection[int]) -> None:
    """Grid lines, walls, hatched candidates, start and goal."""
    ax.grid(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xticks(np.arange(-0.5, view.cols), minor=True)
    ax.set_yticks(np.arange(-0.5, view.rows), minor=True)
    ax.grid(True, which="minor", color="#d1d5db", linewidth=0.6)
    ax.tick_params(which="both", length=0)
    for cells, shade in ((view.walls, WALL), (view.goals, GOAL)):
        for cell in cells:
            ax.add_patch(Rectangle(_corner(view, cell), 1, 1, facecolor=shade, zorder=1))
    for cell in view.candidates:
        look = {"linewidth": 0.8, "zorder": 2, **(CLEARED if cell in cleared else OPEN)}
        ax.add_patch(Rectangle(_corner(view, cell), 1, 1, **look))
    draw_ends(ax, view)


def draw_ends(ax: Axes, view: GridView, *, size: float = 1.0) -> None:
    """The letters of start and goal, where no arrow is."""
    for cell in view.goals:
        draw_letter(ax, view, cell, "G", colour="white", size=size)
    for cell in {cell for cell, _ in view.starts} - set(view.goals):
        draw_letter(ax, view, cell, "S", colour=START, side=_free_corner(view, cell), size=size)


def _free_corner(view: GridView, cell: int) -> tuple[int, int]:
    """The corner of a cell that is farthest from its arrows; below on the left, if that will do."""
    weights, tips, tails = _arrows(view)
    tail = tails[cell]
    drawn = tips[cell][weights[cell] > 0]
    points = np.concatenate([tail + share * drawn for share in np.linspace(0.0, 1.0, 11)])
    corners = [(-1, 1), (1, 1), (-1, -1), (1, -1)]
    if not len(points):
        return corners[0]
    letters = (CORNER - LETTER) * np.array(corners)
    room = np.abs(points[None, :, :] - letters[:, None, :]).max(axis=2).min(axis=1)
    return corners[0] if room[0] >= ROOM else corners[int(room.argmax())]


def _arrows(view: GridView) -> tuple[FloatArray, FloatArray, FloatArray]:
    """How likely each action is, its arrow, and where a cell's arrows begin, from its middle."""
    weights = np.where(view.weights > 0.01, view.weights, 0.0)
    weights[~np.isfinite(view.visits)] = 0.0
    tips = LONGEST_ARROW * weights[:, :, None] * ARROWS
    return weights, tips, -(tips.max(axis=1) + tips.min(axis=1)) / 2


def _seen(view: GridView) -> Any:
    """Which cells are visited at all."""
    return view.visits > UNSEEN


def draw_arrows(ax: Axes, view: GridView) -> None:
    """One arrow per action that is taken, those of a cell in its middle together."""
    weights, tips, tails = _arrows(view)
    cells, toward = np.nonzero(weights)
    row, col = np.divmod(cells, view.cols)
    for seen, alpha in ((True, 0.9), (False, FAINT)):
        pick = _seen(view)[cells] == seen
        here = cells[pick]
        ax.quiver(
            col[pick] + tails[here, 0],
            row[pick] + tails[here, 1],
            *tips[here, toward[pick]].T,
            angles="xy",
            scale_units="xy",
            scale=1,
            pivot="tail",
            units="xy",
            width=0.05,
            headwidth=4,
            headlength=3.6,
            headaxislength=3.2,
            minlength=0.0,
            color=ARROW,
            alpha=alpha,
            zorder=4,
        )


def _corner(view: GridView, cell: int) -> tuple[float, float]:
    row, col = divmod(cell, view.cols)
    return col - 0.5, row - 0.5


def draw_letter(
    ax: Axes,
    view: GridView,
    cell: int,
    letter: str,
    *,
    colour: str,
    side: tuple[int, int] = (-1, 1),
    size: float = 1.0,
) -> None:
    """A letter in a corner of a cell, beside arrows and path."""
    row, col = divmod(cell, view.cols)
    halo = [] if colour == "white" else [withStroke(linewidth=1.5, foreground="white")]
    ax.text(
        col + side[0] * CORNER, row + side[1] * CORNER, letter, color=colour,
        fontsize=size * min(8.0, 18.0 * cell_side(view)), fontweight="bold", zorder=6,
        ha="left" if side[0] < 0 else "right", va="top" if side[1] < 0 else "bottom",
        path_effects=halo,
    )  # fmt: skip
