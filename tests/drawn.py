"""What is in a figure once it is drawn: its texts, where they lie, and what collides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: Pixels by which boxes may touch: a box of a text is a little larger than its ink.
TOUCH = 2.0


def rendered(figure: Figure) -> Figure:
    """The figure, laid out as it is when saved."""
    FigureCanvasAgg(figure).draw()
    return figure


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text that is seen, with its box in pixels; ticks beyond the ends of an axis are not."""
    return [
        (part.get_text(), part.get_window_extent())
        for part in figure.findobj(Text)
        if isinstance(part, Text) and part.get_visible() and part.get_text().strip()
        if part not in _hidden(figure)
    ]


def _hidden(figure: Figure) -> set[Text]:
    found: set[Text] = set()
    for ax in _axes(figure):
        for axis in (ax.xaxis, ax.yaxis):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            shown = axis.get_ticklabels(which="both") if ax.get_visible() and ax.axison else []
            low, high = sorted(axis.get_view_interval())
            for tick in ticks:
                inside = low - 1e-9 <= tick.get_loc() <= high + 1e-9
                if not inside or tick.label1 not in shown:
                    found |= {tick.label1, tick.label2}
    return found


def _axes(figure: Figure) -> Iterator[Any]:
    for ax in figure.axes:
        yield ax
        yield from ax.child_axes


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes overlap."""
    found = texts(rendered(figure))
    return [
        (one, other)
        for (one, a), (other, b) in combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]


def cut_off(figure: Figure) -> list[str]:
    """Texts that leave the figure."""
    rendered(figure)
    whole = figure.bbox
    return [
        text
        for text, box in texts(figure)
        if box.x0 < whole.x0 - TOUCH or box.x1 > whole.x1 + TOUCH
        or box.y0 < whole.y0 - TOUCH or box.y1 > whole.y1 + TOUCH
    ]  # fmt: skip


def legend_labels(figure: Figure) -> list[str]:
    """Entries of all legends, those of panels too."""
    return [t.get_text() for part in figure.findobj(Legend) for t in part.get_texts()]


def covered_axes(figure: Figure) -> list[str]:
    """Titles of panels that a legend lies on."""
    rendered(figure)
    return [
        ax.get_title(loc="left")
        for part in figure.findobj(Legend)
        for ax in figure.axes
        if ax.get_visible() and part.get_window_extent().overlaps(ax.get_window_extent())
    ]


def span(*axes: Axes) -> Any:
    """((left, bottom), (right, top)) of all points on lines, as shares of their axes."""
    points = [
        ax.transAxes.inverted().transform(line.get_transform().transform(line.get_xydata()))
        for ax in axes
        for line in ax.lines
        if np.size(line.get_xydata()) and line.get_transform().contains_branch(ax.transData)
    ]
    together = np.vstack(points)
    return np.nanmin(together, axis=0), np.nanmax(together, axis=0)
