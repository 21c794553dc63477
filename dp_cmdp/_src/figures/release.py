"""What a release says: intervals within their public bounds, and queries within their ranges."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.frames import entries_frame
from dp_cmdp._src.data.labels import flat_index
from dp_cmdp._src.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Beyond so many entries their names are left out, beyond the next their marks too.
MOST_NAMES, MOST_MARKS = 30, 120
#: Longer names are cut; more characters than this side by side are turned.
LONGEST_NAME, LEVEL_NAMES = 22, 28
#: Queries drawn at most, and entries named of each; panels side by side.
MOST_QUERIES, MOST_ENTRIES, MOST_COLUMNS = 16, 3, 4

Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what a linear query lies, by the release and by its intervals alone.

    In shares of the range that the public bounds allow.
    """

    entries: tuple[int, ...]
    released: tuple[float, float]
    alone: tuple[float, float]


def queries_of(release: Any) -> list[Bounds]:
    """The linear queries of a release; both sides of one that is bounded twice belong together."""
    known, envelope = release.uncertainty, release.envelope
    W, up, down = known.W, known.W.maximum(0), known.W.minimum(0)
    least = up @ envelope.lower + down @ envelope.upper
    width = up @ envelope.upper + down @ envelope.lower - least
    width[width == 0.0] = 1.0
    ends = up @ known.lower + down @ known.upper, up @ known.upper + down @ known.lower
    low, high, bound = (np.clip((end - least) / width, 0.0, 1.0) for end in (*ends, known.q))
    found: dict[Any, Bounds] = {}
    for row, (a, b) in enumerate(pairwise(W.indptr.tolist())):
        entries, weights = tuple(W.indices[a:b].tolist()), W.data[a:b]
        positive = not weights.size or weights[0] > 0.0
        released, alone = (0.0, float(bound[row])), (float(low[row]), float(high[row]))
        if not positive:  # a lower bound of the opposite query
            released, alone = (1.0 - released[1], 1.0), (1.0 - alone[1], 1.0 - alone[0])
        key = entries, tuple((weights if positive else -weights).tolist())
        if key in found:
            own = found[key].released
            released = max(own[0], released[0]), min(own[1], released[1])
        found[key] = Bounds(entries, released, alone)
    return list(found.values())


