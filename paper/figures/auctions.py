"""The ad auction against ε, against its size, and against the split of ε."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.figures.style import (
    COLOURS,
    EPSILON,
    NAMES,
    Rows,
    colour,
    curve,
    heading,
    legend_below,
    new_figure,
    stated,
)

#: Numbers the paper states (``sec:sim``, ``subsec:priv_budget``): ε and percent; the lower one at
#: ε = 1 is for α_c = 0.99.
STATED_HEADLINE = ((1.0, 28.25), (1.0, 16.88), (2.0, 20.0))
HEADLINE = ("benvenuti2025", "benvenuti2025-realised-mask", "database", "planned")
#: Numbers of the paper (``fig:example_1``, ``fig:example_2``, ``subsec:priv_budget``).
STATED_EPSILON = ((1.0, 28.25), (2.0, 20.0), (2.0, 0.5))
STATED_VIOLATION = ((0.25, 51.0),)
STATED_SIZE = ((10, 13.3), (100, 24.0))
STATED_SPLIT = ((1 / 3, 28.25), (0.99, 16.88))
CASES = {"i": "case (i): private prices", "ii": "case (ii): private prices and budgets"}
#: Lowest sub-optimality shown, in percent; Hsu's answers, which violate, may go far below.
LOWEST = -10.0


def ad_headline_figure(rows: Rows) -> Figure:
    """Sub-optimality against ε for each method, with the paper's stated numbers."""
    figure, place = new_figure(7.4, 4.8)
    for method in HEADLINE:
        part = [r for r in rows if r["method"] == method and (r["alpha"] or 0) < 0.9]
        if part:
            curve(place, part, method=method, over="epsilon")
    split = [r for r in rows if r["method"] == HEADLINE[1] and (r["alpha"] or 0) > 0.9]
    if split:
        at, lost = zip(*((r["epsilon"], r["suboptimality_percent"]) for r in split), strict=True)
        # large enough to be seen around a cross
        look = {"color": colour(HEADLINE[1]), "markersize": 15, "linestyle": "none"}
        place.plot(at, lost, marker="*", label=f"{NAMES[HEADLINE[1]]}, α_c = 0.99", **look)
    stated(place, STATED_HEADLINE, "28.25 and, for α_c = 0.99, 16.88 % at ε = 1; 20 % at ε = 2")
    place.set_xscale("log", base=2)
    place.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    place.set_ylim(bottom=0)
    place.set_xlabel(f"{EPSILON}, δ = 0.1")
    place.set_ylabel("sub-optimality (%)")
    place.set_title("Ad auction: what privacy with certain feasibility costs")
    legend_below(figure, place, columns=2)
    return figure


def ad_epsilon_figure(rows: Rows) -> Figure:
    """Sub-optimality against ε, a panel per case, and who violates constraints."""
    figure, axes = new_figure(12.0, 4.8, ncols=3, width_ratios=(1.2, 1.2, 1.0))
    for ax, (case, told) in zip(axes, CASES.items(), strict=False):
        here = [row for row in rows if row["case"] == case]
        _explain_low(ax, _curves(ax, here, over="epsilon", lowest=LOWEST))
        ax.set_title(told)
        ax.set_ylim(*_percents(rows))
        ax.set_ylabel("sub-optimality (%)")
    stated(axes[1], STATED_EPSILON, "28.25 and 20 %, Munoz 0.5 %; Hsu violates up to 51 %")
    guilty = {row["method"] for row in rows if row["violated_percent"] > 0}
    part = [row for row in rows if row["method"] in guilty]
    _curves(axes[2], part, over="epsilon", show="violated_percent", ends="violated_ci")
    stated(axes[2], STATED_VIOLATION, "28.25 and 20 %, Munoz 0.5 %; Hsu violates up to 51 %")
    ends = [row["violated_ci_high"] for row in rows] + [at for _, at in STATED_VIOLATION]
    axes[2].set_ylim(-2, 1.1 * max(ends))
    axes[2].set_ylabel("violated constraints (%)")
    told = "those shown only; others: none" if guilty else "none"
    axes[2].set_title(f"violations: {told}")
    for ax in axes:
        ax.set_xlabel(f"{EPSILON}, δ = 0.1")
        ax.set_xticks([0.25, 0.5, 1, 1.5, 2], ["¼", "½", "1", "1½", "2"])
        ax.set_xlim(0.15, 2.1)
    legend_below(figure, *axes, columns=3)
    heading(figure, "Ad auction: loss and violations against ε")
    return figure


