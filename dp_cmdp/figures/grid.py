"""A policy on its grid: candidate cells, where the agent goes, what it does there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.grid_view import ARROWS, GridView, policy_view
from dp_cmdp.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.envs.layout import Layout
    from dp_cmdp.frontends.private_costs import TabularCMDP
    from dp_cmdp.frontends.tabular import TabularModel

HEAT = "YlGnBu"
CANDIDATE, WALL, GOAL, START = "#f59e0b", "#374151", "#16a34a", "#b91c1c"
ARROW, PATH, HAZARD = "#111827", "#db2777", "#dc2626"
HATCHED: Any = {"fill": False, "hatch": "////", "edgecolor": CANDIDATE}
FAINT = 0.25
#: Discounted visits below which a cell counts as never visited.
UNSEEN = 1e-6


@door
def policy_figure(
    policy: Policy,
    *,
    occupancy: ArrayLike,
    layout: Layout | TabularModel | TabularCMDP,
    title: str,
) -> Figure:
    """The public picture of one policy.

    Parameters
    ----------
    policy : Policy
    occupancy : (num_states, num_actions)
        From :func:`dp_cmdp.cmdp.occupancy.occupancy_of`, or ``model.occupancy(policy)``.
    layout : Layout, TabularModel or TabularCMDP
        A hazard grid, or any imported environment whose states lie in a grid
        (``model.cells``). Where a cell has several states, arrows show where it is left to.
    title : str
    """
    view = policy_view(layout, policy, occupancy)
    figure, ax = new_figure(*_size(view, 1))
    image = draw_policy(ax, view, title=title)
    _colorbar(figure, image, ax)
    _legend(figure, view, columns=3 if view.cols > 6 else 1)
    return figure


@door
def comparison_figure(
    policies: Sequence[Policy],
    *,
    occupancies: Sequence[ArrayLike],
    layout: Layout,
    severity: ArrayLike,
    title: str,
) -> Figure:
    """Private beside non-private, with the true hazards: *curator only*.

    Parameters
    ----------
    policies : (Policy, Policy)
        The private one and the one without privacy.
    occupancies : pair of (num_states, num_actions)
        Theirs.
    layout : Layout
    severity : (num_kinds, num_states)
        True severities, drawn as red rings.
    """
    rings = _check.array("severity", severity)
    if rings.shape != (layout.num_kinds, layout.num_cells):
        raise InvalidArgumentError("severity must have one row per kind, one column per cell")
    pair = _check.items("policies", policies)
    measures = _check.items("occupancies", occupancies)
    if not len(pair) == len(measures) == 2 or not all(isinstance(p, Policy) for p in pair):
        raise InvalidArgumentError("policies must be two, private and without, and occupancies too")
    views = [policy_view(layout, p, x) for p, x in zip(pair, measures, strict=True)]
    figure, axes = new_figure(*_size(views[0], 2), ncols=2)
    images = [
        draw_policy(axes[side], views[side], title=name)
        for side, name in enumerate(("private", "no privacy"))
    ]
    hottest = max(images, key=lambda image: image.get_clim()[1])
    for ax, image in zip(axes, images, strict=True):
        image.set_clim(hottest.get_clim())
        _hazards(ax, views[0], rings)
    _colorbar(figure, hottest, axes)
    _legend(figure, views[0], columns=4, hazards=True)
    figure.suptitle(f"{title}   CURATOR ONLY", x=0.01, ha="left", fontsize=11)
    return figure


def draw_policy(ax: Axes, view: GridView, *, title: str) -> Any:
    """Visits as heat, actions as arrows, the likeliest path as a line; returns the heat map."""
    heat = np.sqrt(view.visits.reshape(view.rows, view.cols))
    # the darkest third of the colours is left out, so that arrows stay readable
    image = ax.imshow(heat, cmap=HEAT, vmin=0.0, vmax=1.5 * np.nanmax(heat), zorder=0)
    _furniture(ax, view)
    _arrows(ax, view)
    row, col = np.divmod(np.array(view.path), view.cols)
    ax.plot(col, row, color=PATH, linewidth=2, alpha=0.7, solid_capstyle="round", zorder=3)
    ax.set_title(title, loc="left", fontsize=10)
    return image


def _size(view: GridView, panels: int) -> tuple[float, float]:
    cell = _cell(view)
    return panels * (cell * view.cols + 0.6) + 1.4, cell * view.rows + 1.7


def _cell(view: GridView) -> float:
    """Side of a cell, in inches."""
    return min(0.62, 6.0 / max(view.rows, view.cols))


def _legend(figure: Figure, view: GridView, *, columns: int, hazards: bool = False) -> None:
    """What each mark means, below the grid."""

    def mark(symbol: str, label: str, **look: Any) -> Line2D:
        look = {"color": ARROW, "markersize": 10, **look}
        return Line2D([], [], linestyle="none", marker=symbol, label=label, **look)

    handles: list[Any] = [
        Patch(label="may be hazardous (public)", **HATCHED),
        Line2D([], [], color=PATH, linewidth=2, alpha=0.7, label="likeliest path from the start S"),
        Patch(facecolor=GOAL, label="goal G"),
        mark(r"$\rightarrow$", "action: the longer, the likelier", markersize=12),
        mark(r"$\rightarrow$", "action in a cell never visited", markersize=12, alpha=FAINT),
    ]
    if view.walls:
        handles.append(Patch(facecolor=WALL, label="wall"))
    if hazards:
        ring = {"markerfacecolor": "none", "color": HAZARD, "markeredgewidth": 1.8}
        handles.append(mark("o", "true hazard: the larger, the worse", **ring))
    figure.legend(
        handles=handles, loc="outside lower left", ncols=columns, fontsize=8, frameon=False
    )


def _colorbar(figure: Figure, image: Any, ax: Any) -> None:
    bar = figure.colorbar(image, ax=ax, shrink=0.85)
    top = float(np.nanmax(image.get_array()))
    bar.ax.set_ylim(0.0, top)
    ticks = np.linspace(0.0, top, 5).tolist()
    bar.set_ticks(ticks, labels=[f"{tick**2:.2g}" for tick in ticks])
    bar.set_label("discounted visits")


def _furniture(ax: Axes, view: GridView) -> None:
    """Grid lines, walls, hatched candidates, start and goal."""
    ax.grid(False)
    ax.set_xticks(np.arange(-0.5, view.cols), minor=True)
    ax.set_yticks(np.arange(-0.5, view.rows), minor=True)
    ax.grid(True, which="minor", color="#d1d5db", linewidth=0.6)
    ax.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
    for cell in view.walls:
        ax.add_patch(Rectangle(_corner(view, cell), 1, 1, facecolor=WALL, zorder=1))
    for cell in view.candidates:
        look = {"linewidth": 0.8, "zorder": 2, **HATCHED}
        ax.add_patch(Rectangle(_corner(view, cell), 1, 1, **look))
    for cell in view.goals:
        ax.add_patch(Rectangle(_corner(view, cell), 1, 1, facecolor=GOAL, zorder=1))
        _letter(ax, view, cell, "G", "white")
    for cell in {cell for cell, _ in view.starts} - set(view.goals):
        _letter(ax, view, cell, "S", START)


def _arrows(ax: Axes, view: GridView) -> None:
    """One arrow per action that is taken, its length the probability; faint where never visited."""
    cells, toward = np.nonzero(view.weights > 0.01)
    keep = np.isfinite(view.visits[cells])
    cells, toward = cells[keep], toward[keep]
    row, col = np.divmod(cells, view.cols)
    length = 0.45 * view.weights[cells, toward]
    dx, dy = ARROWS[toward].T * length
    for seen, alpha in ((True, 0.9), (False, FAINT)):
        pick = (view.visits[cells] > UNSEEN) == seen
        ax.quiver(
            col[pick],
            row[pick],
            dx[pick],
            dy[pick],
            angles="xy",
            scale_units="xy",
            scale=1,
            pivot="tail",
            units="xy",
            width=0.05,
            headwidth=4,
            headlength=3.6,
            headaxislength=3.2,
            color=ARROW,
            alpha=alpha,
            zorder=4,
        )


def _hazards(ax: Axes, view: GridView, severity: FloatArray) -> None:
    worst = severity.max(axis=0)
    for cell in np.flatnonzero(worst > 0):
        row, col = divmod(int(cell), view.cols)
        size = min(10.0, 36.0 * _cell(view)) * np.sqrt(worst[cell] / worst.max())
        ax.plot(col, row, "o", markersize=size, mfc="none", mec=HAZARD, mew=1.8, zorder=5)


def _corner(view: GridView, cell: int) -> tuple[float, float]:
    row, col = divmod(cell, view.cols)
    return col - 0.5, row - 0.5


def _letter(ax: Axes, view: GridView, cell: int, letter: str, colour: str) -> None:
    row, col = divmod(cell, view.cols)
    size = min(8.0, 24.0 * _cell(view))
    halo = [] if colour == "white" else [withStroke(linewidth=1.5, foreground="white")]
    ax.text(
        col - 0.3, row - 0.26, letter, color=colour, fontsize=size, fontweight="bold", zorder=6,
        ha="center", va="center", path_effects=halo,
    )  # fmt: skip
