"""Pictures of a hazard grid, in text and in pixels, with numpy alone.

The public view hatches the candidate cells; a view that is given costs colours them by severity.
Edges are smoothed by coverage: a shape with signed distance d (in pixels, negative inside) covers
the share clip(½ − d, 0, 1) of a pixel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp.envs.layout import Layout
from dp_cmdp.envs.layout_files import format_map

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]

FREE, LINE, WALL, WALL_EDGE = (251, 250, 247), (227, 225, 219), (62, 70, 87), (86, 96, 116)
START, START_RING = (226, 236, 250), (110, 145, 205)
GOAL, FLAG = (47, 158, 104), (255, 255, 255)
AGENT, AGENT_RING, SHADOW = (37, 99, 235), (255, 255, 255), (30, 41, 59)
#: For each kind: a pale colour, the colour of its hatching, the colour of its worst severity.
KIND_COLOURS: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((255, 243, 219), (238, 178, 82), (178, 24, 24)),
    ((232, 236, 255), (130, 146, 236), (49, 30, 129)),
    ((225, 245, 238), (88, 184, 152), (0, 90, 80)),
)
LARGEST_CELL, SMALLEST_CELL, LONGEST_SIDE = 64, 16, 720


def draw_text(layout: Layout, *, agent: int, costs: FloatArray | None = None) -> str:
    """The grid as text: ``@`` agent, ``#`` wall, ``G`` goal, ``S`` start, ``?`` or a digit.

    Without `costs` candidates look as in a layout map. With `costs` a candidate shows the largest
    of its costs in tenths of the public upper bound, 0 to 9.
    """
    letters = list(format_map(layout).replace("\n", ""))
    if costs is not None:
        share = _shares(layout, costs).max(axis=0)
        for cell in layout.candidates:
            letters[cell] = str(min(9, int(10 * share[cell])))
    letters[agent] = "@"
    text = "".join(letters)
    return "\n".join(text[i : i + layout.cols] for i in range(0, len(text), layout.cols)) + "\n"


def draw_grid(layout: Layout, *, costs: FloatArray | None = None, hatched: bool = True) -> Image:
    """The grid without its agent, as (height, width, 3) pixels.

    Parameters
    ----------
    layout : Layout
    costs : (num_kinds, num_states), optional
        Costs to colour the candidates by.
    hatched : bool
        Whether candidates are hatched (the sign of "perhaps").
    """
    side = cell_side(layout)
    cells = np.empty((layout.num_cells, 3))
    cells[:] = FREE
    for places, colour in (
        (layout.walls, WALL),
        ([cell for cell, _ in layout.starts], START),
    ):
        cells[list(places)] = colour
    image = _spread(cells, layout, side)
    _paint_candidates(image, layout, costs=costs, hatched=hatched)
    _rule(image, side)
    for cell in layout.walls:
        _blend(_tile(image, layout, cell), _box(side, 0.44, 0.12), WALL_EDGE)
        _blend(_tile(image, layout, cell), _box(side, 0.38, 0.10), WALL)
    for cell, _ in layout.starts:
        _blend(_tile(image, layout, cell), _ring(side, 0.30, 0.06), START_RING)
    for cell in layout.goals:
        tile = _tile(image, layout, cell)
        _blend(tile, _box(side, 0.46, 0.14), GOAL)
        _blend(tile, _flag(side), FLAG)
    return np.rint(image).astype(np.uint8)


def draw_agent(grid: Image, layout: Layout, *, agent: int) -> Image:
    """A copy of a drawn grid with the agent in it."""
    image = grid.astype(np.float64)
    side = cell_side(layout)
    tile = _tile(image, layout, agent)
    _blend(tile, 0.35 * _disc(side, 0.33, lower=0.04), SHADOW)
    _blend(tile, _disc(side, 0.31), AGENT_RING)
    _blend(tile, _disc(side, 0.25), AGENT)
    _blend(tile, 0.55 * _disc(side, 0.07, lower=-0.09, right=-0.09), AGENT_RING)
    return np.rint(image).astype(np.uint8)


def cell_side(layout: Layout) -> int:
    """Pixels per cell."""
    fitting = LONGEST_SIDE // max(layout.rows, layout.cols)
    return int(np.clip(fitting - fitting % 2, SMALLEST_CELL, LARGEST_CELL))


def _shares(layout: Layout, costs: FloatArray) -> FloatArray:
    """Costs as shares of the public upper bounds, in [0, 1]."""
    top = np.array([kind.severity[1] for kind in layout.kinds])
    return np.clip(costs / top[:, None], 0.0, 1.0)


def _paint_candidates(
    image: FloatArray, layout: Layout, *, costs: FloatArray | None, hatched: bool
) -> None:
    side = cell_side(layout)
    present = np.zeros((layout.num_kinds, layout.num_cells), dtype=np.int64)
    for number, kind in enumerate(layout.kinds):
        present[number, list(kind.cells)] = 1
    count = present.sum(axis=0)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    # a cell of several kinds is cut along its diagonal into one part for each
    part = ((x % side + y % side) / (2 * side)) * _spread(count, layout, side)
    for number in range(layout.num_kinds):
        pale, line, deep = KIND_COLOURS[number % len(KIND_COLOURS)]
        rank = _spread(present[:number].sum(axis=0), layout, side)
        here = (_spread(present[number], layout, side) > 0) & (np.floor(part) == rank)
        fill = np.broadcast_to(np.array(pale, dtype=np.float64), (layout.num_cells, 3))
        if costs is not None:
            share = _shares(layout, costs)[number][:, None]
            fill = np.array(pale) + share * (np.array(deep, dtype=np.float64) - np.array(pale))
        image[here] = _spread(fill, layout, side)[here]
        if hatched:
            along = x + y if number % 2 == 0 else x - y
            stripes = _stripes(along, period=side / 4, width=side / 18)
            colour, strength = (line, 0.85) if costs is None else (FREE, 0.4)
            _blend(image, np.where(here, strength * stripes, 0.0), colour)


def _spread(values: NDArray, layout: Layout, side: int) -> NDArray:
    """Give every pixel the value of its cell."""
    grid = values.reshape(layout.rows, layout.cols, *values.shape[1:])
    return grid.repeat(side, axis=0).repeat(side, axis=1).astype(np.float64)


def _tile(image: FloatArray, layout: Layout, cell: int) -> FloatArray:
    row, col = divmod(cell, layout.cols)
    side = cell_side(layout)
    return image[row * side : (row + 1) * side, col * side : (col + 1) * side]


def _blend(image: FloatArray, coverage: FloatArray, colour: Colour) -> None:
    image += coverage[..., None] * (np.array(colour, dtype=np.float64) - image)


def _rule(image: FloatArray, side: int) -> None:
    image[::side] = image[-1:] = LINE
    image[:, ::side] = image[:, -1:] = LINE


def _stripes(along: NDArray, *, period: float, width: float) -> FloatArray:
    offset = np.abs((along / np.sqrt(2)) % period - period / 2)
    return np.clip(0.5 + width / 2 - offset, 0.0, 1.0)


def _centred(side: int) -> tuple[FloatArray, FloatArray]:
    """Pixel centres of a tile, from its middle: (downwards, rightwards)."""
    y, x = np.mgrid[:side, :side].astype(np.float64) + 0.5 - side / 2
    return y, x


def _disc(side: int, radius: float, *, lower: float = 0.0, right: float = 0.0) -> FloatArray:
    y, x = _centred(side)
    distance = np.hypot(y - lower * side, x - right * side) - radius * side
    return np.clip(0.5 - distance, 0.0, 1.0)


def _ring(side: int, radius: float, width: float) -> FloatArray:
    return _disc(side, radius) - _disc(side, radius - width)


def _box(side: int, half: float, corner: float) -> FloatArray:
    """A square with rounded corners."""
    y, x = _centred(side)
    inner = (half - corner) * side
    outside = np.hypot(np.maximum(np.abs(y) - inner, 0), np.maximum(np.abs(x) - inner, 0))
    return np.clip(0.5 - (outside - corner * side), 0.0, 1.0)


def _flag(side: int) -> FloatArray:
    """A pole with a pennant."""
    y, x = _centred(side)
    y, x = y / side, x / side
    pole = np.maximum(np.abs(x + 0.14) - 0.03, np.abs(y) - 0.28)
    middle = -0.13
    pennant = np.maximum(-0.14 - x, (np.abs(y - middle) - 0.15 * (1 - (x + 0.14) / 0.36)) * 0.92)
    return np.clip(0.5 - side * np.minimum(pole, pennant), 0.0, 1.0)
