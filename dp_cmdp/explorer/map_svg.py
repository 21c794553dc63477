"""A grid as SVG: cells, what was released about them, where a policy goes and what it does.

Everything is marked by shape as well as by colour. One unit of the drawing is a twentieth of a
cell, and a grid of a thousand cells stays a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.release import Release
from dp_cmdp.envs import Layout

#: Side of a cell.
CELL = 20
HEAT = ("#f7fbff", "#d9e8f5", "#b7d4ea", "#8fbfe0", "#62a5d3", "#3f8ac2")
WALL, GOAL, START, GRID = "#374151", "#00734d", "#7c2d12", "#d1d5db"
CANDIDATE, PUBLIC, RELEASED, TRUTH = "#c2410c", "#d1d5db", "#00734d", "#111827"
WEIGHED, AGENT, CURSOR = "#6366f1", "#db2777", "#2563eb"
#: (dx, dy) of left, down, right, up.
TOWARD = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Discounted visits below which a cell counts as never visited, and its arrows are faint.
UNSEEN = 1e-6


def size(layout: Layout) -> tuple[int, int]:
    """Width and height of the drawing."""
    return layout.cols * CELL, layout.rows * CELL


def corner(layout: Layout, cell: int) -> tuple[int, int]:
    """x and y of the upper left corner of a cell."""
    row, col = divmod(cell, layout.cols)
    return col * CELL, row * CELL


def cell_at(layout: Layout, x: float, y: float) -> int:
    """The cell at a point of the drawing; points on the edge belong to the nearest."""
    col = min(max(int(x // CELL), 0), layout.cols - 1)
    row = min(max(int(y // CELL), 0), layout.rows - 1)
    return row * layout.cols + col


def data_map(
    layout: Layout,
    *,
    release: Release | None = None,
    severity: FloatArray | None = None,
) -> str:
    """Candidates, with the released interval of each as a bar within its public bounds.

    Parameters
    ----------
    layout : Layout
    release : Release, optional
    severity : (num_kinds, num_cells), optional
        Invented hazards, drawn as diamonds. Never given for a real database.
    """
    parts = [_paper(layout), _walls(layout), *_candidates(layout)]
    for number, kind in enumerate(layout.kinds):
        for cell in kind.cells:
            parts.append(_bar(layout, cell, number, None, kind.severity, PUBLIC))
    if release is not None:
        parts += _intervals(layout, release)
    if severity is not None:
        parts += _truths(layout, severity)
    return "".join([*parts, *_letters(layout), _lines(layout)])


def marks(layout: Layout, *, weights: Mapping[int, float], cursor: int) -> str:
    """What moves above a data map, so that the map itself need not be drawn again.

    Parameters
    ----------
    layout : Layout
    weights : mapping
        Cell → weight in a released total, drawn as a frame, the thicker the heavier.
    cursor : int
        Where the keyboard is.
    """
    x, y = corner(layout, cursor)
    here = _rect(x + 1, y + 1, CELL - 2, CELL - 2, f'fill="none" stroke="{CURSOR}"', 2.5)
    return "".join([*_frames(layout, weights), here])


def policy_map(layout: Layout, policy: Policy, *, visits: FloatArray) -> str:
    """Visits as heat and actions as arrows through the middle of each cell.

    Parameters
    ----------
    layout : Layout
    policy : Policy
    visits : (num_cells,)
        Expected discounted visits.
    """
    parts = [_paper(layout), *_heat(layout, visits), _walls(layout), *_candidates(layout)]
    parts += _arrows(layout, policy.probs, visits)
    return "".join([*parts, *_letters(layout), _lines(layout)])


def agent(layout: Layout, path: Sequence[int], step: int) -> str:
    """The agent after some steps of an episode, with the way it came."""
    walked = path[: step + 1]
    middles = [tuple(z + CELL / 2 for z in corner(layout, cell)) for cell in walked]
    x, y = middles[-1]
    line = " ".join(f"{a:g},{b:g}" for a, b in middles)
    return (
        f'<polyline points="{line}" fill="none" stroke="{AGENT}" stroke-width="2.5" '
        f'stroke-opacity="0.6" stroke-linejoin="round"/>'
        f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{AGENT}" stroke="white" stroke-width="2"/>'
    )


def _paper(layout: Layout) -> str:
    return _rect(0, 0, *size(layout), 'fill="white"')


def _lines(layout: Layout) -> str:
    width, height = size(layout)
    down = "".join(f"M{x} 0V{height}" for x in range(0, width + 1, CELL))
    across = "".join(f"M0 {y}H{width}" for y in range(0, height + 1, CELL))
    return f'<path d="{down}{across}" stroke="{GRID}" stroke-width="0.6" fill="none"/>'


def _walls(layout: Layout) -> str:
    return _squares(layout, layout.walls, f'fill="{WALL}"')


def _squares(layout: Layout, cells: Iterable[int], look: str) -> str:
    corners = (corner(layout, cell) for cell in cells)
    drawn = "".join(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z" for x, y in corners)
    return f'<path d="{drawn}" {look}/>' if drawn else ""


def _candidates(layout: Layout) -> list[str]:
    """A dashed frame and a corner: public, where a hazard may be."""
    corners = [corner(layout, cell) for cell in layout.candidates]
    frames = "".join(f"M{x + 1} {y + 1}h{CELL - 2}v{CELL - 2}h-{CELL - 2}z" for x, y in corners)
    marks = "".join(f"M{x + 1} {y + 1}h5l-5 5z" for x, y in corners)
    look = f'fill="none" stroke="{CANDIDATE}" stroke-width="0.8" stroke-dasharray="2 1.4"'
    return [f'<path d="{frames}" {look}/><path d="{marks}" fill="{CANDIDATE}"/>']


def _letters(layout: Layout) -> list[str]:
    parts = [_squares(layout, layout.goals, f'fill="{GOAL}"')]
    marked = [(cell, "G", "white") for cell in layout.goals]
    marked += [(cell, "S", START) for cell, _ in layout.starts]
    for cell, letter, colour in marked:
        x, y = corner(layout, cell)
        halo = 'paint-order="stroke" stroke="white" stroke-width="2"' if letter == "S" else ""
        parts.append(
            f'<text x="{x + 5}" y="{y + 8.5}" font-size="9" font-weight="700" fill="{colour}" '
            f'text-anchor="middle" font-family="sans-serif" {halo}>{letter}</text>'
        )
    return parts


def _heat(layout: Layout, visits: FloatArray) -> list[str]:
    """Cells by visits, in few shades; goals and walls have none."""
    shown = visits.copy()
    shown[[*layout.goals, *layout.walls]] = 0.0
    top = float(shown.max()) or 1.0
    level = np.ceil(np.sqrt(shown / top) * (len(HEAT) - 1)).astype(int)
    level[shown <= UNSEEN] = 0
    return [
        _squares(layout, np.flatnonzero(level == k).tolist(), f'fill="{HEAT[k]}"')
        for k in range(1, len(HEAT))
    ]


def _arrows(layout: Layout, probs: FloatArray, visits: FloatArray) -> list[str]:
    """One arrow per action, centred in its cell, as long as it is likely."""
    still = {*layout.walls, *layout.goals}
    seen, unseen = [], []
    for cell, action in np.argwhere(probs > 0.01).tolist():
        if cell not in still:
            drawn = seen if visits[cell] > UNSEEN else unseen
            drawn.append(_arrow(layout, cell, action, float(probs[cell, action])))
    return [
        f'<path d="{"".join(drawn)}" stroke="#111827" stroke-width="1.5" fill="none" '
        f'stroke-opacity="{opacity}" stroke-linecap="round" stroke-linejoin="round"/>'
        for drawn, opacity in ((unseen, 0.22), (seen, 0.95))
    ]


def _arrow(layout: Layout, cell: int, action: int, chance: float) -> str:
    x, y = (z + CELL / 2 for z in corner(layout, cell))
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


def _intervals(layout: Layout, release: Release) -> list[str]:
    told = {name: part.ravel() for name, part in release.group("severity").items()}
    parts, place = [], 0
    for number, kind in enumerate(layout.kinds):
        for cell in kind.cells:
            ends = float(told["lower"][place]), float(told["upper"][place])
            parts.append(_bar(layout, cell, number, ends, kind.severity, RELEASED))
            place += 1
    return parts


def _bar(
    layout: Layout,
    cell: int,
    number: int,
    ends: tuple[float, float] | None,
    bounds: tuple[float, float],
    colour: str,
) -> str:
    """An upright bar at the right of a cell, upwards from the low public bound."""
    low, high = _height(ends or bounds, bounds)
    x, y = corner(layout, cell)
    left, width = _place(layout, number)
    if ends is not None:  # a little narrower than the public bounds behind it
        left, width = left + 0.2 * width, 0.6 * width
    return _rect(x + left, y + CELL - 2 - high, width, max(high - low, 0.7), f'fill="{colour}"')


def _place(layout: Layout, number: int) -> tuple[float, float]:
    """Left edge and width of the bar of a kind."""
    width = min(5.0, 14.0 / layout.num_kinds)
    return CELL - 2 - (layout.num_kinds - number) * (width + 0.5), width


def _height(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    lower, upper = ((CELL - 4) * (end - low) / (high - low) for end in ends)
    return lower, upper


def _truths(layout: Layout, severity: FloatArray) -> list[str]:
    """A diamond on the bar of each invented hazard, at its height."""
    parts = []
    for number, kind in enumerate(layout.kinds):
        for cell in kind.cells:
            level = float(severity[number, cell])
            if level <= kind.severity[0]:
                continue
            x, y = corner(layout, cell)
            left, width = _place(layout, number)
            up = _height((level, level), kind.severity)[0]
            mx, my = x + left + width / 2, y + CELL - 2 - up
            parts.append(f"M{mx - 3.4:g} {my:g}l3.4 -3.4l3.4 3.4l-3.4 3.4z")
    look = f'fill="{TRUTH}" stroke="white" stroke-width="0.7"'
    return [f'<path d="{"".join(parts)}" {look}/>'] if parts else []


def _frames(layout: Layout, weights: Mapping[int, float]) -> list[str]:
    top = max((abs(weight) for weight in weights.values()), default=1.0)
    parts = []
    for cell, weight in weights.items():
        x, y = corner(layout, cell)
        thick = 1.0 + 3.0 * abs(weight) / top
        look = f'fill="{WEIGHED}" fill-opacity="0.12" stroke="{WEIGHED}"'
        parts.append(_rect(x + 1.5, y + 1.5, CELL - 3, CELL - 3, look, thick))
    return parts


def _rect(x: float, y: float, width: float, height: float, look: str, stroke: float = 0.0) -> str:
    line = f' stroke-width="{stroke:.2g}"' if stroke else ""
    return f'<rect x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}" {look}{line}/>'
