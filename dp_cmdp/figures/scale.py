"""Loss against size: one panel per family of problems, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, NAMES, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]

#: Problem, name in a title, and what its size counts.
FAMILIES = (
    ("auction", "Auction", "groups of pages (5 advertisers)"),
    ("grid corner", "Grid, one start", "cells per side"),
    ("grid uniform", "Grid, any start", "cells per side"),
)
RADII = ((0.1, "radius 0.1"), (1.0, "radius 1 (to anything)"))
#: Line of each method, and by which factor it is moved aside so that intervals can be told apart.
METHODS = {
    "robust": ("--", 0.955),
    "benvenuti2025": ("-", 0.985),
    "database": ("-", 1.015),
    "planned": ("-", 1.045),
    "limit": (":", 1.0),
}
EPSILON, DELTA = 1.0, 1e-3
#: Lowest and highest loss shown, in percent; smaller ones are drawn on the lowest line.
FLOOR, TOP = 0.01, 400.0


@door
def scale_figure(rows: Rows) -> Figure:
    """Mean loss and its 95 % interval against size, for ε = 1 and δ = 1e-3.

    One row of panels per radius that was run; a mark on the lowest line stands for less. The limit
    is drawn where it is above that line.
    """
    shown = [row for row in rows if _is_shown(row)]
    radii = [part for part in RADII if any(row["radius"] == part[0] for row in shown)]
    figure, axes = new_figure(
        11.0, 1.4 + 3.1 * len(radii), nrows=len(radii), ncols=3, sharey=True, squeeze=False
    )
    for line, (radius, told) in zip(axes, radii, strict=True):
        for ax, (problem, title, counted) in zip(line, FAMILIES, strict=True):
            part = [r for r in shown if r["problem"] == problem and r["radius"] == radius]
            if not part:
                ax.set_visible(False)
                continue
            for method in METHODS:
                _curve(ax, [row for row in part if row["method"] == method], method)
            _dress(ax, sorted({row["size"] for row in part}))
            ax.set_title(f"{title}, {told}", loc="left", fontsize=9)
            ax.set(xlabel=counted, ylabel="sub-optimality (%)")
    drawn = next(ax for ax in axes.flat if ax.get_visible()).get_legend_handles_labels()
    figure.legend(*drawn, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle(
        "The price of privacy with certainty, as problems grow (ε = 1, δ = 0.001)",
        x=0.01, ha="left", fontsize=11,
    )  # fmt: skip
    return figure


def _is_shown(row: dict[str, Any]) -> bool:
    if row["method"] == "limit" and row["suboptimality_percent"] < FLOOR:
        return False
    return row["method"] == "robust" or (row["epsilon"], row["delta"]) == (EPSILON, DELTA)


def _curve(ax: Axes, part: Rows, method: str) -> None:
    part = sorted(part, key=lambda row: row["size"])
    line, aside = METHODS[method]
    at = [aside * row["size"] for row in part]
    mean, low, high = (
        [max(row[name], FLOOR) for row in part]
        for name in ("suboptimality_percent", "ci_low", "ci_high")
    )
    shade = COLOURS.get(method, "#6b7280")
    name = "no mechanism can lose less" if method == "limit" else NAMES[method]
    width = 2.4 if method == "planned" else 1.4
    ax.plot(at, mean, line, marker="o", markersize=4, color=shade, label=name, linewidth=width)
    if method == "limit":
        return
    errors = [
        [middle - end for middle, end in zip(mean, low, strict=True)],
        [end - middle for middle, end in zip(mean, high, strict=True)],
    ]
    ax.errorbar(at, mean, yerr=errors, fmt="none", ecolor=shade, capsize=2.0, linewidth=1.0)


def _dress(ax: Axes, sizes: Sequence[int]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(0.8 * FLOOR, TOP)
    ax.set_xlim(0.85 * sizes[0], 1.18 * sizes[-1])
    ax.minorticks_off()
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.tick_params(labelleft=True)
    ax.set_yticks([0.01, 0.1, 1, 10, 100], ["≤ 0.01", "0.1", "1", "10", "100"])
