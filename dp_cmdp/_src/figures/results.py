"""Tables of results: what releases would be worth by ε, and the claims of a report."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.figures import style
from dp_cmdp._src.figures.style import (
    GUIDE,
    INK,
    PRIVATE,
    ROBUST,
    heading,
    legend_below,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Marks of strategies; of more, from the beginning again.
MARKS = "sDo^vP"
#: Shares are drawn within these ends.
LOWEST, HIGHEST = -0.5, 1.5
#: More kinds of claims than this are listed below each other, not side by side.
MOST_COLUMNS = 7
LONGEST = 60


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
    legend_below(figure, loss, won, columns=2)
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
        options: dict[str, Any] = {"color": PRIVATE, "label": f"strategy {name}"}
        ax.plot(eps[pick], mean[pick], MARKS[at % len(MARKS)], **options)
    ax.set_xscale("log")
    ax.set_xticks(eps, [f"{number:g}" for number in eps])
    ax.minorticks_off()
    ax.set_xlabel("ε (smaller is more private)")


def report_figure(report: Any) -> Figure:
    """Subjects by layers of an audit; of other reports, all claims with their outcomes."""
    heads = list(dict.fromkeys(_head(finding) for finding in report))
    several = len(heads) <= MOST_COLUMNS
    columns = heads if several else ["outcome"]
    rows: dict[str, dict[str, list[Any]]] = {}
    for found in report:
        row = found.subject if several else f"{found.subject}: {found.claim}"
        column = _head(found) if several else "outcome"
        rows.setdefault(row, {}).setdefault(column, []).append(found)
    width = 0.075 * min(max(map(len, rows), default=1), LONGEST) + 1.15 * len(columns) + 0.6
    lines = [textwrap.fill(name, LONGEST) for name in rows]
    height = 1.6 + 0.16 * sum(1 + line.count("\n") for line in lines) + 0.12 * len(lines)
    figure, ax = new_figure(max(width, 6.0), height)
    for at, row in enumerate(rows.values()):
        for name, findings in row.items():
            _draw_outcome(ax, columns.index(name), at, findings)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(columns)), [textwrap.fill(name, 13) for name in columns], fontsize=8)
    ax.set_yticks(range(len(rows)), lines, fontsize=8)
    word = "all that can be judged holds" if report else "NOT all holds"
    told = f"{word}; {report.heading}" if report.heading else word
    heading(figure, told, alarming=not report)
    return figure


def _head(finding: Any) -> str:
    """What a claim is called: "black box: runs do not …"."""
    return finding.claim.partition(":")[0]


def _draw_outcome(ax: Any, column: int, row: int, findings: list[Any]) -> None:
    """The worst outcome of several findings, and the largest ε that runs prove, if any."""
    from matplotlib.patches import Rectangle

    worst = min(findings, key=lambda found: {False: 0, None: 1, True: 2}[found.holds])
    shade = {False: style.BAD, None: style.PUBLIC, True: style.ENTRIES}[worst.holds]
    ax.add_patch(Rectangle((column - 0.47, row - 0.42), 0.94, 0.84, facecolor=shade, linewidth=0))
    least = max(found.numbers.get("epsilon_lower_bound", 0.0) for found in findings)
    text = worst.outcome + (f", ε ≥ {least:.2g}" if least > 0.0 else "")
    ink = INK if worst.holds is None else "white"
    ax.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
