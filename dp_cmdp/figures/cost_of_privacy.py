"""The cost of privacy in the hazard grid, beside the published curves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from dp_cmdp._door import door
from dp_cmdp.figures.bands import curve
from dp_cmdp.figures.style import dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp._check import FloatArray
    from dp_cmdp.envs.hazards import Hazards

#: What the methods are called here, where the candidates are public and b is the tolerance.
LABELS = {
    "benvenuti2025": "Algorithm 1",
    "benvenuti2025-as-published": None,
    "munoz2021": "Munoz 2021 (severities leak)",
    "database": None,
    "planned": None,
}
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
    dress(main)
    eps = published["epsilon"]
    main.plot(eps, published["algorithm1_percent"], label="published", zorder=3, **PUBLISHED)
    main.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    for method in LABELS:
        _curve(main, rows, method)
    main.set(ylim=(0, None), xlabel="privacy strength ε (δ = 0.1; smaller is more private)")
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


def _curve(ax: Axes, rows: Sequence[dict[str, Any]], method: str) -> None:
    part = [r for r in rows if r["method"] == method]
    look = {"label": LABELS[method], "line": "o-" if len(part) < 20 else "-"}
    curve(ax, part, method=method, over="epsilon", show="cost_of_privacy_percent", **look)


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
        look = {"facecolor": colours.get(cell, "white"), "edgecolor": "#9ca3af", "linewidth": 0.8}
        ax.add_patch(Rectangle((col, layout.rows - 1 - row), 1, 1, **look))
    ax.set(xlim=(0, layout.cols), ylim=(0, layout.rows), aspect="equal")
    ax.axis("off")
    ax.set_title(
        f"γ = {layout.gamma:g}, slip {layout.slip:g}\n"
        f"{layout.step_reward:g} per step, {layout.goal_reward:g} at the goal",
        loc="left",
        fontsize=8,
    )
    ax.text(0, -0.3, "blue start, green goal, red hazards,\npink harmless candidates", **SMALL)
