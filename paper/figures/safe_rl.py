"""What episodes cost and earn while learners train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import COLOURS, GUIDE, heading, legend_below, new_figure
from paper.studies.safe_rl import BINS, SOLVED

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
    """A column per environment: costs in shares of the limit, and returns; bands are 95 %."""
    names = list(dict.fromkeys(row["environment"] for row in rows))
    figure, axes = new_figure(2.6 * len(names) + 1, 6.2, nrows=2, ncols=len(names), squeeze=False)
    for name, (above, below) in zip(names, axes.T, strict=True):
        part = [row for row in rows if row["environment"] == name]
        for row in part:
            shade, line = LINES[row["method"]]
            time = [(k + 0.5) / BINS for k in range(BINS)]
            for ax, what in ((above, "cost"), (below, "return")):
                low, mean, high = zip(*row[f"{what}_curve"], strict=True)
                ax.plot(time, mean, color=shade, linestyle=line, label=row["method"])
                if row["method"] not in SOLVED:
                    ax.fill_between(time, low, high, color=shade, alpha=0.15, linewidth=0)
        above.axhline(1.0, color=GUIDE, linewidth=1)
        above.set_title(name, fontsize=10)
        above.set_yscale("log")
        spent, earned = ([y for row in part for _, y, _ in row[f"{what}_curve"]]
                         for what in ("cost", "return"))  # fmt: skip
        above.set_ylim(min(0.5, *spent) / 1.5, max(2.0, *spent) * 1.5)  # of means: bands may leave
        room = 0.1 * (max(earned) - min(earned))
        below.set_ylim(min(earned) - room, max(earned) + room)
        below.set_xlabel("share of the training")
    axes[0, 0].set_ylabel("cost of an episode / limit")
    axes[1, 0].set_ylabel("return of an episode")
    legend_below(figure, *axes.ravel(), columns=4)
    heading(figure, "Training on private costs, with a shield and without")
    return figure
