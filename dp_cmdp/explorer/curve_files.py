"""The cost-of-privacy curve as files: its numbers, and a figure."""

from __future__ import annotations

import csv
import io

from dp_cmdp.explorer.curve import COLOURS, LIMIT, MEAN, NOW, ROBUST, Curve
from dp_cmdp.explorer.files import png

CURVE_FILES = ("curve.csv", "curve.png")
COLUMNS = ("line", "epsilon", "cost_of_privacy_percent", "ci_low", "ci_high")


def curve_file(name: str, curve: Curve) -> bytes:
    """One of :data:`CURVE_FILES`, of what is known of a curve.

    Notes
    -----
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    if name == "curve.csv":
        return _table(curve).encode()
    return _picture(curve)


def _table(curve: Curve) -> str:
    """One row per point; a robust answer has no ε, and only means have an interval."""
    rows: list[tuple[object, ...]] = [
        (MEAN, point.epsilon, point.loss, point.low, point.high) for point in curve.ordered()
    ]
    if curve.robust is not None:
        rows.append((ROBUST, "", curve.robust, "", ""))
    rows += [(LIMIT, epsilon, loss, "", "") for epsilon, loss in sorted(curve.limits.items())]
    if curve.now is not None:
        rows.append((NOW, *curve.now, "", ""))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows(rows)
    return text.getvalue()


def _picture(curve: Curve) -> bytes:
    from dp_cmdp.figures.style import legend_below, new_figure

    figure, ax = new_figure(6.4, 4.4)
    points = curve.ordered()
    at = [point.epsilon for point in points]
    shade = COLOURS["private"]
    ax.plot(at, [point.loss for point in points], marker="o", color=shade, label=MEAN)
    ends = [point.low for point in points], [point.high for point in points]
    ax.vlines(at, *ends, color=shade, alpha=0.3, linewidth=5, label="95 % interval")
    if curve.robust is not None:
        ax.axhline(curve.robust, color=COLOURS["robust"], linestyle="--", label=ROBUST)
    if curve.limits:
        below = sorted(curve.limits.items())
        look = {"color": COLOURS["limit"], "linestyle": ":", "marker": "^"}
        ax.plot(*zip(*below, strict=True), label=LIMIT, **look)
    if curve.now is not None:
        look = {"color": COLOURS["now"], "marker": "D", "markeredgecolor": "white"}
        ax.plot(*curve.now, linestyle="none", markersize=9, label=NOW, zorder=5, **look)
    ax.set_xscale("log", base=2)
    ax.set_xticks(at, [f"{epsilon:g}" for epsilon in at])
    ax.minorticks_off()
    ax.set(xlabel="ε (smaller is more private)", ylabel="cost of privacy, %", ylim=(0, None))
    ax.set_title("What privacy costs, judged against invented data", loc="left")
    legend_below(figure, ax, columns=3)
    return png(figure)
