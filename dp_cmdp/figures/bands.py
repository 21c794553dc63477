"""Curves of means with their intervals, and the numbers a paper states beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp.figures.style import COLOURS, CROSS, NAMES, note

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def colour(method: str) -> str:
    """The colour of a method; variants without one of their own share their method's."""
    return COLOURS.get(method) or COLOURS[method.split("-")[0]]


def line_of(method: str, case: str) -> str:
    """Dashed for case (i); squares for variants that share their method's colour."""
    marker = "o" if method in COLOURS else "s"
    return marker + ("--" if case == "i" else "-")


def curve(
    ax: Axes,
    rows: Sequence[dict[str, Any]],
    *,
    method: str,
    over: str,
    show: str = "suboptimality_percent",
    ends: str = "ci",
    label: str | None = None,
    line: str = "o-",
) -> None:
    """Mean of `show` against `over`, with a band from ``{ends}_low`` to ``{ends}_high``."""
    part = sorted(rows, key=lambda row: row[over])
    at = [row[over] for row in part]
    shade = colour(method)
    text = NAMES[method] if label is None else label
    ax.plot(at, [row[show] for row in part], line, color=shade, label=text, markersize=4)
    low, high = [row[f"{ends}_low"] for row in part], [row[f"{ends}_high"] for row in part]
    ax.fill_between(at, low, high, color=shade, alpha=0.18, linewidth=0)


def stated(ax: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Black crosses at numbers that a paper states: place, number, note."""
    middle = sum(ax.get_xlim()) / 2
    for number, (at, value, text) in enumerate(points):
        label = "stated in the paper" if number == 0 else None
        ax.plot(at, value, label=label, zorder=5, **CROSS)
        step, side = (6, "left") if at <= middle else (-6, "right")
        note(ax, text, (at, value), offset=(step, 6), ha=side)