def ad_size_figure(rows: Rows) -> Figure:
    """Sub-optimality against the number of advertisers."""
    figure, place = new_figure(8.0, 5.2)
    sizes = sorted({row["advertisers"] for row in rows})
    low = _curves(place, rows, over="advertisers", lowest=LOWEST)
    inside = [point for point in STATED_SIZE if sizes[0] <= point[0] <= sizes[-1]]
    if inside:
        numbers = " and ".join(f"{percent:g} % at M = {size}" for size, percent in inside)
        stated(place, inside, numbers)
    _explain_low(place, low)
    place.set_xscale("log")
    place.set_xticks(sizes, [str(size) for size in sizes])
    place.minorticks_off()
    place.set_xlim(0.93 * sizes[0], 1.07 * sizes[-1])
    place.set_ylim(*_percents(rows))
    place.set_xlabel("advertisers M (20 groups, ε = 1, δ = 0.1)")
    place.set_ylabel("sub-optimality (%)")
    place.set_title("Ad auction: what happens when it grows")
    legend_below(figure, place, columns=2)
    return figure


def _curves(ax: Axes, rows: Rows, *, over: str, lowest: float | None = None, **show: Any) -> bool:
    """One curve per method and case; whether some are cut at `lowest`.

    Dashed is case (i), where both are shown, or else a variant that has its method's colour.
    """
    cut = False
    both = len({row["case"] for row in rows}) > 1
    for method, case in dict.fromkeys((row["method"], row["case"]) for row in rows):
        part = [row for row in rows if (row["method"], row["case"]) == (method, case)]
        if lowest is not None:
            below = [row for row in part if row["suboptimality_percent"] < lowest]
            cut |= bool(below)
            part = [_raised(row, lowest) for row in part]
            at, shade = [row[over] for row in below], colour(method)
            ax.plot(at, [lowest] * len(at), "v", color=shade, markersize=8)
        label = f"{NAMES[method]}, case ({case})" if both else NAMES[method]
        line = "--" if (case == "i" if both else method not in COLOURS) else "-"
        curve(ax, part, method=method, over=over, label=label, line=line, **show)
    return cut


def _explain_low(ax: Axes, low: bool) -> None:
    """A line of the legend for the marks of what is cut, if some is."""
    if low:
        look = {"marker": "v", "linestyle": "none", "color": "black", "markersize": 5}
        ax.plot([], [], label=f"lower than {LOWEST:g} % (violates)", **look)


def _percents(rows: Rows) -> tuple[float, float]:
    """Limits of an axis of losses: what is shown and what the paper states, and little more."""
    bottom = max(LOWEST, min(0.0, *(row["ci_low"] for row in rows)))
    return bottom - 2, 1.05 * max(30.0, *(row["ci_high"] for row in rows))


def _raised(row: dict[str, Any], lowest: float) -> dict[str, Any]:
    names = ("suboptimality_percent", "ci_low", "ci_high")
    return row | {name: max(row[name], lowest) for name in names}


def ad_budget_figure(rows: Rows) -> Figure:
    """Sub-optimality against the share of ε for the objective, one panel per ε."""
    strengths = sorted({row["epsilon"] for row in rows})
    width = 3.0 * len(strengths) if len(strengths) > 1 else 6.0
    figure, axes = new_figure(width, 4.6, ncols=len(strengths), sharey=True, squeeze=False)
    for ax, epsilon in zip(axes[0], strengths, strict=True):
        here = [row for row in rows if row["epsilon"] == epsilon]
        for method in ("benvenuti2025", "benvenuti2025-realised-mask"):
            part = [row for row in here if row["method"] == method]
            if part:
                curve(ax, part, method=method, over="alpha")
        for row in here:
            if (method := row["method"]) in ("database", "planned"):
                level, shade = row["suboptimality_percent"], colour(method)
                ax.axhline(level, color=shade, label=NAMES[method] + ", no split")
                ax.axhspan(row["ci_low"], row["ci_high"], color=shade, alpha=0.15, linewidth=0)
        if epsilon == 1.0:
            stated(ax, STATED_SPLIT, "28.25 and 16.88 % at ε = 1")
        ax.set_xticks([1 / 3, 0.5, 0.75, 0.99], ["⅓", "½", "¾", "0.99"])
        ax.set_title(f"ε = {epsilon:g}")
        ax.set(xlabel="share α_c of the objective", ylim=(0, None))
    axes[0][0].set_ylabel("sub-optimality (%)")
    legend_below(figure, *axes[0], columns=2)
    heading(figure, "Ad auction: where the budget goes")
    return figure
