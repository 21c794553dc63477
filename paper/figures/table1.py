"""Table 1 as a picture: what each system loses, and what it violates to lose so little."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.figures.style import GUIDE, INK, NAMES, PUBLIC, Rows, colour, heading, new_figure


def table1_figure(rows: Rows) -> Figure:
    """Sub-optimality and violated constraints per system, with the blocks it protects."""
    figure, axes = new_figure(
        11.0, 1.7 + 0.33 * len(rows), ncols=3, sharey=True, width_ratios=(2.2, 1.4, 0.75)
    )
    place = range(len(rows))
    for at, row in zip(place, rows, strict=True):
        mean, shade = row["suboptimality_percent"], colour(row["method"])
        errors = [[mean - row["ci_low"]], [row["ci_high"] - mean]]
        axes[0].errorbar(mean, at, xerr=errors, fmt="o", color=shade, capsize=3)
        axes[1].barh(at, row["violated_percent"], color=shade, height=0.6)
    _numbers(axes[0], [f"{row['suboptimality_percent']:.1f} %" for row in rows])
    _numbers(axes[1], [_violated(row["violated_percent"]) for row in rows])
    _blocks(axes[2], rows)
    axes[0].axvline(0, color=GUIDE, linewidth=0.8)
    axes[0].set_yticks(list(place), [NAMES[row["method"]] for row in rows])
    axes[0].invert_yaxis()
    for ax in axes[1:]:  # the numbers beside them belong to the panel on their left
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_color(PUBLIC)
    figure.set_layout_engine("constrained", wspace=0.05)
    axes[0].set_xlabel("sub-optimality (%), mean and 95 % interval")
    axes[1].set_xlabel("violated constraints (%)")
    axes[1].set_xlim(0.0, 1.1 * max(1.0, *(row["violated_percent"] for row in rows)))
    heading(figure, "Table 1, measured: ad auction, ε = 1, δ = 0.1")
    return figure


def _violated(percent: float) -> str:
    return "none" if percent == 0 else f"{percent:.1f} %"


def _numbers(ax: Axes, texts: Sequence[str]) -> None:
    """A column of numbers at the right of a panel, beside all marks."""
    for at, text in enumerate(texts):
        ax.annotate(
            text, (1.0, at), xycoords=("axes fraction", "data"), textcoords="offset points",
            xytext=(36, 0), ha="right", va="center", fontsize=8, color=INK,
        )  # fmt: skip


def _blocks(ax: Axes, rows: Rows) -> None:
    """Filled: measured as private. Rings: a tick of the paper."""
    ax.grid(visible=False)
    for at, row in enumerate(rows):
        for column, block in enumerate("Abc"):
            if block in row["private"]:
                ax.plot(column, at, "o", color=colour(row["method"]), markersize=6)
            if block in (row["paper_private"] or ()):
                ax.plot(column, at, "o", markersize=11, mfc="none", mec="black")
    ax.set_xticks([0, 1, 2], ["A", "b", "c"])
    ax.set(xlim=(-0.6, 2.6), xlabel="private:\n● measured\n○ in the paper")