def release_figure(release: Any) -> Figure:
    """Intervals of every group within their public bounds and, beside them, the linear queries."""
    envelope: Envelope = release.envelope
    names = [each.name for each in envelope.groups]
    queries = queries_of(release)
    sizes = [np.sqrt(2 + envelope._group(name).size) for name in names]
    sizes += [np.sqrt(10)] if queries else []
    columns = min(len(sizes), MOST_COLUMNS)
    rows = -(-len(sizes) // columns)
    options: dict[str, Any] = {"width_ratios": sizes if rows == 1 else None, "squeeze": False}
    size = 4.0 + 2.8 * columns, 0.6 + 3.8 * rows
    figure, axes = style.new_figure(*size, nrows=rows, ncols=columns, **options)
    for name, place in zip(names, axes.flat, strict=False):
        _draw_group(place, release, name)
    if queries:
        place = axes.flat[len(names)]
        draw_queries(place, queries, entry_names(envelope))
        place.set_ylim(max(len(queries[:MOST_QUERIES]), 4) - 0.4, -0.6)
    for place in axes.flat[len(sizes) :]:
        place.set_visible(False)
    style.describe(figure, release)
    style.legend_below(figure, *axes.flat, columns=4)
    return figure


def entry_names(envelope: Envelope) -> list[str]:
    """Labels of all entries; of several groups, with the group before them."""
    frame = entries_frame(envelope, {})
    places = "entry" in frame.columns
    keys = frame[["group", "entry"]].itertuples(index=False) if places else frame.index
    return [shown(tuple(key) if places else key) for key in keys]


def shown(label: Any) -> str:
    """A label in a picture."""
    return ", ".join(map(shown, label)) if isinstance(label, tuple) else str(label)


def _draw_group(ax: Axes, release: Any, name: str) -> None:
    group = release.envelope._group(name)
    inside, size = slice(group.start, group.stop), group.stop - group.start
    names = flat_index(group.labels).tolist() if group.labels else list(range(size))
    thick = float(np.clip(200.0 / max(size, 1), 0.8, 6.0))
    released, public = ((of.lower[inside], of.upper[inside]) for of in (release, release.envelope))
    draw_intervals(ax, released, public, thick=thick)
    if size <= MOST_MARKS:
        options: dict[str, Any] = {"color": "black", "markersize": thick + 3, "label": "estimate"}
        ax.plot(np.arange(size), release.estimate[inside], "_", **options)
    ax.set_ylabel("value")
    ax.set_title(plain(f"{name}: {size}"), fontsize=10, loc="left")
    name_places(ax, names)


def draw_intervals(ax: Axes, released: Ends, public: Ends, *, thick: float) -> None:
    """Released intervals over public bounds; those that are as wide say nothing and are pale."""
    (low, high), place = released, np.arange(len(released[0]))
    ax.vlines(place, *public, color=style.PUBLIC, linewidth=1.8 * thick, label="public bounds")
    silent = (low <= public[0]) & (high >= public[1])
    for pick, shade, label in (
        (silent, style.GUIDE, "says no more than that"),
        (~silent, style.ENTRIES, "released interval"),
    ):
        if pick.any():
            ends = low[pick], high[pick]
            ax.vlines(place[pick], *ends, color=shade, linewidth=thick, label=label)


def draw_queries(
    ax: Axes, queries: list[Bounds], names: list[str], *, most: int = MOST_QUERIES
) -> None:
    """Between which shares of its public range the value of every query certainly lies."""
    drawn = queries[:most]
    place, (low, high) = np.arange(len(drawn)), np.array([query.released for query in drawn]).T
    ax.barh(place, 1.0, 0.8, color=style.PUBLIC, label="public bounds")
    ax.barh(place, high - low, 0.5, left=low, color=style.QUERIES, label="released query")
    ends: Any = {"color": style.ENTRIES, "linewidth": 2, "label": "by intervals alone"}
    told = []
    for at, query in enumerate(drawn):
        if query.alone != (0.0, 1.0):
            ax.vlines(query.alone, at - 0.4, at + 0.4, **ends)
        few = ", ".join(names[k] for k in query.entries[:MOST_ENTRIES])
        many = len(query.entries) > MOST_ENTRIES
        text = f"{at + 1}: {len(query.entries)} entries" if many else f"{at + 1}: {few}"
        told.append(plain(textwrap.fill(text, LONGEST_NAME)))
    ax.set_yticks(place, told)
    ax.set(xlim=(0.0, 1.0), ylim=(len(drawn) - 0.4, -0.6))
    ax.set_xlabel("share of the public range", fontsize=8)
    rest = f" ({len(queries) - most} not shown)" if len(queries) > most else ""
    style.panel(ax, f"released linear queries: {len(queries)}{rest}", along="x")


def name_places(ax: Axes, labels: Sequence[Any]) -> None:
    """The labels below the axis, if they can be read; what numbers there mean."""
    count, texts = len(labels), [shown(label) for label in labels[: MOST_NAMES + 1]]
    ax.set_xlim(-0.7, count - 0.3)
    ax.grid(visible=False, axis="x")
    if texts == ["0"]:
        ax.set_xticks([])
        return
    if count > MOST_NAMES or texts == [str(k) for k in range(count)]:
        ax.set_xlabel("position")
    if count > MOST_NAMES:
        return
    cut = [t if len(t) <= LONGEST_NAME else t[: LONGEST_NAME - 1] + "…" for t in texts]
    ax.set_xticks(range(count), [plain(t) for t in cut], fontsize=8)
    longest = max(map(len, cut), default=0)
    if longest > 2 and longest * count > LEVEL_NAMES:
        ax.tick_params(axis="x", rotation=90)


def plain(text: str) -> str:
    """A text of somebody else's: $ begins no formula."""
    return text.replace("$", r"\$")
