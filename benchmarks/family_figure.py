"""A figure per family: time against states, ours and the best peer, per discount and per K."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.records import select
from dp_cmdp._src.figures.style import new_figure, save_figure

#: From short to long horizons, and from one to many costs.
COLOURS = ("#00734d", "#1d4ed8", "#c2410c", "#7c3aed", "#be185d")
Lines = list[dict[str, Any]]


def family_figures(lines: Lines, folder: Path) -> list[Path]:
    """Draw every family that the lines have; medians over seeds."""
    return [_figure(name, own, folder) for name, own in families_in(lines).items()]


def families_in(lines: Lines) -> dict[str, Lines]:
    """The lines that are drawn, by family."""
    found: dict[str, Lines] = {}
    for line in select(lines, "family", limits="tight", start="uniform"):
        if line["peer"] != "storm" and line["ours_s"]:
            found.setdefault(line["family"], []).append(line)
    return found


def _figure(name: str, lines: Lines, folder: Path) -> Path:
    figure, axes = new_figure(8.0, 3.2, ncols=2)
    _panel(axes[0], [line for line in lines if line["costs"] == 1], "gamma", "γ")
    _panel(axes[1], [line for line in lines if line["gamma"] == 0.99], "costs", "K")
    axes[0].set(ylabel="seconds", title=f"{name}: one cost")
    axes[1].set(title=f"{name}: γ = 0.99")
    return save_figure(figure, folder / f"{name}.png")


def _panel(ax: Any, lines: Lines, key: str, letter: str) -> None:
    """Ours solid, the best peer dashed; open triangles were stopped at the time limit."""
    for value, colour in zip(sorted({line[key] for line in lines}), COLOURS, strict=False):
        own = [line for line in lines if line[key] == value]
        _curve(ax, own, "ours_s", "ours_status", colour=colour, style="o-")
        _curve(ax, own, "peer_s", "status", colour=colour, style="s--")
        ax.plot([], [], "-", color=colour, lw=3, label=f"{letter} = {value:g}")
    ax.set_xlabel("states")
    if ax.lines:
        ax.plot([], [], "o-", color="black", lw=1.2, ms=4, label="ours")
        ax.plot([], [], "s--", color="black", lw=1.2, ms=4, label="best of HiGHS")
        ax.legend(fontsize=7, frameon=False)


def _curve(ax: Any, lines: Lines, time: str, status: str, *, colour: str, style: str) -> None:
    sizes = sorted({line["size"] for line in lines if line[time]})
    if not sizes:
        return
    found = {size: [x for x in lines if x["size"] == size and x[time]] for size in sizes}
    medians = [median(line[time] for line in found[size]) for size in sizes]
    ax.loglog(sizes, medians, style, color=colour, lw=1.2, ms=4)
    late = [
        (size, seconds)
        for size, seconds in zip(sizes, medians, strict=True)
        if any(line[status] == "time limit" for line in found[size])
    ]
    if late:
        ax.plot(*zip(*late, strict=True), "^", color=colour, ms=9, mfc="white")
