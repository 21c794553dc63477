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
EPSILON = "ε (smaller is more private)"
#: Shares below this are drawn here.
FLOOR = -0.5


def advice_figure(advice: Any) -> Figure:
    """Mean loss by ε, beside that of the robust answer; and the share of it that is won back."""
    rows = sorted(advice.rows, key=lambda row: row.epsilon)
    figure, (loss, won) = new_figure(9.0, 4.2, ncols=2)
    for at, (name, chosen) in enumerate(_by_strategy(rows).items()):
        look: dict[str, Any] = {"marker": MARKS[at % len(MARKS)], "linestyle": "none"}
        for ax, part, unit in ((loss, "loss", 100.0), (won, "recovered", 1.0)):
            means = [unit * max(getattr(row, part), FLOOR) for row in chosen]
            eps = [row.epsilon for row in chosen]
            ax.plot(eps, means, color=PRIVATE, label=f"strategy {name}", **look)
    eps = [row.epsilon for row in rows]
    for ax, part, unit in ((loss, "loss", 100.0), (won, "recovered", 1.0)):
        ax.plot(eps, [unit * max(getattr(row, part), FLOOR) for row in rows], color=PRIVATE, lw=1)
        ends = np.array(
            [[getattr(row, f"{part}_{end}") for end in ("low", "high")] for row in rows]
        )
        ends = unit * np.clip(np.nan_to_num(ends, nan=0.0), FLOOR, 1.5)
        ax.vlines(eps, *ends.T, color=PRIVATE, linewidth=1.0, alpha=0.6)
        epsilon_axis(ax, eps)
    robust = [100.0 * row.robust_loss for row in rows]
    loss.plot(eps, robust, "--", color=ROBUST, label="robust answer, no data")
    loss.set_ylim(bottom=min(0.0, *loss.get_ylim()))
    loss.set_ylabel("mean loss (% of the best value)")
    loss.set_title(
        f"δ = {rows[0].delta:g}, {advice.draws} invented databases", loc="left", fontsize=10
    )
    won.plot(
        eps,
        [row.saturation for row in rows],
        ":",
        color=GUIDE,
        label="saturation (share of the entries)",
    )
    low, high = won.get_ylim()
    won.set_ylim(min(low, -0.03), max(high, 1.03))
    won.set_ylabel("share of the robust answer's loss won back")
    legend_below(figure, loss, won, columns=4)
    return figure


def _by_strategy(rows: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        if np.isfinite(row.loss):
            found.setdefault(row.strategy.name, []).append(row)
    return found


def epsilon_axis(ax: Axes, epsilons: list[float]) -> None:
    """A logarithmic axis with the ε that were asked for, and which way privacy grows."""
    ax.set_xscale("log")
    ticks = sorted(set(epsilons))
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(EPSILON)
