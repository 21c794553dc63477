"""Loss against size: one panel per family of problems, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.figures.style import NAMES, PUBLIC, Rows, colour, heading, legend_below, mark, new_figure

#: Problem, name in a title, and what its size counts.
FAMILIES = (
    ("auction", "Auction", "groups of pages (5 advertisers)"),
    ("grid corner", "Grid, one start", "cells per side"),
    ("grid uniform", "Grid, any start", "cells per side"),
)
RADII = ((0.1, "radius 0.1"), (1.0, "radius 1"))
#: Line of each method, and by which factor it is moved aside so that intervals can be told apart.
METHODS = {
    "robust": ("--", 0.955),
    "benvenuti2025": ("-", 0.985),
    "database": ("-", 1.015),
    "planned": ("-", 1.045),
}
LIMIT = "no mechanism can lose less"
EPSILON, DELTA = 1.0, 1e-3
#: Lowest and highest loss shown, in percent: smaller ones are drawn on the lowest line.
FLOOR, TOP = 0.01, 300.0


def scale_figure(rows: Rows) -> Figure:
    """Mean loss and its 95 % interval against size, for ε = 1 and δ = 1e-3.

    One row of panels per radius that was run; a mark on the lowest line stands for less. What no
    mechanism with certain answers can undercut is shaded, where it was computed.
    """
    shown = [row for row in rows if _is_shown(row)]
    radii = [part for part in RADII if any(row["radius"] == part[0] for row in shown)]
    figure, axes = new_figure(
        8.6, 1.3 + 2.3 * len(radii), nrows=len(radii), ncols=3, sharey=True, squeeze=False
    )
    for line, (radius, told) in zip(axes, radii, strict=True):
        for ax, (problem, title, counted) in zip(line, FAMILIES, strict=True):
            part = [r for r in shown if r["problem"] == problem and r["radius"] == radius]
            if not part:
                ax.set_visible(False)
                continue
            _limits(ax, [row for row in part if row["method"] == "limit"])
            for method in METHODS:
                _curve(ax, [row for row in part if row["method"] == method], method)
            _dress(ax, sorted({row["size"] for row in part}))
            ax.set_title(f"{title}, {told}", fontsize=9)
            ax.set_xlabel(counted, fontsize=8)
        next(ax for ax in line if ax.get_visible()).set_ylabel("loss (%)", fontsize=9)
    legend_below(figure, *(ax for ax in axes.flat if ax.get_visible()), columns=3)
    told = "(ε = 1, δ = 0.001; means, 95 % intervals)"
    heading(figure, f"The price of privacy with certainty, as problems grow {told}")
    return figure


def _is_shown(row: dict[str, Any]) -> bool:
    families = [problem for problem, _, _ in FAMILIES]
    strength = (row["epsilon"], row["delta"]) == (EPSILON, DELTA)
    return row["problem"] in families and (row["method"] == "robust" or strength)


def _limits(ax: Axes, part: Rows) -> None:
    """A shaded block below each limit."""
    for row in part:
        if (most := row["suboptimality_percent"]) > FLOOR:
            ends = 0.92 * row["size"], 1.09 * row["size"]
            label = LIMIT if LIMIT not in ax.get_legend_handles_labels()[1] else None
            look = {"facecolor": PUBLIC, "edgecolor": "white", "hatch": "xxx", "linewidth": 0}
            ax.fill_between(ends, 0.1 * FLOOR, most, label=label, zorder=0.5, **look)


def _curve(ax: Axes, part: Rows, method: str) -> None:
    part = sorted(part, key=lambda row: row["size"])
    if not part:
        return
    line, aside = METHODS[method]
    at = [aside * row["size"] for row in part]
    mean, low, high = (
        [max(row[name], FLOOR) for row in part]
        for name in ("suboptimality_percent", "ci_low", "ci_high")
    )
    look: Any = {"color": colour(method), "label": NAMES[method], "marker": mark(method)}
    width = 2.4 if method == "planned" else 1.4
    ax.plot(at, mean, line, markersize=5, linewidth=width, **look)
    errors = np.abs(np.array([low, high]) - mean)
    ends = {"ecolor": colour(method), "capsize": 2.0, "linewidth": 1.0}
    ax.errorbar(at, mean, yerr=errors, fmt="none", **ends)


def _dress(ax: Axes, sizes: Sequence[int]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(0.85 * FLOOR, TOP)
    ax.set_xlim(0.8 * sizes[0], 1.25 * sizes[-1])
    ax.minorticks_off()
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.tick_params(labelleft=True, labelsize=8)
    ax.set_yticks([FLOOR, 0.1, 1, 10, 100], [f"≤ {FLOOR:g}", "0.1", "1", "10", "100"])
