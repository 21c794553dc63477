"""A report as a table: which claim about which subject was proved, passed, failed or is open."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from dp_cmdp._src.figures.style import BAD, ENTRIES, INK, PUBLIC, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: More kinds of claims than this are listed below each other, not side by side.
MOST_COLUMNS = 7
LONGEST = 60


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
    shade = {False: BAD, None: PUBLIC, True: ENTRIES}[worst.holds]
    ax.add_patch(Rectangle((column - 0.47, row - 0.42), 0.94, 0.84, facecolor=shade, linewidth=0))
    least = max(found.numbers.get("epsilon_lower_bound", 0.0) for found in findings)
    text = worst.outcome + (f", ε ≥ {least:.2g}" if least > 0.0 else "")
    ink = INK if worst.holds is None else "white"
    ax.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
