"""The ad auction against ε, against its size, and against the split of ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.bands import colour, curve, line_of, stated
from dp_cmdp.figures.style import NAMES, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]

#: Numbers of the paper (``fig:example_1``, ``fig:example_2``, ``subsec:priv_budget``).
STATED_EPSILON = (
    (1.0, 28.25, "28.25 %"),
    (2.0, 20.0, "≈ 20 %"),
    (2.0, 0.5, "0.5 % (Munoz)"),
)
STATED_VIOLATION = ((0.25, 51.0, "up to 51 % (Hsu)"),)
STATED_SIZE = ((10, 13.3, "13.3 %"), (100, 24.0, "24 %"))
STATED_SPLIT = ((1 / 3, 28.25, "28.25 %"), (0.99, 16.88, "16.88 %"))


@door
def ad_epsilon_figure(rows: Rows) -> Figure:
    """Sub-optimality and violated constraints against ε, per method and case."""
    figure, (left, right) = new_figure(11.0, 4.6, ncols=2, width_ratios=(1.6, 1.0))
    _curves(left, rows, over="epsilon")
    _curves(right, rows, over="epsilon", show="violated_percent", ends="violated_ci")
    stated(left, STATED_EPSILON)
    stated(right, STATED_VIOLATION)
    for ax in (left, right):
        ax.set_xlabel("privacy strength ε (δ = 0.1; smaller is more private)")
        ax.set_xticks([0.25, 0.5, 1, 1.5, 2], ["0.25", "0.5", "1", "1.5", "2"])
    left.set_ylim(-3, 75)
    right.set_ylim(-2, 58)
    left.set_ylabel("sub-optimality (%)")
    right.set_ylabel("violated constraints (%)")
    left.set_title("Ad auction: (i) private prices, (ii) and budgets", loc="left")
    right.set_title("Only Hsu violates; the others lie on 0", loc="left")
    left.legend(frameon=False, fontsize=7, ncols=2, loc="upper right", handlelength=3)
    return figure


@door
def ad_size_figure(rows: Rows) -> Figure:
    """Sub-optimality against the number of advertisers."""
    figure, ax = new_figure(8.0, 4.6)
    _curves(ax, rows, over="advertisers")
    stated(ax, STATED_SIZE)
    ax.set(ylim=(-1, 105), xlabel="advertisers M (20 groups, ε = 1, δ = 0.1)")
    ax.set_ylabel("sub-optimality (%)")
    ax.set_title("Ad auction: what happens when it grows", loc="left")
    ax.legend(frameon=False, fontsize=8, loc="upper right", ncols=2, handlelength=3)
    return figure


def _curves(ax: Axes, rows: Rows, *, over: str, **show: str) -> None:
    """One curve per method and case."""
    for method, case in dict.fromkeys((row["method"], row["case"]) for row in rows):
        part = [row for row in rows if (row["method"], row["case"]) == (method, case)]
        label, line = f"{NAMES[method]}, case ({case})", line_of(method, case)
        curve(ax, part, method=method, over=over, label=label, line=line, **show)


@door
def ad_budget_figure(rows: Rows) -> Figure:
    """Sub-optimality against the share of ε for the objective, one panel per ε."""
    strengths = sorted({row["epsilon"] for row in rows})
    width = 3.0 * len(strengths) if len(strengths) > 1 else 6.0
    figure, axes = new_figure(width, 4.2, ncols=len(strengths), sharey=True, squeeze=False)
    for ax, epsilon in zip(axes[0], strengths, strict=True):
        here = [row for row in rows if row["epsilon"] == epsilon]
        for method in ("benvenuti2025", "benvenuti2025-realised-mask"):
            part = [row for row in here if row["method"] == method]
            curve(ax, part, method=method, over="alpha")
        for row in here:
            if row["method"] == "database":
                level, shade = row["suboptimality_percent"], colour("database")
                ax.axhline(level, color=shade, label=NAMES["database"] + ", no split")
                ax.axhspan(row["ci_low"], row["ci_high"], color=shade, alpha=0.18, linewidth=0)
        if epsilon == 1.0:
            stated(ax, STATED_SPLIT)
        ax.set_xticks([1 / 3, 0.5, 0.75, 0.99], ["⅓", "½", "¾", "0.99"])
        ax.set_title(f"ε = {epsilon:g}", loc="left", fontsize=10)
        ax.set(xlabel="share α_c of the objective", ylim=(0, None))
    axes[0][0].set_ylabel("sub-optimality (%)")
    busiest = axes[0][strengths.index(1.0)] if 1.0 in strengths else axes[0][0]
    busiest.legend(frameon=False, fontsize=7, loc="lower left")
    figure.suptitle("Ad auction: where the budget goes", x=0.01, ha="left", fontsize=11)
    return figure
