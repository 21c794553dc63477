"""A grid as SVG: cells, what was released about them, where a policy goes and what it does.

What is drawn where is that of the figures (:class:`dp_cmdp.figures.Places` and ``View``); here is
how a page draws it. Everything is marked by shape as well as by colour. One unit of the drawing is
a twentieth of a cell, and a grid of a thousand cells stays a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.figures import Places, View

#: Side of a cell.
CELL = 20
HEAT = ("#f7fbff", "#d9e8f5", "#b7d4ea", "#8fbfe0", "#62a5d3", "#3f8ac2")
WALL, GOAL, START, GRID = "#374151", "#00734d", "#7c2d12", "#d1d5db"
CANDIDATE, PUBLIC, RELEASED, TRUTH = "#c2410c", "#d1d5db", "#00734d", "#111827"
WEIGHED, AGENT, CURSOR = "#4f46e5", "#be185d", "#2563eb"
#: (dx, dy) of left, down, right, up.
TOWARD = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Discounted visits below which a cell counts as never visited, and its arrows are faint.
UNSEEN = 1e-6


def size(places: Places) -> tuple[int, int]:
    """Width and height of the drawing."""
    return places.shape[1] * CELL, places.shape[0] * CELL


def corner(places: Places, cell: int) -> tuple[int, int]:
    """x and y of the upper left corner of a cell."""
    row, col = divmod(cell, places.shape[1])
    return col * CELL, row * CELL


def cell_at(places: Places, x: float, y: float) -> int:
    """The cell at a point of the drawing; points on the edge belong to the nearest."""
    col = min(max(int(x // CELL), 0), places.shape[1] - 1)
    row = min(max(int(y // CELL), 0), places.shape[0] - 1)
    return row * places.shape[1] + col


def data_map(places: Places, *, release: dp.Release | None = None, truth: Any = None) -> str:
    """Candidates, with the released interval of each as a bar within its public bounds.

    `truth` is an invented database, drawn as diamonds; never given for a real one.
    """
    parts = [_paper(places), _walls(places), *_candidates(places)]
    for number, kind in enumerate(places.kinds):
        public = kind.price.envelope
        low, high = kind.interval(public.lower, public.upper)
        lower, upper = (low, high) if release is None else kind.interval(
            release.lower, release.upper
        )  # fmt: skip
        for at, cell in enumerate(kind.cells):
            bounds = float(low[at]), float(high[at])
            parts.append(_bar(places, cell, number, bounds, bounds, PUBLIC))
            if release is not None:
                ends = float(lower[at]), float(upper[at])
                parts.append(_bar(places, cell, number, ends, bounds, RELEASED, inner=True))
        if truth is not None:
            level = kind.interval(truth, truth)[0]
            parts += _truths(places, number, level, low, high)
    return "".join([*parts, *_letters(places), _lines(places)])


def marks(places: Places, *, weights: Mapping[int, float], cursor: int) -> str:
    """What moves above a data map, so that the map itself need not be drawn again.

    The cells of a released query are framed, the thicker the heavier their weight; `cursor` is
    where the keyboard is.
    """
    x, y = corner(places, cursor)
    here = _rect(x + 1, y + 1, CELL - 2, CELL - 2, f'fill="none" stroke="{CURSOR}"', 2.5)
    return "".join([*_frames(places, weights), here])


def policy_map(view: View) -> str:
    """Visits as heat and actions as arrows through the middle of each cell."""
    places = view.places
    parts = [_paper(places), *_heat(view), _walls(places), *_candidates(places), *_arrows(view)]
    return "".join([*parts, *_letters(places), _lines(places)])


def agent(places: Places, path: Sequence[int], step: int) -> str:
    """The agent after some steps of an episode, with the way it came."""
    walked = path[: step + 1]
    middles = [tuple(z + CELL / 2 for z in corner(places, cell)) for cell in walked]
    x, y = middles[-1]
    line = " ".join(f"{a:g},{b:g}" for a, b in middles)
    return (
        f'<polyline points="{line}" fill="none" stroke="{AGENT}" stroke-width="2.5" '
        f'stroke-opacity="0.6" stroke-linejoin="round"/>'
        f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{AGENT}" stroke="white" stroke-width="2"/>'
    )


def _paper(places: Places) -> str:
    return _rect(0, 0, *size(places), 'fill="white"')


def _lines(places: Places) -> str:
    width, height = size(places)
    down = "".join(f"M{x} 0V{height}" for x in range(0, width + 1, CELL))
    across = "".join(f"M0 {y}H{width}" for y in range(0, height + 1, CELL))
    return f'<path d="{down}{across}" stroke="{GRID}" stroke-width="0.6" fill="none"/>'


def _walls(places: Places) -> str:
    return _squares(places, places.walls, f'fill="{WALL}"')


def _squares(places: Places, cells: Iterable[int], style: str) -> str:
    corners = (corner(places, cell) for cell in cells)
    drawn = "".join(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z" for x, y in corners)
    return f'<path d="{drawn}" {style}/>' if drawn else ""


def _candidates(places: Places) -> list[str]:
    """A dashed frame and a corner: public, where a hazard may be."""
    corners = [corner(places, cell) for cell in places.candidates]
    frames = "".join(f"M{x + 1} {y + 1}h{CELL - 2}v{CELL - 2}h-{CELL - 2}z" for x, y in corners)
    marks = "".join(f"M{x + 1} {y + 1}h5l-5 5z" for x, y in corners)
    style = f'fill="none" stroke="{CANDIDATE}" stroke-width="0.8" stroke-dasharray="2 1.4"'
    return [f'<path d="{frames}" {style}/><path d="{marks}" fill="{CANDIDATE}"/>']


def _letters(places: Places) -> list[str]:
    parts = [_squares(places, places.goals, f'fill="{GOAL}"')]
    marked = [(cell, "G", "white") for cell in places.goals]
    marked += [(cell, "S", START) for cell in places.starts]
    for cell, letter, colour in marked:
        x, y = corner(places, cell)
        halo = 'paint-order="stroke" stroke="white" stroke-width="2"' if letter == "S" else ""
        parts.append(
            f'<text x="{x + 5}" y="{y + 8.5}" font-size="9" font-weight="700" fill="{colour}" '
            f'text-anchor="middle" font-family="sans-serif" {halo}>{letter}</text>'
        )
    return parts


def _heat(view: View) -> list[str]:
    """Cells by visits, in few shades; goals and walls have none."""
    shown = np.nan_to_num(view.visits)
    top = float(shown.max()) or 1.0
    level = np.ceil(np.sqrt(shown / top) * (len(HEAT) - 1)).astype(int)
    level[shown <= UNSEEN] = 0
    return [
        _squares(view.places, np.flatnonzero(level == k).tolist(), f'fill="{HEAT[k]}"')
        for k in range(1, len(HEAT))
    ]


def _arrows(view: View) -> list[str]:
    """One arrow per action, centred in its cell, as long as it is likely."""
    seen, unseen = [], []
    for cell, toward in np.argwhere(view.weights > 0.01).tolist():
        drawn = seen if view.visits[cell] > UNSEEN else unseen
        drawn.append(_arrow(view.places, cell, toward, float(view.weights[cell, toward])))
    return [
        f'<path d="{"".join(drawn)}" stroke="#111827" stroke-width="1.5" fill="none" '
        f'stroke-opacity="{opacity}" stroke-linecap="round" stroke-linejoin="round"/>'
        for drawn, opacity in ((unseen, 0.22), (seen, 0.95))
    ]


def _arrow(places: Places, cell: int, action: int, chance: float) -> str:
    x, y = (z + CELL / 2 for z in corner(places, cell))
    dx, dy = TOWARD[action]
    half = 0.4 * CELL * chance
    tip_x, tip_y = x + dx * half, y + dy * half
    barb = min(3.0, 1.2 * half)
    barbs = [
        f"M{tip_x - barb * (dx + s * dy):.1f} {tip_y - barb * (dy + s * dx):.1f}"
        f"L{tip_x:.1f} {tip_y:.1f}"
        for s in (-0.8, 0.8)
    ]
    return f"M{x - dx * half:.1f} {y - dy * half:.1f}L{tip_x:.1f} {tip_y:.1f}" + "".join(barbs)


def _bar(
    places: Places,
    cell: int,
    number: int,
    ends: tuple[float, float],
    bounds: tuple[float, float],
    colour: str,
    *,
    inner: bool = False,
) -> str:
    """An upright bar at the right of a cell, upwards from the low public bound."""
    low, high = _height(ends, bounds)
    x, y = corner(places, cell)
    left, width = _place(places, number)
    if inner:  # a little narrower than the public bounds behind it
        left, width = left + 0.2 * width, 0.6 * width
    return _rect(x + left, y + CELL - 2 - high, width, max(high - low, 0.7), f'fill="{colour}"')


def _place(places: Places, number: int) -> tuple[float, float]:
    """Left edge and width of the bar of a kind."""
    count = len(places.kinds)
    width = min(5.0, 14.0 / count)
    return CELL - 2 - (count - number) * (width + 0.5), width


def _height(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    lower, upper = ((CELL - 4) * (end - low) / (high - low) for end in ends)
    return lower, upper


def _truths(places: Places, number: int, level: Any, low: Any, high: Any) -> list[str]:
    """A diamond on the bar of each invented hazard of a kind, at its height."""
    parts = []
    left, width = _place(places, number)
    for at, cell in enumerate(places.kinds[number].cells):
        if level[at] <= low[at]:
            continue
        x, y = corner(places, cell)
        up = _height((level[at], level[at]), (low[at], high[at]))[0]
        mx, my = x + left + width / 2, y + CELL - 2 - up
        parts.append(f"M{mx - 3.4:g} {my:g}l3.4 -3.4l3.4 3.4l-3.4 3.4z")
    style = f'fill="{TRUTH}" stroke="white" stroke-width="0.7"'
    return [f'<path d="{"".join(parts)}" {style}/>'] if parts else []


def _frames(places: Places, weights: Mapping[int, float]) -> list[str]:
    top = max((abs(weight) for weight in weights.values()), default=1.0)
    parts = []
    for cell, weight in weights.items():
        x, y = corner(places, cell)
        thick = 1.0 + 3.0 * abs(weight) / top
        style = f'fill="{WEIGHED}" fill-opacity="0.12" stroke="{WEIGHED}"'
        parts.append(_rect(x + 1.5, y + 1.5, CELL - 3, CELL - 3, style, thick))
    return parts


def _rect(x: float, y: float, width: float, height: float, style: str, stroke: float = 0.0) -> str:
    line = f' stroke-width="{stroke:.2g}"' if stroke else ""
    return (
        f'<rect x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}" {style}{line}/>'
    )
