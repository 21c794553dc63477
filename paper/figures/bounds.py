"""Bounds of the loss beside the loss itself."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.figures.style import (
    COLOURS,
    EPSILON,
    Rows,
    heading,
    legend_below,
    log_numbers,
    new_figure,
)

#: Column, label, colour, line style.
CURVES = (
    ("loss_percent", "actual (mean; 95 % interval over databases)", COLOURS["robust"], "o-"),
    ("sampled_percent", "sampled limit of the mean (failure 1e-6)", COLOURS["planned"], "D-"),
    ("certified_mean_percent", "certified bound of the mean", COLOURS["database"], "s-"),
    ("certified_certain_percent", "certified bound, certain", COLOURS["database"], "--"),
    ("repaired_percent", "paper's theorem, repaired", COLOURS["benvenuti2025"], "^-"),
    (
        "printed_percent",
        "paper's theorem, printed (Λ mended)",
        COLOURS["benvenuti2025-realised-mask"],
        "v--",
    ),
)
#: Means below this are too small to be measured by so few draws and are not drawn.
SMALLEST_PERCENT = 1e-5
TITLES = {
    "small": "2 × 2 program, Algorithm 1",
    "auction": "ad auction, private objective",
    "list-price": "ad auction, public objective",
    "hazard-grid": "hazard grid (CMDP)",
}


def bounds_figure(rows: Rows) -> Figure:
    """Actual, sampled, certified, repaired and printed loss against ε, one panel per problem."""
    names = list(dict.fromkeys(row["problem"] for row in rows))
    lines, columns = (len(names) + 1) // 2, min(2, len(names))
    figure, axes = new_figure(
        4.8 * columns, 1.0 + 3.1 * lines, ncols=columns, nrows=lines, squeeze=False
    )
    panels = list(axes.flat)
    for ax, name in zip(panels, names, strict=False):
        part = sorted((r for r in rows if r["problem"] == name), key=lambda r: r["epsilon"])
        _draw(ax, part)
        ax.set_title(TITLES.get(name, name))
        ax.set(xlabel=f"{EPSILON}, δ = 0.1", ylabel="loss (% of the optimum)")
    for ax in panels[len(names) :]:
        ax.set_visible(False)
    legend_below(figure, *panels[: len(names)], columns=2)
    heading(figure, "What the bounds promise, and what is lost")
    return figure


def _draw(ax: Axes, part: Rows) -> None:
    """All curves of one problem, on a logarithmic axis where they differ much."""
    for column, label, shade, style in CURVES:
        known = [(r["epsilon"], r[column]) for r in part if r[column] is not None]
        known = [(eps, value) for eps, value in known if value > SMALLEST_PERCENT]
        if known:
            ax.plot(*zip(*known, strict=True), style, color=shade, label=label, markersize=4)
    ax.set_xscale("log", base=2)
    low, high = ax.get_ylim()
    if low <= 0 or high > 5 * low:
        log_numbers(ax)
    else:
        ax.set_ylim(bottom=0)
    _band(ax, [r for r in part if (r["loss_high_percent"] or 0.0) > SMALLEST_PERCENT])
    ticks = [r["epsilon"] for r in part]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])


def _band(ax: Axes, part: Rows) -> None:
    """The intervals of the actual loss."""
    if len(part) < 2:  # it has no width, and only stretches the axis
        return
    bottom = ax.get_ylim()[0]
    at, high = ([r[name] for r in part] for name in ("epsilon", "loss_high_percent"))
    low = [max(r["loss_low_percent"], SMALLEST_PERCENT) for r in part]
    ax.fill_between(at, low, high, color=CURVES[0][2], alpha=0.15, linewidth=0)
    ax.set_ylim(bottom=bottom)  # an interval that reaches further down ends with the axis
