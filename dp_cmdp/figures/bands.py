"""Curves of means with their intervals, and the numbers a paper states beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Names of methods and variants inside a figure.
NAMES = {
    "hsu2014": "Hsu 2014",
    "hsu2014-true-optimum": "Hsu 2014, told the optimum (leaks)",
    "cummings2015": "Cummings 2015 (joint privacy)",
    "dvorkin2020": "Dvorkin 2020 (b only)",
    "munoz2021": "Munoz 2021 (b only)",
    "munoz2021-private-c": "Munoz 2021 (b, and noise on c)",
    "benvenuti2024": "Benvenuti 2024 (A only)",
    "benvenuti2025": "Algorithm 1, public mask",
    "benvenuti2025-realised-mask": "Algorithm 1, realised mask (leaks)",
    "database": "database release (ours)",
    "planned": "planned release (ours)",
    "totals": "totals (ours)",
    "robust": "robust, no data (ε = 0)",
    "nonprivate": "no privacy",
    "laplace": "Laplace, shifted",
    "laplace-unshifted": "Laplace, no shift",
    "sup_A_exact_c": "worst-case A, exact b and c",
}


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
    for number, (at, value, note) in enumerate(points):
        label = "stated in the paper" if number == 0 else None
        ax.plot(
            at,
            value,
            "x",
            color="black",
            markersize=8,
            markeredgewidth=2,
            label=label,
            zorder=5,
            linestyle="none",
        )
        step, side = (6, "left") if at <= middle else (-6, "right")
        ax.annotate(
            note, (at, value), textcoords="offset points", xytext=(step, 6), ha=side, fontsize=8
        )
