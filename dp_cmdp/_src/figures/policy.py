"""Policies on their grids, with what was released for them and what is proved about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.figures import grid_map, proof, release, style
from dp_cmdp._src.figures.view import Places, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of the panels beside a map, in inches; and what each needs in height, beside the heights
#: themselves, for title and numbers.
BESIDE, PANEL_HEIGHT = 5.0, 0.85
#: Characters below the axis at most; of more numbers, every second or third and so on is shown.
MOST_CHARACTERS = 60
MOST_QUERIES = 4

Part = tuple[float, Callable[[Any], None]]


def policy_figure(found: PolicyAnswer) -> Figure:
    """The map of a policy where its problem is a grid; what was released, is proved, is earned."""
    places = Places.of(found.problem)
    shares = _worst(found, places)
    parts = _parts(found, places, shares)
    heights = [height for height, _ in parts]
    handles: list[Any] = []
    if places is None:
        tall = 0.8 + sum(PANEL_HEIGHT + height for height in heights)
        look: dict[str, Any] = {"squeeze": False, "height_ratios": heights}
        figure, axes = style.new_figure(6.4, tall, nrows=len(parts), **look)
        column = list(axes.flat)
    else:
        cell, (rows, cols) = grid_map.cell_side(places), places.shape
        tall = 1.3 + max(sum(PANEL_HEIGHT + height for height in heights), cell * rows + 0.5)
        wide = max(cell * cols + 1.6, 3.4)
        figure, main, column = style.column_beside(wide, tall, beside=BESIDE, heights=heights)
        view = View.of(places, found.policy)
        image = grid_map.draw_map(main, view, title="policy", shares=shares)
        grid_map.visits_bar(figure, image, main)
        handles = grid_map.map_legend(view, shares=shares is not None)
    for ax, (_, draw) in zip(column, parts, strict=True):
        draw(ax)
    _explain(figure, *column, handles=handles)
    style.describe(figure, found.release)
    return figure


def _explain(figure: Figure, *axes: Axes, handles: list[Any]) -> None:
    columns = max(2, int(figure.get_figwidth() / 3.4))
    style.legend_below(figure, *axes, handles=handles, columns=columns)


def _worst(found: PolicyAnswer, places: Places | None) -> FloatArray | None:
    """What candidates may cost at worst; None where the release says nothing of single ones."""
    if places is None or found.release is None:
        return None
    known, envelope = found.release.uncertainty, found.release.envelope
    tighter = (known.lower > envelope.lower) | (known.upper < envelope.upper)
    told = any(tighter[kind.price.entry].any() for kind in places.kinds)
    return places.shares(known.lower, known.upper) if told else None


def _parts(found: PolicyAnswer, places: Places | None, shares: FloatArray | None) -> list[Part]:
    """The panels beside the map: heights, and what draws on given axes."""
    parts: list[Part] = []
    if places is not None and shares is not None:
        parts.append((1.5, partial(_draw_candidates, found=found, places=places)))
    queries = [] if found.release is None else release.queries_of(found.release)
    if queries:
        names, count = release.entry_names(found.problem.envelope), min(len(queries), MOST_QUERIES)
        draw = partial(release.draw_queries, queries=queries, names=names, most=count)
        parts.append((0.2 + 0.25 * count, draw))
    if found.problem.names:
        height = 0.3 + 0.3 * min(len(found.problem.names), proof.MOST_COSTS)
        parts.append((height, partial(proof.draw_costs, found=found)))
    title = "value (discounted reward) at the estimate"
    draw = partial(proof.draw_values, worth=proof.values_of(found), title=title)
    return [*parts, (0.65, draw)]


def _draw_candidates(ax: Axes, found: PolicyAnswer, places: Places) -> None:
    """The interval of every candidate's cost within its public bounds, by its number."""
    low, high, least, most = (
        np.concatenate([kind.interval(known.lower, known.upper)[side] for kind in places.kinds])
        for known in (found.known, found.problem.envelope)
        for side in (0, 1)
    )
    numbers, kinds = places.candidates, places.kinds
    ticks = [str(numbers[cell]) for kind in kinds for cell in kind.cells]
    thick = float(np.clip(160.0 / len(ticks), 1.2, 6.0))
    release.draw_intervals(ax, (low, high), (least, most), thick=thick)
    step = -(-len(ticks) * (1 + max(map(len, ticks))) // MOST_CHARACTERS)
    ax.set_xticks(range(0, len(ticks), step), ticks[::step])
    ax.set_xlim(-0.8, len(ticks) - 0.2)
    for end in np.cumsum([len(kind.cells) for kind in kinds])[:-1].tolist():
        ax.axvline(end - 0.5, color=style.GUIDE, linewidth=0.8)
    counted = "number on the map" if grid_map.is_numbered(places) else "row by row"
    named = f": {', '.join(kind.name for kind in kinds)}" if len(kinds) > 1 else ""
    ax.set_xlabel(f"candidate ({counted}{named})", fontsize=8)
    excluded = int((high < most).sum())
    title = f"released: cost of a visit; worst excluded: {excluded} of {len(ticks)}"
    style.panel(ax, title, along="y")


def maps_figure(
    answers: dict[str, PolicyAnswer], places: Places, truth: FloatArray, worth: dict[str, float]
) -> Figure:
    """Policies side by side with the true hazards: *curator only*."""
    views = [View.of(places, found.policy) for found in answers.values()]
    cell, (rows, cols) = grid_map.cell_side(places), places.shape
    size = len(views) * (max(cell * cols, 2.4) + 0.3) + 1.4, cell * rows + 2.2
    figure, axes = style.new_figure(*size, ncols=len(views))
    shares, images = places.shares(truth, truth), []
    for ax, view, name in zip(axes, views, answers, strict=True):
        title = f"{name}: value {worth[name]:.5g}"
        images.append(grid_map.draw_map(ax, view, title=title, shares=shares, true=True))
    hottest = max(images, key=lambda image: image.get_clim()[1])
    for image in images:
        image.set_clim(hottest.get_clim())
    grid_map.visits_bar(figure, hottest, axes[-1])
    _explain(figure, handles=grid_map.map_legend(*views, true=True))
    return figure
