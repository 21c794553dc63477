"""The cost of privacy in the hazard grid, beside the published curves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, LABELS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp._check import FloatArray
    from dp_cmdp.envs.hazards import Hazards

NAMES = {
    "benvenuti2025": "Algorithm 1",
    "benvenuti2025-as-published": "Algorithm 1, Δ = 0.1 per entry (not private)",
    "munoz2021": "Munoz 2021 (severities leak)",
    "database": LABELS["database"],
    "planned": LABELS["planned"],
}
COLOUR = {**COLOURS, "benvenuti2025-as-published": COLOURS["benvenuti2025-realised-mask"]}
SMALL: Any = {"fontsize": 8, "va": "top"}
PUBLISHED: Any = {"color": "black", "linewidth": 1.0, "linestyle": "--"}


@door
def cost_of_privacy_figure(
    rows: Sequence[dict[str, Any]],
    *,
    published: Mapping[str, FloatArray],
    hazards: Hazards,
    note: str,
) -> Figure:
    """All methods, Munoz's curve enlarged, and the grid; bands are 95 % intervals of the mean.

    Parameters
    ----------
    rows : sequence of dict
    published : mapping
        The published curves: ``epsilon``, ``algorithm1_percent``, ``munoz2021_percent``.
    hazards : Hazards
        The grid; it is drawn with its true severities, which are invented here.
    note : str
        Printed below.
    """
    figure, axes = new_figure(
        9.6, 5.4, nrows=2, ncols=2, width_ratios=(2.1, 1.0), height_ratios=(1.0, 1.0)
    )
    whole = axes[0, 0].get_gridspec()
    for ax in axes[:, 0]:
        ax.remove()
    main = figure.add_subplot(whole[:, 0])
    _dress(main)
    eps = published["epsilon"]
    main.plot(eps, published["algorithm1_percent"], label="published", zorder=3, **PUBLISHED)
    main.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    for method in NAMES:
        _curve(main, rows, method)
    main.set_ylim(bottom=0)
    main.set_xlabel("privacy strength ε (δ = 0.1; smaller is more private)")
    main.set_ylabel("cost of privacy ξ (%)")
    main.set_title("Hazard grid: what privacy with certain safety costs", loc="left")
    main.legend(frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1.0, 0.8))
    axes[0, 1].plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    _curve(axes[0, 1], rows, "munoz2021")
    axes[0, 1].set_ylim(0, 0.0115)
    axes[0, 1].set_title("Munoz 2021, enlarged", loc="left", fontsize=9)
    axes[0, 1].set_xlabel("ε", fontsize=8)
    _grid(axes[1, 1], hazards)
    figure.supxlabel(textwrap.fill(note, 150), x=0.01, ha="left", fontsize=7)
    return figure


def _dress(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def _curve(ax: Axes, rows: Sequence[dict[str, Any]], method: str) -> None:
    part = sorted((r for r in rows if r["method"] == method), key=lambda r: r["epsilon"])
    eps = [r["epsilon"] for r in part]
    marker = "o" if len(eps) < 20 else ""
    ax.plot(
        eps,
        [r["cost_of_privacy_percent"] for r in part],
        marker=marker,
        markersize=4,
        color=COLOUR[method],
        label=NAMES[method],
    )
    low, high = [r["ci_low"] for r in part], [r["ci_high"] for r in part]
    ax.fill_between(eps, low, high, color=COLOUR[method], alpha=0.2, linewidth=0)


def _grid(ax: Axes, hazards: Hazards) -> None:
    """The simulated grid, hazards included: this database is public."""
    layout, severity = hazards.layout, hazards.severity
    colours = dict.fromkeys(layout.goals, "#16a34a")
    colours |= {cell: "#2563eb" for cell, _ in layout.starts}
    colours |= dict.fromkeys(layout.walls, "#6b7280")
    for cell, value in zip(layout.kinds[0].cells, severity.tolist(), strict=True):
        colours[cell] = "#dc2626" if value > 0 else "#fecaca"
    for cell in range(layout.num_cells):
        row, col = divmod(cell, layout.cols)
        square = (col, layout.rows - 1 - row)
        ax.add_patch(_square(square, colours.get(cell, "white")))
    ax.set(xlim=(0, layout.cols), ylim=(0, layout.rows), aspect="equal")
    ax.axis("off")
    ax.set_title(
        f"γ = {layout.gamma:g}, slip {layout.slip:g}\n"
        f"{layout.step_reward:g} per step, {layout.goal_reward:g} at the goal",
        loc="left",
        fontsize=8,
    )
    ax.text(0, -0.3, "blue start, green goal, red hazards,\npink harmless candidates", **SMALL)


def _square(corner: tuple[int, int], colour: str):
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 1, 1, facecolor=colour, edgecolor="#9ca3af", linewidth=0.8)
