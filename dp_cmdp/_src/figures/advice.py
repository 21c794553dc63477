"""What a release would be worth, by ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.figures.style import GUIDE, PRIVATE, ROBUST, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Marks of strategies; of more, from the beginning again.
MARKS = "sDo^vP"
#: Shares are drawn within these ends.
LOWEST, HIGHEST = -0.5, 1.5


def advice_figure(advice: Any) -> Figure:
    """Mean loss by ε, beside that of the robust answer; and the share of it that is won back."""
    rows = sorted(advice.rows, key=lambda row: row.epsilon)
    eps = [row.epsilon for row in rows]
    figure, (loss, won) = new_figure(9.0, 4.2, ncols=2)
    _draw_curve(loss, rows, "loss", unit=100.0)
    _draw_curve(won, rows, "recovered", unit=1.0)
    robust = [100.0 * row.robust_loss for row in rows]
    loss.plot(eps, robust, "--", color=ROBUST, label="robust answer, no data")
    loss.set_ylim(bottom=min(0.0, *loss.get_ylim()))
    loss.set_ylabel("mean loss (% of the best value)")
    title = f"δ = {rows[0].delta:g}, {advice.draws} invented databases"
    loss.set_title(title, loc="left", fontsize=10)
    silent = [row.saturation for row in rows]
    won.plot(eps, silent, ":", color=GUIDE, label="saturation (share of the entries)")
    won.set_ylim(min(won.get_ylim()[0], -0.03), max(won.get_ylim()[1], 1.03))
    won.set_ylabel("share of the robust answer's loss won back")
    legend_below(figure, loss, won, columns=4)
    return figure


def _draw_curve(ax: Axes, rows: list[Any], part: str, *, unit: float) -> None:
    """Means with their intervals, a mark per strategy; what is not known is left out."""
    eps = np.array([row.epsilon for row in rows])
    names = (part, f"{part}_low", f"{part}_high")
    found = np.array([[getattr(row, name) for name in names] for row in rows])
    mean, low, high = (unit * np.clip(found, LOWEST, HIGHEST)).T
    ax.plot(eps, mean, color=PRIVATE, linewidth=1)
    ax.vlines(eps, low, high, color=PRIVATE, linewidth=1, alpha=0.6)
    strategies = [row.strategy.name for row in rows]
    for at, name in enumerate(dict.fromkeys(strategies)):
        pick = np.array([own == name for own in strategies])
        look: dict[str, Any] = {"color": PRIVATE, "label": f"strategy {name}"}
        ax.plot(eps[pick], mean[pick], MARKS[at % len(MARKS)], **look)
    ax.set_xscale("log")
    ax.set_xticks(eps, [f"{number:g}" for number in eps])
    ax.minorticks_off()
    ax.set_xlabel("ε (smaller is more private)")
