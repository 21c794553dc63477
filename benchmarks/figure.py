"""The figure of a benchmark run: time against states, growth, and distance to the limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import select
from dp_cmdp._src.figures.style import new_figure, save_figure

COLOURS = {
    "ours": "#00734d",
    "storm": "#c2410c",
    "highs hipo": "#1d4ed8",
    "highs ipx": "#60a5fa",
    "highs simplex": "#7c3aed",
    "scipy linprog": "#475569",
    "cvxpy clarabel": "#be185d",
}
Lines = Sequence[dict[str, Any]]


def benchmark_figure(lines: list[dict[str, Any]], path: Path) -> Path:
    """Draw what the lines hold; a panel without lines says so."""
    figure, axes = new_figure(13.0, 4.2, ncols=3)
    _against_states(axes[0], lines)
    _growth(axes[1], lines)
    _limit(axes[2], lines)
    for ax in axes:
        if not ax.lines:
            ax.text(0.5, 0.5, "not part of this run", ha="center", transform=ax.transAxes)
    return save_figure(figure, path)


def _against_states(ax: Any, lines: list[dict[str, Any]]) -> None:
    singles = select(lines, "single")
    ours = sorted({line["size"]: line["ours_s"] for line in singles if line["ours_s"]}.items())
    slopes = [line for line in select(lines, "exponent", quantity="states") if line["exponent"]]
    label = f"ours, exponent {slopes[0]['exponent']:.2f}" if slopes else "ours"
    if ours:
        ax.loglog(*zip(*ours, strict=True), "o-", color=COLOURS["ours"], label=label, lw=2)
    for peer in list(COLOURS)[1:]:
        rows = [line for line in singles if line["peer"] == peer and line["peer_s"]]
        points = sorted((line["size"], line["peer_s"]) for line in rows)
        late = [(line["size"], line["peer_s"]) for line in rows if line["status"] == "time limit"]
        if points:
            ax.loglog(*zip(*points, strict=True), "o-", color=COLOURS[peer], label=peer, lw=1)
        if late:
            ax.plot(*zip(*late, strict=True), "^", color=COLOURS[peer], ms=9, mfc="white")
    ax.set(xlabel="states", ylabel="seconds", title="One solve (△: stopped at the time limit)")
    if ax.lines:
        ax.legend(fontsize=7, frameon=False)


def _growth(ax: Any, lines: list[dict[str, Any]]) -> None:
    for quantity, marker, colour in (("1/(1 − γ)", "s-", "#00734d"), ("K", "D-", "#1d4ed8")):
        points = [
            (line["x"], line["ours_s"])
            for line in select(lines, "growth", quantity=quantity)
            if line["ours_s"]
        ]
        slopes = select(lines, "exponent", quantity=quantity)
        if points and slopes and slopes[0]["exponent"] is not None:
            label = f"{quantity}: exponent {slopes[0]['exponent']:.2f}"
            ax.loglog(*zip(*points, strict=True), marker, color=colour, label=label)
    sizes = {line["size"] for line in select(lines, "growth")}
    where = f" at {max(sizes):,} states" if sizes else ""
    ax.set(xlabel="1/(1 − γ), or K", ylabel="seconds", title=f"Growth{where}")
    if ax.lines:
        ax.legend(fontsize=8, frameon=False)


def _limit(ax: Any, lines: list[dict[str, Any]]) -> None:
    for peer, colour in (("one pass, T @ v", "#c2410c"), ("one pass at copy bandwidth", "#111827")):
        points = sorted(
            (line["size"], line["passes"]) for line in select(lines, "limit", peer=peer)
        )
        if points:
            ax.loglog(*zip(*points, strict=True), "o-", color=colour, label=peer)
    ax.set(xlabel="states", ylabel="our time / one pass over T", title="Distance to the limit")
    if ax.lines:
        ax.legend(fontsize=8, frameon=False)
