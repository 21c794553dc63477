"""The loss over ε of invented data: points, the limit, and the chart; as files: a table, a figure.

Points are computed one by one, in another process, so that a page can show them as they come.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import dp_cmdp as dp
from dp_cmdp.explorer.files import png
from dp_cmdp.explorer.invented import Point

#: ε of the curve.
EPSILONS = ("1/4", "1/2", "1", "2", "4", "8")
#: Priority of processes that compute what may arrive later.
PATIENT = 15
COLOURS = {"private": "#00734d", "robust": "#111827", "limit": "#c2410c", "now": "#db2777"}
#: What the lines are called, in the page and in its files.
MEAN, INTERVAL, ROBUST, LIMIT, NOW = (
    "mean of simulated releases",
    "95 % interval",
    "robust (no data)",
    "limit: none loses less",
    "this release",
)
CURVE_FILES = ("curve.csv", "curve.png")
COLUMNS = ("line", "epsilon", "loss_percent", "low", "high")
ACROSS, UP = "ε (smaller is more private)", "loss, %"


def politely(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process that leaves the processor to the page, which must not wait."""
    if os.getpriority(os.PRIO_PROCESS, 0) < PATIENT:
        os.setpriority(os.PRIO_PROCESS, 0, PATIENT)
    warnings.simplefilter("ignore", dp.errors.PrivacyWarning)  # the page says what a budget is
    return function(*arguments)


@dataclass(slots=True)
class Curve:
    """What is known so far of the loss by ε, in percent.

    Attributes
    ----------
    points : dict
        By the ε of :data:`EPSILONS`.
    limits : dict
        ε → what no private mechanism with certain answers can beat.
    now : (float, float) or None
        ε and loss of the release that is shown.
    """

    points: dict[str, Point] = field(default_factory=dict)
    limits: dict[float, float] = field(default_factory=dict)
    now: tuple[float, float] | None = None

    def ordered(self) -> list[Point]:
        """The points from left to right."""
        return sorted(self.points.values(), key=lambda point: point.epsilon)

    @property
    def robust(self) -> float | None:
        """Loss of the answer without data."""
        return next((point.robust for point in self.points.values()), None)


def as_number(text: str) -> float:
    """An ε of the curve as a float."""
    return float(Fraction(text))


def chart(curve: Curve) -> dict[str, Any]:
    """Options of the chart: the curve with its intervals, the robust answer, the limit, and now."""
    ordered = curve.ordered()
    series: list[dict[str, Any]] = [
        _line(MEAN, [(p.epsilon, p.loss) for p in ordered], "private"),
        _band(ordered),
    ]
    if curve.robust is not None:
        ends = [(as_number(e), curve.robust) for e in (EPSILONS[0], EPSILONS[-1])]
        series.append(_line(ROBUST, ends, "robust", "dashed", "none"))
    if curve.limits:
        below = sorted(curve.limits.items())
        series.append(_line(LIMIT, below, "limit", "dotted", "triangle"))
    if curve.now is not None:
        series.append(_now(curve.now))
    axis = {"nameLocation": "middle"}
    log = {"type": "log", "logBase": 2, "min": 0.25, "max": 8, "name": ACROSS, "nameGap": 26}
    return {
        "animation": False,
        "grid": {"left": 60, "right": 24, "top": 60, "bottom": 44},
        "legend": {"top": 0, "data": [part["name"] for part in series]},
        "tooltip": {"trigger": "item"},
        "xAxis": axis | log,
        "yAxis": axis | {"type": "value", "min": 0, "name": UP, "nameGap": 40},
        "series": series,
    }


def _line(
    name: str,
    data: Sequence[tuple[float, float]],
    colour: str,
    style: str = "solid",
    symbol: str = "circle",
) -> dict[str, Any]:
    return {
        "name": name,
        "type": "line",
        "data": [[x, _rounded(y)] for x, y in data],
        "symbol": symbol,
        "symbolSize": 8,
        "lineStyle": {"type": style, "width": 2, "color": COLOURS[colour]},
        "itemStyle": {"color": COLOURS[colour]},
    }


def _band(points: Sequence[Point]) -> dict[str, Any]:
    """Upright lines from end to end of the intervals, broken between them."""
    data: list[Any] = []
    for point in points:
        data += [[point.epsilon, _rounded(point.low)], [point.epsilon, _rounded(point.high)]]
        data.append([point.epsilon, None])
    style = {"color": COLOURS["private"], "opacity": 0.3}
    line = {"name": INTERVAL, "type": "line", "data": data, "symbol": "none"}
    return line | {"lineStyle": style | {"width": 5}, "itemStyle": style}


def _now(now: tuple[float, float]) -> dict[str, Any]:
    return {
        "name": NOW,
        "type": "scatter",
        "data": [[min(max(now[0], 0.25), 8.0), _rounded(now[1])]],
        "symbol": "diamond",
        "symbolSize": 16,
        "itemStyle": {"color": COLOURS["now"], "borderColor": "white", "borderWidth": 1},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def curve_file(name: str, curve: Curve) -> bytes:
    """One of :data:`CURVE_FILES`, of what is known of a curve."""
    return _table(curve).encode() if name == "curve.csv" else png(_figure(curve))


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


def _figure(curve: Curve) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained", dpi=150)
    ax = figure.subplots()
    points = curve.ordered()
    at, shade = [point.epsilon for point in points], COLOURS["private"]
    ax.plot(at, [point.loss for point in points], marker="o", color=shade, label=MEAN)
    ends = [point.low for point in points], [point.high for point in points]
    ax.vlines(at, *ends, color=shade, alpha=0.3, linewidth=5, label=INTERVAL)
    if curve.robust is not None:
        ax.axhline(curve.robust, color=COLOURS["robust"], linestyle="--", label=ROBUST)
    style: Any
    if curve.limits:
        below = sorted(curve.limits.items())
        style = {"color": COLOURS["limit"], "linestyle": ":", "marker": "^"}
        ax.plot(*zip(*below, strict=True), label=LIMIT, **style)
    if curve.now is not None:
        style = {"color": COLOURS["now"], "marker": "D", "markeredgecolor": "white"}
        ax.plot(*curve.now, linestyle="none", markersize=9, label=NOW, zorder=5, **style)
    ax.set_xscale("log", base=2)
    ax.set_xticks(at, [f"{epsilon:g}" for epsilon in at])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#e5e7eb")
    ax.set(xlabel=ACROSS, ylabel=UP, ylim=(0, None))
    ax.set_title("What privacy costs, judged against invented data (SIMULATED)", loc="left")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure
