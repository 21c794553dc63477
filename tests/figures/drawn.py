"""What is in a figure once it is drawn: its texts, where they lie, and what collides."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: Pixels by which boxes may touch: a box of a text is a little larger than its ink.
TOUCH = 2.0


def texts(figure: Figure) -> list[str]:
    """Every text of a figure, in one line each."""
    found = [part.get_text() for part in figure.findobj(Text)]  # type: ignore[attr-defined]
    return [" ".join(text.split()) for text in found if text.strip()]


def titles(figure: Figure) -> list[str]:
    """Titles of the panels."""
    return [" ".join(ax.get_title(loc="left").split()) for ax in figure.axes]


def legend_labels(figure: Figure) -> list[str]:
    """Entries of all legends."""
    found: Any = figure.findobj(Legend)
    return [text.get_text() for part in found for text in part.get_texts()]


def check_texts(figure: Figure) -> None:
    """No text lies on another or leaves the figure."""
    FigureCanvasAgg(figure).draw()
    found, whole = _boxes(figure), figure.bbox
    overlaps = [
        (one, other)
        for (one, a), (other, b) in combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]
    cut = [
        text
        for text, box in found
        if box.x0 < whole.x0 - TOUCH or box.x1 > whole.x1 + TOUCH
        or box.y0 < whole.y0 - TOUCH or box.y1 > whole.y1 + TOUCH
    ]  # fmt: skip
    assert overlaps == []
    assert cut == []


def _boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Texts that are seen, with their boxes in pixels; ticks beyond the ends of an axis are not."""
    hidden = _hidden(figure)
    parts: Any = figure.findobj(Text)
    return [
        (part.get_text(), part.get_window_extent())
        for part in parts
        if part.get_visible() and part.get_text().strip() and part not in hidden
    ]


def _hidden(figure: Figure) -> set[Text]:
    found: set[Text] = set()
    for ax in [part for main in figure.axes for part in (main, *main.child_axes)]:
        for axis in (ax.xaxis, ax.yaxis):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            shown = axis.get_ticklabels(which="both") if ax.get_visible() and ax.axison else []
            low, high = sorted(axis.get_view_interval())
            for tick in ticks:
                inside = low - 1e-9 <= tick.get_loc() <= high + 1e-9
                if not inside or tick.label1 not in shown:
                    found |= {tick.label1, tick.label2}
    return found
