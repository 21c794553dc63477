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
from dp_cmdp._src.data.labels import flat_index
from dp_cmdp._src.figures.style import (
    ENTRIES,
    GUIDE,
    PUBLIC,
    QUERIES,
    describe,
    legend_below,
    new_figure,
    panel,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Beyond so many entries their names are left out, beyond the next their marks too.
MOST_NAMES, MOST_MARKS = 30, 120
#: Longer names are cut; more characters than this side by side are turned.
LONGEST_NAME, LEVEL_NAMES = 22, 28
#: So few long names are folded into lines.
MOST_FOLDED = 3
#: Queries drawn at most; panels side by side.
MOST_QUERIES, MOST_COLUMNS = 16, 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of Σ w θ: by the release, by its intervals alone, by the envelope."""

    entries: tuple[int, ...]
    released: tuple[float, float]
    alone: tuple[float, float]
    public: tuple[float, float]

    def shares(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Two numbers as shares of the public range."""
        low, high = self.public
        width = (high - low) or 1.0
        first, last = ((min(max(end, low), high) - low) / width for end in ends)
        return first, last


def queries_of(release: Any) -> list[Bounds]:
    """The linear queries of a release; both sides of one that is bounded twice belong together."""
    known, envelope = release.uncertainty, release.envelope
    W = known.W
    found: dict[Any, list[float]] = {}
    for row, (a, b) in enumerate(pairwise(W.indptr.tolist())):
        entries, weights = W.indices[a:b].tolist(), W.data[a:b]
        sign = float(np.sign(weights[0])) if weights.size else 1.0
        key = tuple(entries), tuple((sign * weights).tolist())
        ends = found.setdefault(key, [-np.inf, np.inf])
        side = int(sign > 0)
        ends[side] = (max, min)[side](ends[side], sign * float(known.q[row]))
    return [
        Bounds(
            entries,
            (ends[0], ends[1]),
            _range(entries, weights, known.lower, known.upper),
            _range(entries, weights, envelope.lower, envelope.upper),
        )
        for (entries, weights), ends in found.items()
    ]


def _range(
    entries: Sequence[int], weights: Sequence[float], lower: FloatArray, upper: FloatArray
) -> tuple[float, float]:
    one, other = np.array(weights) * lower[list(entries)], np.array(weights) * upper[list(entries)]
    return float(np.minimum(one, other).sum()), float(np.maximum(one, other).sum())


def release_figure(release: Any) -> Figure:
    """Intervals of every group within their public bounds and, beside them, the linear queries."""
    envelope: Envelope = release.envelope
    names = [each.name for each in envelope.groups]
    queries = queries_of(release)
    sizes = [np.sqrt(2 + envelope.group(name).size) for name in names]
    sizes += [np.sqrt(10)] if queries else []
    columns = min(len(sizes), MOST_COLUMNS)
    rows = -(-len(sizes) // columns)
    ratios = sizes if rows == 1 else [1.0] * columns
    size = 4.0 + 2.8 * columns, 0.6 + 3.8 * rows
    figure, axes = new_figure(*size, nrows=rows, ncols=columns, squeeze=False, width_ratios=ratios)
    for name, place in zip(names, axes.flat, strict=False):
        _draw_group(place, release, name)
    if queries:
        place = axes.flat[len(names)]
        draw_queries(place, queries, entry_names(envelope))
        place.set_ylim(max(len(queries[:MOST_QUERIES]), 4) - 0.4, -0.6)
    for place in axes.flat[len(sizes) :]:
        place.set_visible(False)
    describe(figure, release)
    legend_below(figure, *axes.flat, columns=4)
    return figure


def entry_names(envelope: Envelope) -> list[str]:
    """Labels of all entries; of several groups, with the group before them."""
    found = []
    for group in envelope.groups:
        size = int(np.prod(group.shape))
        own = flat_index(group.labels).tolist() if group.labels else range(size)
        lone = not group.labels and size == 1
        words = ["" if lone else shown(label) for label in own]
        several = len(envelope.groups) > 1 or lone
        found += [" ".join(filter(None, (group.name if several else "", word))) for word in words]
    return found


def shown(label: Any) -> str:
    """A label in a picture."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _draw_group(ax: Axes, release: Any, name: str) -> None:
    group = release.envelope.group(name)
    inside, size = slice(group.start, group.stop), group.stop - group.start
    names = flat_index(group.labels).tolist() if group.labels else list(range(size))
    thick = float(np.clip(200.0 / max(size, 1), 0.8, 6.0))
    draw_intervals(
        ax,
        (release.lower[inside], release.upper[inside]),
        (release.envelope.lower[inside], release.envelope.upper[inside]),
        thick=thick,
    )
    if size <= MOST_MARKS:
        look: dict[str, Any] = {"color": "black", "markersize": thick + 3, "label": "estimate"}
        ax.plot(np.arange(size), release.estimate[inside], "_", **look)
    ax.set_ylabel("value")
    ax.set_title(f"{name}: {size}", fontsize=10, loc="left")
    name_places(ax, names)


def draw_intervals(
    ax: Axes,
    released: tuple[FloatArray, FloatArray],
    public: tuple[FloatArray, FloatArray],
    *,
    thick: float,
) -> None:
    """Released intervals over public bounds; those that are as wide say nothing and are pale."""
    (low, high), place = released, np.arange(len(released[0]))
    ax.vlines(place, *public, color=PUBLIC, linewidth=1.8 * thick, label="public bounds")
    silent = (low <= public[0]) & (high >= public[1])
    for pick, shade, label in (
        (silent, GUIDE, "says no more than that"),
        (~silent, ENTRIES, "released interval"),
    ):
        if pick.any():
            ends = low[pick], high[pick]
            ax.vlines(place[pick], *ends, color=shade, linewidth=thick, label=label)


def draw_queries(
    ax: Axes, queries: list[Bounds], names: list[str], *, most: int = MOST_QUERIES
) -> None:
    """Between which shares of its public range the value of every query certainly lies."""
    drawn = queries[:most]
    for at, query in enumerate(drawn):
        ax.barh(at, 1.0, 0.8, color=PUBLIC, label="public range of a query" if at == 0 else None)
        low, high = query.shares(query.released)
        label = "released" if at == 0 else None
        ax.barh(at, high - low, 0.5, left=low, color=QUERIES, label=label)
        if query.alone != query.public:
            look: dict[str, Any] = {"color": ENTRIES, "linewidth": 2}
            ax.vlines(query.shares(query.alone), at - 0.4, at + 0.4, **look)
    if any(query.alone != query.public for query in drawn):
        ax.plot([], [], color=ENTRIES, linewidth=2, label="by intervals alone")
    told = []
    for number, query in enumerate(drawn, start=1):
        few = ", ".join(names[k] for k in query.entries[:3])
        more = len(query.entries) - 3
        text = f"{number}: {few}" if more <= 0 else f"{number}: {len(query.entries)} entries"
        told.append(_safe(textwrap.fill(text, LONGEST_NAME)))
    ax.set_yticks(range(len(drawn)), told, fontsize=8)
    ax.set(xlim=(0.0, 1.0), ylim=(len(drawn) - 0.4, -0.6))
    ax.set_xlabel("share of the range that the public bounds allow", fontsize=8)
    rest = len(queries) - len(drawn)
    panel(
        ax, f"linear queries: {len(queries)}" + (f" ({rest} not shown)" if rest else ""), along="x"
    )


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
    longest = max(map(len, texts), default=0)
    if count <= MOST_FOLDED and longest > LONGEST_NAME:
        cut = [textwrap.fill(textwrap.shorten(t, 60, placeholder=" …"), 15) for t in texts]
        longest = 0
    else:
        cut = [t if len(t) <= LONGEST_NAME else t[: LONGEST_NAME - 1] + "…" for t in texts]
    ax.set_xticks(range(count), [_safe(t) for t in cut], fontsize=8)
    if longest > 2 and min(longest, LONGEST_NAME) * count > LEVEL_NAMES:
        ax.tick_params(axis="x", rotation=90)


def _safe(text: str) -> str:
    """A text of somebody else's: $ begins no formula."""
    return text.replace("$", r"\$")
