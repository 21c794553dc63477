"""The cost of privacy in the hazard grid, beside the published curves."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dp_cmdp as dp
from paper.figures.style import EPSILON, Rows, curve, legend_below
from paper.problems.grids import scenario
from paper.studies.cost_of_privacy import published_curves, summary

#: What the methods are called here, where the candidates are public and b is the tolerance.
LABELS = {
    "benvenuti2025": "Algorithm 1",
    "benvenuti2025-as-published": None,
    "munoz2021": "Munoz 2021 (severities leak)",
    "database": None,
    "planned": None,
}
PUBLISHED: Any = {"color": "black", "linewidth": 1.0, "linestyle": "--"}


def cost_of_privacy_figure(rows: Rows) -> Figure:
    """All methods, Munoz's curve enlarged, and the grid; bands are 95 % intervals of the mean."""
    figure = Figure(figsize=(10.3, 5.8))
    places: Any = [["main", "enlarged"], ["main", "grid"]]
    axes = figure.subplot_mosaic(places, width_ratios=(7.0, 3.3), height_ratios=(1.0, 1.2))
    main, enlarged = axes["main"], axes["enlarged"]
    published = published_curves()
    eps = published["epsilon"]
    main.plot(eps, published["algorithm1_percent"], label="published", zorder=3, **PUBLISHED)
    main.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    for method in LABELS:
        _curve(main, rows, method)
    main.set_ylim(-0.015 * main.get_ylim()[1], None)  # marks at 0 are whole
    main.set_xlabel(f"{EPSILON}, δ = 0.1")
    main.set_ylabel("cost of privacy ξ (%)")
    main.set_title("Hazard grid: what privacy with certain safety costs")
    enlarged.plot(eps, published["munoz2021_percent"], zorder=3, **PUBLISHED)
    _curve(enlarged, rows, "munoz2021")
    enlarged.set_ylim(0, 0.0115)
    enlarged.set_title("Munoz 2021, enlarged", fontsize=9)
    enlarged.set_xlabel(EPSILON, fontsize=8)
    _grid(axes["grid"], scenario().layout)
    legend_below(figure, main, columns=3, loc="outside upper center")  # the note is below
    figure.supxlabel(textwrap.fill(summary(rows)["note"], 150), x=0.01, ha="left", fontsize=7)
    return figure


def _curve(ax: Axes, rows: Rows, method: str) -> None:
    part = [r for r in rows if r["method"] == method]
    if part:
        look = {"label": LABELS[method], "marks": len(part) < 20}
        curve(ax, part, method=method, over="epsilon", show="cost_of_privacy_percent", **look)


def _grid(ax: Axes, layout: Any) -> None:
    """The simulated grid, hazards included: this database is public."""
    world: Any = dp.envs.HazardGridEnv("paper", access="curator", render_mode="rgb_array")
    world.reset(seed=0)
    ax.imshow(world.render())
    ax.axis("off")
    ax.set_title(
        f"γ = {layout.gamma:g}, slip {layout.slip:g}\n"
        f"{layout.step_reward:g} per step, {layout.goal_reward:g} at the goal",
        fontsize=8,
    )
