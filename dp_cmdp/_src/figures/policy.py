"""Policies on their grids, with what was released for them and what is proved about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.figures.grid_map import (
    cell_side,
    draw_map,
    is_numbered,
    map_legend,
    visits_bar,
)
from dp_cmdp._src.figures.proof import MOST_COSTS, draw_costs, draw_values
from dp_cmdp._src.figures.release import draw_intervals, draw_queries, entry_names, queries_of
from dp_cmdp._src.figures.style import (
    CURATOR_ONLY,
    column_beside,
    describe,
    heading,
    new_figure,
    panel,
    small_legend,
)
from dp_cmdp._src.figures.view import Places, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of what is told beside a map, in inches; and what each of its panels needs in height,
#: beside the heights themselves, for title, numbers and legend.
BESIDE, PANEL_HEIGHT = 5.0, 0.95
#: Characters below the axis at most; of more numbers, every second or third and so on is shown.
MOST_CHARACTERS = 60
MOST_QUERIES = 4

Part = tuple[float, Callable[[Any], None]]


def policy_figure(found: PolicyAnswer) -> Figure:
    """The map of a policy where its problem is a grid; what was released, is proved, is earned."""
    places = Places.of(found.problem)
    parts = _parts(found, places)
    heights = [height for height, _ in parts]
    tall = 0.6 + sum(PANEL_HEIGHT + height for height in heights)
    if places is None:
        figure, axes = new_figure(6.4, tall, nrows=len(parts), squeeze=False, height_ratios=heights)
        column = list(axes.flat)
    else:
        figure, column = _beside_map(found, places, heights, tall)
    for part, (_, draw) in zip(column, parts, strict=True):
        draw(part)
    describe(figure, found.release)
    return figure


def _beside_map(
    found: PolicyAnswer, places: Places, heights: list[float], tall: float
) -> tuple[Figure, list[Axes]]:
    """A figure with the map, and axes for everything else beside it."""
    cell, (rows, cols) = cell_side(places), places.shape
    size = max(cell * cols + 1.6, 3.4), max(tall, cell * rows + 2.2)
    figure, main, column = column_beside(*size, beside=BESIDE, heights=heights)
    view, shares = View.of(places, found.policy), _worst(found, places)
    image = draw_map(main, view, title="policy", shares=shares)
    visits_bar(figure, image, main)
    handles = map_legend(view, shares=shares is not None)
    _legend(figure, handles)
    return figure, column


def _legend(figure: Figure, handles: list[Any]) -> None:
    columns = max(2, int(figure.get_figwidth() / 3.4))
    figure.legend(
        handles=handles, ncols=columns, loc="outside lower left", fontsize=8, frameon=False
    )


def _worst(found: PolicyAnswer, places: Places) -> Any:
    """What candidates may cost at worst; None where the release says nothing of single ones."""
    return places.shares(found.known.lower, found.known.upper) if _tells(found, places) else None


def _tells(found: PolicyAnswer, places: Places | None) -> bool:
    """Whether the release says more of some candidate than its public bounds."""
    if places is None or found.release is None:
        return False
    known, envelope = found.release.uncertainty, found.release.envelope
    tighter = (known.lower > envelope.lower) | (known.upper < envelope.upper)
    return any(tighter[kind.price.entry].any() for kind in places.kinds)


def _parts(found: PolicyAnswer, places: Places | None) -> list[Part]:
    """What is told beside the map: heights, and what draws on given axes."""
    parts: list[Part] = []
    if found.release is not None:
        names = entry_names(found.release.envelope)
        if places is not None and _tells(found, places):
            parts.append((1.5, lambda ax: _draw_candidates(ax, found, places)))
        if queries := queries_of(found.release):
            count = min(len(queries), MOST_QUERIES)
            parts.append((0.2 + 0.25 * count, lambda ax: _draw_few_queries(ax, queries, names)))
    if found.problem.names:
        height = 0.3 + 0.3 * min(len(found.problem.names), MOST_COSTS)
        parts.append((height, lambda ax: draw_costs(ax, found)))
    return [*parts, (0.65, lambda ax: draw_values(ax, found))]


def _draw_few_queries(ax: Axes, queries: Any, names: list[str]) -> None:
    draw_queries(ax, queries, names, most=MOST_QUERIES)
    ax.set_title(f"released: {ax.get_title(loc='left')}", loc="left", fontsize=9)
    small_legend(ax)


def _draw_candidates(ax: Axes, found: PolicyAnswer, places: Places) -> None:
    """The interval of every candidate's cost within its public bounds, by its number."""
    known, envelope = found.known, found.problem.envelope
    numbers = places.numbers()
    released = [kind.interval(known.lower, known.upper) for kind in places.kinds]
    public = [kind.interval(envelope.lower, envelope.upper) for kind in places.kinds]
    low, high, least, most = (
        np.concatenate([ends[side] for ends in both])
        for both in (released, public)
        for side in (0, 1)
    )
    ticks = [str(numbers[cell]) for kind in places.kinds for cell in kind.cells]
    thick = float(np.clip(160.0 / len(ticks), 1.2, 6.0))
    draw_intervals(ax, (low, high), (least, most), thick=thick)
    step = -(-len(ticks) * (1 + max(map(len, ticks))) // MOST_CHARACTERS)
    ax.set_xticks(range(0, len(ticks), step), ticks[::step], fontsize=7)
    ax.set_xlim(-0.8, len(ticks) - 0.2)
    ends = np.cumsum([len(kind.cells) for kind in places.kinds])
    for end in ends[:-1].tolist():
        ax.axvline(end - 0.5, color="#9ca3af", linewidth=0.8)
    counted = "number on the map" if is_numbered(places) else "row by row"
    named = f": {', '.join(kind.name for kind in places.kinds)}" if len(places.kinds) > 1 else ""
    ax.set_xlabel(f"candidate ({counted}{named})", fontsize=8)
    excluded = int((high < most).sum())
    title = f"released: cost of a visit; worst excluded: {excluded} of {len(ticks)}"
    panel(ax, title, along="y")
    small_legend(ax)


def maps_figure(answers: dict[str, PolicyAnswer], truth: Any, title: str) -> Figure:
    """Policies side by side with the true hazards: *curator only*."""
    first = next(iter(answers.values()))
    places = Places.of(first.problem)
    assert places is not None
    views = [View.of(places, found.policy) for found in answers.values()]
    cell, (rows, cols) = cell_side(places), places.shape
    size = len(views) * (max(cell * cols, 2.4) + 0.3) + 1.4, cell * rows + 2.2
    figure, axes = new_figure(*size, ncols=len(views))
    images = []
    for ax, view, (name, found) in zip(axes, views, answers.items(), strict=True):
        text = f"{name}: value {found.problem.value(found.policy, truth):.5g}"
        shares = places.shares(truth, truth)
        images.append(draw_map(ax, view, title=text, shares=shares, true=True))
    hottest = max(images, key=lambda image: image.get_clim()[1])
    for image in images:
        image.set_clim(hottest.get_clim())
    visits_bar(figure, hottest, axes[-1])
    _legend(figure, map_legend(*views, true=True))
    heading(figure, f"{CURATOR_ONLY}. {title}", alarming=True)
    return figure
