"""Curves of means with their intervals, and the numbers a paper states beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import CROSS, NAMES, colour, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curve(
    ax: Axes,
    rows: Sequence[dict[str, Any]],
    *,
    method: str,
    over: str,
    show: str = "suboptimality_percent",
    ends: str = "ci",
    label: str | None = None,
    line: str = "-",
    marks: bool = True,
) -> None:
    """Mean of `show` against `over`, with a band from ``{ends}_low`` to ``{ends}_high``."""
    part = sorted(rows, key=lambda row: row[over])
    at = [row[over] for row in part]
    shade = colour(method)
    look: dict[str, Any] = {
        "color": shade,
        "label": NAMES[method] if label is None else label,
        "linestyle": line,
    }
    sign = mark(method) if marks else "none"
    ax.plot(at, [row[show] for row in part], marker=sign, markersize=4.5, **look)
    low, high = [row[f"{ends}_low"] for row in part], [row[f"{ends}_high"] for row in part]
    ax.fill_between(at, low, high, color=shade, alpha=0.15, linewidth=0)


def stated(ax: Axes, points: Sequence[tuple[float, float]], text: str = "") -> None:
    """Black crosses at numbers that a paper states: places and numbers."""
    label = f"stated in the paper{text and ': '}{text}"
    ax.plot(*zip(*points, strict=True), label=label, zorder=5, **CROSS)
