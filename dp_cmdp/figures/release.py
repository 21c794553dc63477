"""What a release says: intervals within their public bounds, totals against what they could be."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.data.to_frame import ENTRIES, TOTALS, entries_frame, shown, totals_frame
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.style import COLOURS, PUBLIC, legend_below, new_figure, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.data.release import Release

#: Beyond so many entries or totals their names are left out, beyond the next their marks too.
MOST_NAMES, MOST_MARKS = 30, 120
#: Longer names are cut; more characters than this side by side are turned.
LONGEST_NAME, LEVEL_NAMES = 22, 28
#: So few long names are folded into lines.
MOST_FOLDED = 3
#: Intervals that say no more than their public bounds.
SATURATED = "#9ca3af"


@door
def release_figure(
    release: Release, *, table: str | None = None, group: str | None = None, ax: Axes | None = None
) -> Figure:
    """Intervals of each group within their public bounds and, beside them, bounds on totals.

    Parameters
    ----------
    release : Release
    table : {"entries", "totals"}, optional
        One kind of fact; by default both, if the release has totals.
    group : str, optional
        Entries of this group only.
    ax : matplotlib Axes, optional
        Where to draw one group, or the totals; a new figure otherwise.

    Notes
    -----
    An interval as wide as its public bounds says nothing (*saturated*) and is drawn pale.
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
    >>> from dp_cmdp.figures import release_figure
    >>> envelope = Envelope(0.0, 1.0, radius=0.02, labels=["a", "b", "c"])
    >>> release = release_database(
    ...     Database([0.2, 0.5, 0.9], envelope),
    ...     PrivacyBudget(2, "1/1000"),
    ...     rng=np.random.default_rng(0),  # a simulation: leave it out for exact noise
    ... )
    >>> figure = release_figure(release)
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['a', 'b', 'c']
    """
    parts = _parts(release, table, group)
    if ax is not None:
        if len(parts) > 1:
            raise InvalidArgumentError(
                f"ax has room for one part; choose a group ({_names(release)}) or table='totals'"
            )
        figure, ax = on_axes(ax)
        _draw(release, parts[0], ax)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.08), ncols=2, fontsize=8, frameon=False)
        return figure
    sizes = [np.sqrt(2 + _count(release, part)) for part in parts]
    figure, axes = new_figure(
        4.0 + 2.8 * len(parts), 4.2, ncols=len(parts), squeeze=False, width_ratios=sizes
    )
    for part, place in zip(parts, axes.flat, strict=True):
        _draw(release, part, place)
    legend_below(figure, *axes.flat, columns=5)
    return figure


def _parts(release: Release, table: str | None, group: str | None) -> list[str | None]:
    """What is drawn: names of groups, and None for the totals."""
    if table is not None:
        _check.one_of("table", table, (ENTRIES, TOTALS))
    if table == TOTALS:
        if release.totals is None or group is not None:
            raise InvalidArgumentError(
                "group must be None for totals, which weigh entries of all of them"
                if group is not None
                else "table must be 'entries': the release has no totals"
            )
        return [None]
    names = tuple(name for name, _ in release.groups)
    if group is not None:
        return [_check.one_of("group", group, names)]
    return [*names, None] if table is None and release.totals is not None else [*names]


def _names(release: Release) -> str:
    return ", ".join(name for name, _ in release.groups)


def _count(release: Release, part: str | None) -> int:
    return len(release.totals or ()) if part is None else release.group(part)["lower"].size


def _draw(release: Release, part: str | None, ax: Axes) -> None:
    if part is None:
        _draw_totals(release, ax)
    else:
        _draw_entries(release, part, ax)


def _draw_entries(release: Release, group: str, ax: Axes) -> None:
    frame = entries_frame(release, group)
    place = np.arange(len(frame))
    thick = float(np.clip(200.0 / len(frame), 0.8, 6.0))
    if "public_lower" in frame:
        low, high = frame["public_lower"], frame["public_upper"]
        ax.vlines(place, low, high, color=PUBLIC, linewidth=1.8 * thick, label="public bounds")
    lower, upper = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    told = np.isfinite(lower) & np.isfinite(upper)
    if "saturated" in frame:
        silent = frame["saturated"].to_numpy()
        _intervals(ax, place, lower, upper, told & silent, thick, SATURATED, "says nothing")
        told &= ~silent
    _intervals(ax, place, lower, upper, told, thick, COLOURS["database"], "released interval")
    if len(frame) <= MOST_MARKS:
        ax.plot(
            place, frame["estimate"], "_", color="black", markersize=thick + 3, label="estimate"
        )
    ax.set_ylabel("value")
    ax.set_title(f"{group}: {len(frame)}", fontsize=10, loc="left")
    name_places(ax, frame.get("entry", frame.index), len(frame))


def _intervals(
    ax: Axes, place: Any, lower: Any, upper: Any, pick: Any, thick: float, shade: str, label: str
) -> None:
    if pick.any():
        ends = lower[pick], upper[pick]
        ax.vlines(place[pick], *ends, color=shade, linewidth=thick, label=label)


def _draw_totals(release: Release, ax: Axes) -> None:
    frame = totals_frame(release)
    place = np.arange(len(frame))
    ax.bar(place, frame["public_bound"], 0.8, color=PUBLIC, label="public bounds")
    ax.bar(place, frame["bound"], 0.5, color=COLOURS["totals"], label="released bound")
    ends = place - 0.4, place + 0.4
    colour = COLOURS["database"]
    ax.hlines(frame["interval_bound"], *ends, color=colour, label="intervals alone")
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set_ylabel("largest possible total")
    ax.set_title(f"totals: {len(frame)}", fontsize=10, loc="left")
    name_places(ax, [f"{k}: {text}" for k, text in enumerate(frame["weighs"])], len(frame))
    if len(frame) <= MOST_NAMES:
        ax.set_xlabel("total: entries it weighs", fontsize=8)


def name_places(ax: Axes, names: Any, count: int) -> None:
    """The labels below the axis, if they can be read; what numbers there mean."""
    ax.set_xlim(-0.7, count - 0.3)
    ax.grid(visible=False, axis="x")
    if count > MOST_NAMES:
        ax.set_xlabel("position")
        return
    texts = [shown(name) for name in names]
    if texts == [str(k) for k in range(count)]:
        ax.set_xlabel("position")
    if count <= MOST_FOLDED and max(map(len, texts)) > LONGEST_NAME:
        cut = [textwrap.fill(textwrap.shorten(t, 60, placeholder=" …"), 15) for t in texts]
        ax.set_xticks(range(count), [t.replace("$", r"\$") for t in cut], fontsize=8)
        return
    cut = [t if len(t) <= LONGEST_NAME else t[: LONGEST_NAME - 1] + "…" for t in texts]
    ax.set_xticks(range(count), [t.replace("$", r"\$") for t in cut], fontsize=8)
    if max(map(len, cut)) > 2 and max(map(len, cut)) * count > LEVEL_NAMES:
        ax.tick_params(axis="x", rotation=90)
