"""What is proved of an answer, and what it is worth beside others."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Constraints drawn at most: those with the least room.
MOST_COSTS = 12
#: Least part of the largest value that the axis of values spans: less would exaggerate.
LEAST_SPAN = 0.05
#: Characters of the title of a small panel, per line.
TITLE = 50


def statement(found: Any, width: int = TITLE) -> str:
    """What is proved, in one sentence that is folded into lines, never inside brackets."""
    return textwrap.fill(repr(found.certificate).replace("(slack ", "(slack\u00a0"), width)


def draw_costs(ax: Axes, found: PolicyAnswer) -> None:
    """Bars of costs in shares of their limits, each pair in one database: the one with least room.

    The highest cost and the lowest limit that a release allows may belong to different databases;
    a bar never compares those.
    """
    cost, limit = found.costs_at_worst()
    room, slack = limit - cost, found.certificate.slack
    if found.certificate.verified:  # certain, where the costs above are rounded
        room = np.maximum(room, slack)
    scale = np.where(limit == 0.0, np.maximum(np.abs(cost), 1.0), np.abs(limit))
    share = 1.0 - room / scale
    chosen = np.sort(np.argsort(-share, kind="stable")[:MOST_COSTS])
    place, names = np.arange(chosen.size), found.problem.names
    shade = style.ENTRIES if found.certificate.verified else style.BAD
    ax.barh(place, share[chosen], 0.5, color=shade)
    ax.axvline(1.0, color=style.INK, linewidth=1.5)
    told = [f"{names[k]}\n{cost[k]:.4g} of {limit[k]:.4g}" for k in chosen.tolist()]
    ax.set_yticks(place, told)
    ax.set_ylim(chosen.size - 0.5, -0.5)
    ax.set_xlim(min(0.0, 1.05 * share[chosen].min()), max(1.05, 1.05 * share[chosen].max()))
    ax.set_xlabel("share of the limit, where the release leaves it the least room", fontsize=8)
    style.panel(ax, statement(found), along="x")


def values_of(found: Any) -> dict[str, float]:
    """What an answer is worth at its estimate, the robust one, and the most that is possible."""
    worth = {style.THIS: found.value, style.BOUND: found.bound}
    if found.source != "robust":
        robust = found.robust
        value = float(robust.problem.value(robust.decision, found.estimate))
        worth = {style.NO_DATA: value} | worth
    return worth


def draw_values(ax: Axes, worth: dict[str, float], title: str) -> None:
    """Values as dots on one line each.

    The axis spans a twentieth of the values at least, so that what is nearly equal looks so.
    """
    rows = {name: value for name, value in worth.items() if np.isfinite(value)}
    values = list(rows.values())
    middle, largest = (max(values) + min(values)) / 2, max(map(abs, values))
    half = 0.6 * max(max(values) - min(values), LEAST_SPAN * largest) or 1.0
    for at, (name, value) in enumerate(rows.items()):
        ax.axhline(at, color=style.GUIDE, linewidth=0.5)
        look: dict[str, Any] = {"color": style.SHADES[name], "marker": style.MARKS[name]}
        ax.plot(value, at, markersize=8, markeredgewidth=2, **look)
    ax.set_yticks(range(len(rows)), [f"{name}: {value:.5g}" for name, value in rows.items()])
    ax.set(xlim=(middle - half, middle + half), ylim=(len(rows) - 0.5, -0.5))
    ax.locator_params(axis="x", nbins=4)
    ax.ticklabel_format(axis="x", useOffset=False)
    style.panel(ax, title, along="x")
