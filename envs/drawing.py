"""Pictures of a grid, in text and in pixels, with numpy alone: the environment's and the figures'.

Candidate cells without costs are hatched (the sign of "perhaps"); with costs they are coloured by
them. Edges are smoothed by coverage: a shape with signed distance d (in pixels, negative inside)
covers the share clip(½ − d, 0, 1) of a pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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
#: For each kind: a pale colour, the colour of its hatching, the colour of its worst cost.
KIND_COLOURS: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((255, 243, 219), (238, 178, 82), (178, 24, 24)),
    ((232, 236, 255), (130, 146, 236), (49, 30, 129)),
    ((225, 245, 238), (88, 184, 152), (0, 90, 80)),
)
LARGEST_CELL, SMALLEST_CELL, LONGEST_SIDE = 64, 16, 720


@dataclass(frozen=True, eq=False)
class Grid:
    """What a picture shows of a grid; cells are numbered row by row.

    Attributes
    ----------
    shape : (int, int)
    walls, starts, goals : sequence of int
    candidates : sequence of sequences of int
        Kind by kind.
    shares : (kinds, cells) array, or None
        Costs as shares of their largest possible ones.
    """

    shape: tuple[int, int]
    walls: Sequence[int] = ()
    starts: Sequence[int] = ()
    goals: Sequence[int] = ()
    candidates: Sequence[Sequence[int]] = ()
    shares: FloatArray | None = None

    @classmethod
    def of(cls, layout: Layout, costs: FloatArray | None = None) -> Grid:
        """A layout, its candidates with the costs (kinds, cells) if there are any."""
        top = np.array([kind.severity[1] for kind in layout.kinds])
        return cls(
            (layout.rows, layout.cols),
            layout.walls,
            [cell for cell, _ in layout.starts],
            layout.goals,
            [kind.cells for kind in layout.kinds],
            None if costs is None else np.clip(costs / top[:, None], 0.0, 1.0),
        )

    @property
    def side(self) -> int:
        """Pixels per cell."""
        fitting = LONGEST_SIDE // max(self.shape)
        return int(np.clip(fitting - fitting % 2, SMALLEST_CELL, LARGEST_CELL))

    def tile(self, image: FloatArray, cell: int) -> FloatArray:
        """The pixels of a cell."""
        (row, col), side = divmod(cell, self.shape[1]), self.side
        return image[row * side : (row + 1) * side, col * side : (col + 1) * side]

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Give every pixel the value of its cell."""
        grid = values.reshape(*self.shape, *values.shape[1:])
        return grid.repeat(self.side, axis=0).repeat(self.side, axis=1).astype(np.float64)


def draw_text(layout: Layout, *, agent: int, costs: FloatArray | None = None) -> str:
    """The grid as text: ``@`` agent, ``#`` wall, ``G`` goal, ``S`` start, ``?`` or a digit.

    Without `costs` candidates look as in a layout map. With `costs` a candidate shows the largest
    of its costs in tenths of the public upper bound, 0 to 9.
    """
    letters = list(format_map(layout).replace("\n", ""))
    shares = Grid.of(layout, costs).shares
    if shares is not None:
        for cell in layout.candidates:
            letters[cell] = str(min(9, int(10 * shares[:, cell].max())))
    letters[agent] = "@"
    text = "".join(letters)
    return "\n".join(text[i : i + layout.cols] for i in range(0, len(text), layout.cols)) + "\n"


def draw_grid(grid: Grid, *, hatched: bool = True) -> Image:
    """The grid without its agent, as (height, width, 3) pixels."""
    side = grid.side
    cells = np.empty((grid.shape[0] * grid.shape[1], 3))
    cells[:] = FREE
    cells[list(grid.walls)] = WALL
    cells[list(grid.starts)] = START
    image = grid.spread(cells)
    _paint_candidates(image, grid, hatched=hatched)
    image[::side] = image[-1:] = LINE
    image[:, ::side] = image[:, -1:] = LINE
    _stamp(image, grid, grid.walls, (_box(side, 0.44, 0.12), WALL_EDGE))
    _stamp(image, grid, grid.walls, (_box(side, 0.38, 0.10), WALL))
    _stamp(image, grid, grid.starts, (_disc(side, 0.30) - _disc(side, 0.24), START_RING))
    _stamp(image, grid, grid.goals, (_box(side, 0.46, 0.14), GOAL), (_flag(side), FLAG))
    return np.rint(image).astype(np.uint8)


def draw_agent(image: Image, grid: Grid, *, agent: int) -> Image:
    """A copy of a drawn grid with the agent in it."""
    found, side = image.astype(np.float64), grid.side
    _stamp(
        found,
        grid,
        [agent],
        (0.35 * _disc(side, 0.33, lower=0.04), SHADOW),
        (_disc(side, 0.31), AGENT_RING),
        (_disc(side, 0.25), AGENT),
        (0.55 * _disc(side, 0.07, lower=-0.09, right=-0.09), AGENT_RING),
    )
    return np.rint(found).astype(np.uint8)


def _paint_candidates(image: FloatArray, grid: Grid, *, hatched: bool) -> None:
    side, count = grid.side, grid.shape[0] * grid.shape[1]
    present = np.zeros((len(grid.candidates), count), dtype=np.int64)
    for number, cells in enumerate(grid.candidates):
        present[number, list(cells)] = 1
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    # a cell of several kinds is cut along its diagonal into one part for each
    part = ((x % side + y % side) / (2 * side)) * grid.spread(present.sum(axis=0))
    for number in range(len(grid.candidates)):
        pale, line, deep = KIND_COLOURS[number % len(KIND_COLOURS)]
        rank = grid.spread(present[:number].sum(axis=0))
        here = (grid.spread(present[number]) > 0) & (np.floor(part) == rank)
        fill = np.broadcast_to(np.array(pale, dtype=np.float64), (count, 3))
        if grid.shares is not None:
            share = grid.shares[number][:, None]
            fill = np.array(pale) + share * (np.array(deep, dtype=np.float64) - np.array(pale))
        image[here] = grid.spread(fill)[here]
        if hatched:
            along = x + y if number % 2 == 0 else x - y
            stripes = _stripes(along, period=side / 4, width=side / 18)
            colour, strength = (line, 0.85) if grid.shares is None else (FREE, 0.4)
            _blend(image, np.where(here, strength * stripes, 0.0), colour)


def _stamp(
    image: FloatArray, grid: Grid, cells: Iterable[int], *shapes: tuple[FloatArray, Colour]
) -> None:
    """Put shapes into cells."""
    for cell in cells:
        for coverage, colour in shapes:
            _blend(grid.tile(image, cell), coverage, colour)


def _blend(image: FloatArray, coverage: FloatArray, colour: Colour) -> None:
    image += coverage[..., None] * (np.array(colour, dtype=np.float64) - image)


def _stripes(along: NDArray[Any], *, period: float, width: float) -> FloatArray:
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
