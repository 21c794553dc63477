"""What episodes cost and earn while learners train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import COLOURS, GUIDE, heading, legend_below, new_figure
from paper.studies.safe_rl import BINS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Method, colour, line.
LINES = {
    "Q": (COLOURS["benvenuti2025"], "-"),
    "Q, shield": (COLOURS["planned"], "-"),
    "Q, shield, improve": (COLOURS["database"], "-"),
    "PPO": (COLOURS["benvenuti2025"], ":"),
    "PPO, shield, improve": (COLOURS["database"], ":"),
    "synthesised": (COLOURS["robust"], "--"),
    "robust": (COLOURS["robust"], ":"),
    "non-private": (COLOURS["nonprivate"], "--"),
}


def safe_rl_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """A column per environment: above costs as shares of the limit, below returns."""
    names = list(dict.fromkeys(row["environment"] for row in rows))
    figure, axes = new_figure(2.6 * len(names) + 1, 6.2, nrows=2, ncols=len(names), squeeze=False)
    for name, (above, below) in zip(names, axes.T, strict=True):
        for row in (row for row in rows if row["environment"] == name):
            shade, line = LINES[row["method"]]
            time = [(k + 0.5) / BINS for k in range(BINS)]
            look: Any = {"color": shade, "linestyle": line, "label": row["method"]}
            above.plot(time, [row[f"cost_{k}"] / row["limit"] for k in range(BINS)], **look)
            below.plot(time, [row[f"return_{k}"] for k in range(BINS)], **look)
        above.axhline(1.0, color=GUIDE, linewidth=1)
        above.set_title(name, fontsize=10)
        above.set_ylim(bottom=0.0)
        below.set_xlabel("share of the training")
    axes[0, 0].set_ylabel("cost of an episode / limit")
    axes[1, 0].set_ylabel("return of an episode")
    legend_below(figure, *axes.ravel(), columns=4)
    heading(figure, "Training on private costs, with a shield and without")
    return figure
