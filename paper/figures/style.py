"""One look for all figures of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]

#: The project's look: a light grid behind the data, no frame above and to the right.
RC: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "figure.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "grid.color": "#e5e7eb",
    "legend.fontsize": 8,
    "legend.frameon": False,
}
#: Colour, mark and name of each method; colours are told apart by normal, deuteran and protan eyes,
#: marks without them. Variants without a colour share their method's.
LOOKS: dict[str, tuple[str | None, str, str]] = {
    "hsu2014": ("#555b68", "X", "Hsu 2014"),
    "hsu2014-true-optimum": (None, "x", "Hsu 2014, told the optimum (leaks)"),
    "cummings2015": ("#d86aa4", "o", "Cummings 2015 (joint privacy)"),
    "dvorkin2020": ("#b977e4", "o", "Dvorkin 2020 (b only)"),
    "munoz2021": ("#292e8c", "p", "Munoz 2021 (b only)"),
    "munoz2021-private-c": (None, "P", "Munoz 2021 (b, and noise on c)"),
    "benvenuti2024": ("#7b4b00", "v", "Benvenuti 2024 (A only)"),
    "benvenuti2025": ("#d96208", "o", "Algorithm 1, public mask"),
    "benvenuti2025-realised-mask": ("#edb05a", "^", "Algorithm 1, realised mask (leaks)"),
    "benvenuti2025-as-published": ("#edb05a", "^", "Algorithm 1, Δ = 0.1 per entry (not private)"),
    "database": ("#0d764f", "s", "one interval per number (ours)"),
    "planned": ("#0767a5", "D", "strategy auto (ours, the default)"),
    "totals": ("#7567f3", "h", "linear queries (ours)"),
    "robust": ("#121826", "d", "robust, no data (ε = 0)"),
    "nonprivate": ("#c5baaf", "o", "no privacy"),
    "laplace": ("#810120", "o", "Laplace, shifted"),
    "laplace-unshifted": (None, "o", "Laplace, no shift"),
    "sup_A_exact_c": ("#25c0d4", "o", "worst-case A, exact b and c"),
}
COLOURS = {method: shade for method, (shade, _, _) in LOOKS.items() if shade}
NAMES = {method: name for method, (_, _, name) in LOOKS.items()}
#: What every axis of ε says.
EPSILON = "ε (smaller is more private)"
#: What is public and says little, lines that only guide the eye, and small print.
PUBLIC, GUIDE, INK = "#d1d5db", "#9ca3af", "#374151"
#: A number that a paper states.
CROSS: Any = {
    "marker": "x",
    "linestyle": "none",
    "color": "black",
    "markersize": 8,
    "markeredgewidth": 2,
}


def colour(method: str) -> str:
    """The colour of a method; variants without one of their own share their method's."""
    return COLOURS.get(method) or COLOURS[method.split("-")[0]]


def mark(method: str) -> str:
    """The mark of a method."""
    return LOOKS[method][1]


def new_figure(width: float, height: float, **subplots: Any) -> tuple[Figure, Any]:
    """(figure, axes) of a size in inches."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(**subplots)


def log_numbers(ax: Axes) -> None:
    """A logarithmic axis of y with numbers as they are said: 0.01 and 10,000."""
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")


def legend_below(
    figure: Figure, *axes: Axes, columns: int, loc: Any = "outside lower center"
) -> None:
    """One legend below all axes: every label once, in the order in which it was drawn."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), ncols=columns, loc=loc)


def curve(
    ax: Axes,
    rows: Rows,
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


def heading(figure: Figure, text: str) -> None:
    """The title of a figure with several panels."""
    figure.suptitle(text, x=0.01, ha="left")
