"""Table 1 as a picture: what each system loses, and what it violates to lose so little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.bands import colour
from dp_cmdp.figures.style import NAMES, new_figure, note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]


@door
def table1_figure(rows: Rows) -> Figure:
    """Sub-optimality and violated constraints per system, with the blocks it protects."""
    figure, axes = new_figure(11.0, 5.2, ncols=3, sharey=True, width_ratios=(2.2, 1.4, 0.75))
    place = range(len(rows))
    shades = [colour(row["method"]) for row in rows]
    for at, row, shade in zip(place, rows, shades, strict=True):
        mean = row["suboptimality_percent"]
        errors = [[mean - row["ci_low"]], [row["ci_high"] - mean]]
        axes[0].errorbar(mean, at, xerr=errors, fmt="o", color=shade, capsize=3)
        note(axes[0], f"{mean:.1f}", (mean, at), offset=(0, 6), ha="left")
        broken = row["violated_percent"]
        axes[1].barh(at, broken, color=shade, height=0.6)
        text = "0" if broken == 0 else f"{broken:.1f}"
        note(axes[1], text, (broken, at), offset=(4, -3), ha="left")
    _blocks(axes[2], rows)
    axes[0].axvline(0, color="#9ca3af", linewidth=0.8)
    axes[0].set_yticks(list(place), [NAMES[row["method"]] for row in rows])
    axes[0].invert_yaxis()
    axes[0].set_xlabel("sub-optimality (%), mean and 95 % interval")
    axes[1].set_xlabel("violated constraints (%)")
    axes[1].set_xlim(right=1.2 * max(1.0, *(row["violated_percent"] for row in rows)))
    figure.suptitle("Table 1, measured: ad auction, ε = 1, δ = 0.1", x=0.01, ha="left", fontsize=11)
    return figure


def _blocks(ax: Axes, rows: Rows) -> None:
    """Filled: measured as private. Rings: a tick of the paper."""
    ax.grid(False)
    for at, row in enumerate(rows):
        for column, block in enumerate("Abc"):
            if block in row["private"]:
                ax.plot(column, at, "o", color=colour(row["method"]), markersize=7)
            if block in (row["paper_private"] or ()):
                ax.plot(column, at, "o", markersize=11, mfc="none", mec="black")
    ax.set_xticks([0, 1, 2], ["A", "b", "c"])
    ax.set(xlim=(-0.6, 2.6), xlabel="private:\n● measured\n○ in the paper")
