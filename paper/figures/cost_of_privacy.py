"""The cost of privacy in the hazard grid, beside the published curves."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from paper.figures.style import EPSILON, GUIDE, column_beside, curve, legend_below
from paper.problems.grids import scenario
from paper.studies.cost_of_privacy import published_curves, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paper.linear import Floats

#: What the methods are called here, where the candidates are public and b is the tolerance.
LABELS = {
    "benvenuti2025": "Algorithm 1",
    "benvenuti2025-as-published": None,
    "munoz2021": "Munoz 2021 (severities leak)",
    "database": None,
    "planned": None,
}
PUBLISHED: Any = {"color": "black", "linewidth": 1.0, "linestyle": "--"}
WALL, GOAL, START, HAZARD, HARMLESS = "#374151", "#15803d", "#b91c1c", "#dc2626", "#fecaca"


def cost_of_privacy_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """All methods, Munoz's curve enlarged, and the grid; bands are 95 % intervals of the mean."""
    figure, main, (enlarged, grid) = column_beside(7.0, 5.8, beside=3.3, heights=(1.0, 1.2))
    published, grid_world = published_curves(), scenario()
    eps = published["epsilon"]
    main.plot(eps, published["algorithm1_percent"], label="published", zorder=3, **PUBLISHED)
    main.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    for method in LABELS:
        _curve(main, rows, method)
    main.set_ylim(-0.015 * main.get_ylim()[1], None)  # marks at 0 are whole
    main.set_xlabel(f"{EPSILON}, δ = 0.1")
    main.set_ylabel("cost of privacy ξ (%)")
    main.set_title("Hazard grid: what privacy with certain safety costs", loc="left")
    enlarged.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    _curve(enlarged, rows, "munoz2021")
    enlarged.set_ylim(0, 0.0115)
    enlarged.set_title("Munoz 2021, enlarged", loc="left", fontsize=9)
    enlarged.set_xlabel(EPSILON, fontsize=8)
    _grid(grid, grid_world.layout, grid_world.values[:-1])
    legend_below(figure, main, columns=3, loc="outside upper center")  # the note is below
    figure.supxlabel(textwrap.fill(summary(rows)["note"], 150), x=0.01, ha="left", fontsize=7)
    return figure


def _curve(ax: Axes, rows: Sequence[dict[str, Any]], method: str) -> None:
    part = [r for r in rows if r["method"] == method]
    if part:
        look = {"label": LABELS[method], "marks": len(part) < 20}
        curve(ax, part, method=method, over="epsilon", show="cost_of_privacy_percent", **look)


def _grid(ax: Axes, layout: Any, severity: Floats) -> None:
    """The simulated grid, hazards included: this database is public."""
    looks: dict[int, tuple[str, str]] = dict.fromkeys(layout.goals, (GOAL, "G"))
    looks |= {cell: ("white", "S") for cell, _ in layout.starts}
    looks |= dict.fromkeys(layout.walls, (WALL, ""))
    for cell, value in zip(layout.kinds[0].cells, severity.tolist(), strict=True):
        looks[cell] = (HAZARD, "H") if value > 0 else (HARMLESS, "?")
    for cell in range(layout.num_cells):
        row, col = divmod(cell, layout.cols)
        shade, letter = looks.get(cell, ("white", ""))
        look = {"facecolor": shade, "edgecolor": GUIDE, "linewidth": 0.8}
        ax.add_patch(Rectangle((col, layout.rows - 1 - row), 1, 1, **look))
        ink = START if shade == "white" else "black" if shade == HARMLESS else "white"
        place = (col + 0.5, layout.rows - 0.5 - row)
        ax.text(*place, letter, color=ink, ha="center", va="center", fontsize=8, weight="bold")
    ax.set(xlim=(0, layout.cols), ylim=(0, layout.rows), aspect="equal")
    ax.axis("off")
    ax.set_title(
        f"γ = {layout.gamma:g}, slip {layout.slip:g}\n"
        f"{layout.step_reward:g} per step, {layout.goal_reward:g} at the goal\n"
        "S start, G goal, H hazard,\n? harmless candidate",
        loc="left",
        fontsize=8,
    )
