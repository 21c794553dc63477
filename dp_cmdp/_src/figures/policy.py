"""Policies on their grids, with what was released for them and what is proved about them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.episode import EpisodeChain
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.figures import grid_map, release, style
from dp_cmdp._src.figures.view import Places, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Constraints drawn at most: those with the least room.
MOST_COSTS = 12
#: The chance that an episode goes on, of the last step that is drawn.
LIKELY = 0.05
#: Steps of which maps are drawn, of a policy that knows the time.
SHOWN = 4
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
    """Values as dots on one line each, on an axis that has 0: what is nearly equal looks so."""
    rows = {name: value for name, value in worth.items() if np.isfinite(value)}
    low, high = min(0.0, *rows.values()), max(0.0, *rows.values())
    aside = 0.05 * (high - low) or 1.0
    ax.axvline(0.0, color=style.GUIDE, linewidth=0.8)
    for at, (name, value) in enumerate(rows.items()):
        ax.axhline(at, color=style.GUIDE, linewidth=0.5)
        options: dict[str, Any] = {"color": style.SHADES[name], "marker": style.MARKS[name]}
        ax.plot(value, at, markersize=8, markeredgewidth=2, **options)
    ax.set_yticks(range(len(rows)), [f"{name}: {value:.5g}" for name, value in rows.items()])
    ax.set(xlim=(low - aside, high + aside), ylim=(len(rows) - 0.5, -0.5))
    ax.locator_params(axis="x", nbins=4)
    ax.ticklabel_format(axis="x", useOffset=False)
    style.panel(ax, title, along="x")


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
        options: dict[str, Any] = {"squeeze": False, "height_ratios": heights}
        figure, axes = style.new_figure(6.4, tall, nrows=len(parts), **options)
        column = list(axes.flat)
    else:
        cell, (rows, cols) = grid_map.cell_side(places), places.shape
        views = _views(places, found.policy)
        side = 1 if len(views) == 1 else 2
        high = sum(PANEL_HEIGHT + height for height in heights)
        tall = 1.3 + max(high, side * (cell * rows + 0.5))
        heights.append(max(tall - 1.3 - high, 0.01))  # panels of few lines are not stretched
        wide = side * max(cell * cols + 1.6, 3.4)
        figure, main, column = style.column_beside(wide, tall, beside=BESIDE, heights=heights)
        word = found.problem.criterion.word
        visits = "discounted visits" if word == "discounted" else f"visits {word}"
        for ax, (title, view) in zip(_split(figure, main, side), views.items(), strict=False):
            image = grid_map.draw_map(ax, view, title=title, shares=shares)
            label = visits if side == 1 else "probability of being there"
            grid_map.visits_bar(figure, image, ax, label)
        handles = grid_map.map_legend(*views.values(), shares=shares is not None)
        column.pop().set_visible(False)
    for ax, (_, draw) in zip(column, parts, strict=True):
        draw(ax)
    _explain(figure, *column, handles=handles)
    style.describe(figure, found.release)
    return figure


def _views(places: Places, policy: Policy) -> dict[str, View]:
    """The map of a policy, or, if it knows the time, those of :data:`SHOWN` steps by title."""
    if policy.horizon is None:
        return {"policy": View.of(places, policy)}
    steps = np.unique(np.linspace(0, _last_step(places, policy), SHOWN).astype(int)).tolist()
    return {f"step {t} of {policy.horizon}": View.of(places, policy, t) for t in steps}


def _last_step(places: Places, policy: Policy) -> int:
    """The last step at which an episode probably goes on."""
    over = np.isin(places.cells, [*places.goals, *places.walls])
    chain = EpisodeChain(places.mdp, policy)
    going = [visits[: over.size][~over].sum() >= LIKELY for visits in chain.visits()]
    return int(np.flatnonzero(going).max(initial=0))


def _split(figure: Figure, main: Axes, side: int) -> list[Axes]:
    """Axes in rows of `side`, in place of one."""
    place = main.get_subplotspec()
    if side == 1 or place is None:
        return [main]
    main.remove()
    inner = place.subgridspec(side, side)
    axes = [figure.add_subplot(inner[k]) for k in range(side * side)]
    for ax in axes:
        ax.set_axis_off()
    return axes


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
        height = 0.3 + 0.3 * min(len(found.problem.names), MOST_COSTS)
        parts.append((height, partial(draw_costs, found=found)))
    word = found.problem.criterion.word
    title = f"value ({'discounted reward' if word == 'discounted' else f'reward {word}'})"
    title += " at the estimate"
    draw = partial(draw_values, worth=values_of(found), title=title)
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
