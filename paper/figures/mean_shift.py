"""Picture of the mean shift of certain intervals, against the bound that nothing can beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import COLOURS, heading, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Kind, label, colour, line.
CURVES = (
    ("paper", "truncated Laplace, support of the paper", COLOURS["benvenuti2025"], "o-"),
    ("tight", "truncated Laplace, tight support", COLOURS["planned"], "s-"),
    ("optimal", "optimal noise for one changing entry", COLOURS["database"], "D-"),
    ("bound", "no mechanism can go below", COLOURS["robust"], "--"),
)


def mean_shift_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """One panel per δ, shift over ε on logarithmic axes."""
    deltas = sorted({row["delta"] for row in rows}, reverse=True)
    figure, axes = new_figure(10.5, 4.3, ncols=len(deltas), sharey=True, squeeze=False)
    for ax, delta in zip(axes[0], deltas, strict=True):
        part = [row for row in rows if row["delta"] == delta]
        epsilon = [row["epsilon"] for row in part]
        for kind, label, colour, line in CURVES:
            ax.plot(
                epsilon, [row[kind] for row in part], line, color=colour, label=label, markersize=4
            )
        ax.set(xscale="log", yscale="log")
        ax.set_xticks([0.25, 0.5, 1, 2, 5, 10], ["¼", "½", "1", "2", "5", "10"])
        ax.minorticks_off()
        ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        ax.set_title(f"δ = {delta:g}", loc="left", fontsize=10)
        ax.set_xlabel("privacy strength ε")
    axes[0][0].set_ylabel("mean shift (units of Δ)")
    legend_below(figure, *axes[0], columns=4)
    heading(figure, "What a bound that never loosens must cost")
    return figure
