"""A policy on its grid: candidate cells, where the agent goes, what it does there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.occupancy import occupancy_of
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.figures.style import new_figure
from envs.dynamics import GridModel
from envs.layout import Layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: (dx, dy) of left, down, right, up on axes whose rows grow downwards.
ARROWS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])
HEAT = "YlGnBu"


def policy_figure(layout: Layout, policy: Policy, *, title: str) -> Figure:
    """The public picture of one policy."""
    figure, ax = new_figure(*_size(layout, 1))
    image = draw_policy(ax, layout, policy, title=title)
    _colorbar(figure, image, ax)
    return figure


def comparison_figure(
    layout: Layout, private: Policy, nonprivate: Policy, *, severity: FloatArray, title: str
) -> Figure:
    """Private beside non-private, with the true hazards: *curator only*.

    Parameters
    ----------
    severity : (num_kinds, num_states)
        True severities, drawn as red rings.
    """
    figure, axes = new_figure(*_size(layout, 2), ncols=2)
    images = [
        draw_policy(axes[0], layout, private, title="private"),
        draw_policy(axes[1], layout, nonprivate, title="no privacy"),
    ]
    hottest = max(images, key=lambda image: image.get_clim()[1])
    for ax, image in zip(axes, images, strict=True):
        image.set_clim(hottest.get_clim())
        _hazards(ax, layout, severity)
    _colorbar(figure, hottest, axes)
    figure.suptitle(f"{title}   CURATOR ONLY", x=0.01, ha="left", fontsize=11)
    return figure


def draw_policy(ax: Axes, layout: Layout, policy: Policy, *, title: str) -> Any:
    """Occupancy as heat, actions as arrows, the likeliest path as a line; returns the heat map."""
    model = GridModel(layout)
    visits = occupancy_of(model.parametric().public, policy).sum(axis=1)
    visits[list(layout.goals)] = np.nan
    visits[list(layout.walls)] = np.nan
    heat = np.sqrt(visits.reshape(layout.rows, layout.cols))
    # the darkest third of the colours is left out, so that arrows stay readable
    image = ax.imshow(heat, cmap=HEAT, vmin=0.0, vmax=1.5 * np.nanmax(heat), zorder=0)
    _furniture(ax, layout)
    _arrows(ax, layout, policy, visits)
    _path(ax, layout, policy, model)
    ax.set_title(title, loc="left", fontsize=10)
    return image


def _size(layout: Layout, panels: int) -> tuple[float, float]:
    cell = min(0.62, 6.0 / max(layout.rows, layout.cols))
    return panels * (cell * layout.cols + 0.6) + 1.4, cell * layout.rows + 1.2


def _colorbar(figure: Figure, image: Any, ax: Any) -> None:
    bar = figure.colorbar(image, ax=ax, shrink=0.85)
    top = float(np.nanmax(image.get_array()))
    bar.ax.set_ylim(0.0, top)
    ticks = np.linspace(0.0, top, 5).tolist()
    bar.set_ticks(ticks, labels=[f"{tick**2:.2g}" for tick in ticks])
    bar.set_label("discounted visits")


def _furniture(ax: Axes, layout: Layout) -> None:
    """Grid lines, walls, hatched candidates, start and goal."""
    from matplotlib.patches import Rectangle

    ax.grid(False)
    ax.set_xticks(np.arange(-0.5, layout.cols), minor=True)
    ax.set_yticks(np.arange(-0.5, layout.rows), minor=True)
    ax.grid(True, which="minor", color="#d1d5db", linewidth=0.6)
    ax.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
    for cell in layout.walls:
        ax.add_patch(Rectangle(_corner(layout, cell), 1, 1, facecolor="#374151", zorder=1))
    for cell in layout.candidates:
        ax.add_patch(
            Rectangle(
                _corner(layout, cell),
                1,
                1,
                fill=False,
                hatch="////",
                edgecolor="#f59e0b",
                linewidth=0.8,
                zorder=2,
            )
        )
    for cell in layout.goals:
        ax.add_patch(Rectangle(_corner(layout, cell), 1, 1, facecolor="#16a34a", zorder=1))
        _letter(ax, layout, cell, "G", "white")
    for cell, _ in layout.starts:
        _letter(ax, layout, cell, "S", "#b91c1c")


def _arrows(ax: Axes, layout: Layout, policy: Policy, visits: FloatArray) -> None:
    """One arrow per action that is taken, its length the probability; faint where never visited."""
    states, actions = np.nonzero(policy.probs > 0.01)
    keep = np.isfinite(visits[states])
    states, actions = states[keep], actions[keep]
    row, col = np.divmod(states, layout.cols)
    length = 0.55 * policy.probs[states, actions]
    dx, dy = ARROWS[actions].T * length
    for seen, alpha in ((True, 0.9), (False, 0.25)):
        pick = (visits[states] > 1e-6) == seen
        ax.quiver(
            col[pick],
            row[pick],
            dx[pick],
            dy[pick],
            angles="xy",
            scale_units="xy",
            scale=1,
            pivot="mid",
            width=0.006,
            color="#111827",
            alpha=alpha,
            zorder=4,
        )


def _path(ax: Axes, layout: Layout, policy: Policy, model: GridModel) -> None:
    """Likeliest action, likeliest successor, from the likeliest start to a goal."""
    state = max(layout.starts, key=lambda start: start[1])[0]
    seen = [state]
    while state not in layout.goals and len(seen) <= layout.num_cells:
        action = int(np.argmax(policy.probs[state]))
        state = layout.neighbour(state, action)
        if state in seen:
            break
        seen.append(state)
    row, col = np.divmod(np.array(seen), layout.cols)
    ax.plot(col, row, color="#db2777", linewidth=2, alpha=0.7, solid_capstyle="round", zorder=3)


def _hazards(ax: Axes, layout: Layout, severity: FloatArray) -> None:
    worst = severity.max(axis=0)
    for cell in np.flatnonzero(worst > 0):
        row, col = divmod(int(cell), layout.cols)
        size = 10.0 * np.sqrt(worst[cell] / worst.max())
        ax.plot(col, row, "o", markersize=size, mfc="none", mec="#dc2626", mew=1.8, zorder=5)


def _corner(layout: Layout, cell: int) -> tuple[float, float]:
    row, col = divmod(cell, layout.cols)
    return col - 0.5, row - 0.5


def _letter(ax: Axes, layout: Layout, cell: int, letter: str, colour: str) -> None:
    row, col = divmod(cell, layout.cols)
    ax.text(
        col - 0.32, row - 0.22, letter, color=colour, fontsize=8, fontweight="bold", zorder=6,
        ha="center", va="center",
    )  # fmt: skip
