"""Structures in the plane: open, flat and rough grids, serpentine mazes, rooms, two queues."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.families.structure import Moves, Structure, hazards, transitions

SLIP = 0.2
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Share of cells of an open grid that pay.
SPOTS = 0.02
#: Side of a room, its walls not counted.
ROOM = 7
#: Share of cells that the walls of rooms leave free.
OPEN_SHARE = 0.78


def grid(size: int, num_costs: int, rng: np.random.Generator, *, rough: bool = False) -> Structure:
    """A goal in the corner of a square; a step costs 1, or between ½ and 3⁄2 on rough terrain."""
    n = max(2, ceil(sqrt(size)))
    return _walk(np.ones((n, n), dtype=bool), num_costs, rng, rough=rough)


def rough_grid(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A grid with valleys in which it pays to stay."""
    return grid(size, num_costs, rng, rough=True)


def open_grid(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """No goal: a few cells pay for every visit, for ever."""
    n = max(2, ceil(sqrt(size)))
    free = np.ones((n, n), dtype=bool)
    pay = np.where(rng.random(n * n) < SPOTS, rng.uniform(0.2, 1.0, n * n), 0.0)
    pay[int(rng.integers(n * n))] = 1.0
    everywhere = np.ones(n * n, dtype=bool)
    f = hazards(num_costs, moving=everywhere, num_actions=4, rng=rng)
    T = transitions(_steps(free, goal=None), num_states=n * n, num_actions=4)
    return Structure(T, np.repeat(pay[:, None], 4, axis=1), f)


def maze(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """One serpentine way: every second line is a wall with a gap at alternating ends."""
    n = max(3, ceil(sqrt(2 * size)))
    free = np.ones((n, n), dtype=bool)
    free[1::2] = False
    free[1::4, -1] = True
    free[3::4, 0] = True
    if n % 2 == 0:
        free[-1] = False  # a line of gaps only
    return _walk(free, num_costs, rng)


def rooms(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Square rooms with a door in every wall, at a random place."""
    n = max(3, ceil(sqrt(size / OPEN_SHARE)))
    free = np.ones((n, n), dtype=bool)
    walls = np.arange(ROOM, n - 1, ROOM + 1)
    free[walls], free[:, walls] = False, False
    starts = np.concatenate([[0], walls + 1])
    for wall in walls:
        for start in starts:
            end = min(start + ROOM, n)
            free[wall, rng.integers(start, end)] = True
            free[rng.integers(start, end), wall] = True
    return _walk(free, num_costs, rng)


def _walk(
    free: NDArray[np.bool_], num_costs: int, rng: np.random.Generator, *, rough: bool = False
) -> Structure:
    """Walking on the free cells to the last of them, which is absorbing."""
    cells = int(free.sum())
    moving = np.arange(cells) < cells - 1
    step = rng.uniform(0.5, 1.5, cells) if rough else np.ones(cells)
    r = np.repeat(np.where(moving, -step, 0.0)[:, None], 4, axis=1)
    f = hazards(num_costs, moving=moving, num_actions=4, rng=rng)
    T = transitions(_steps(free, goal=cells - 1), num_states=cells, num_actions=4)
    return Structure(T, r, f)


def _steps(free: NDArray[np.bool_], *, goal: int | None) -> list[Moves]:
    """Ahead with probability 1 − SLIP, else to either side; walls hold."""
    number = np.cumsum(free.ravel()).reshape(free.shape) - 1
    row, column = np.nonzero(free)
    height, width = free.shape
    own = np.arange(row.size)
    landing = []
    for down, right in MOVES:
        there = np.clip(row + down, 0, height - 1), np.clip(column + right, 0, width - 1)
        target = np.where(free[there], number[there], own)
        if goal is not None:
            target[goal] = goal
        landing.append(target)
    return [
        (own * 4 + action, landing[(action + turn) % 4], np.full(own.size, chance))
        for action in range(4)
        for turn, chance in ((0, 1.0 - SLIP), (1, SLIP / 2), (3, SLIP / 2))
    ]


def queues(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Two queues and one server, slow or fast, for either: waiting hurts, fast service costs.

    Action 2q + m serves queue q in mode m. The first cost is effort; the others are long queues,
    beyond levels of their own.
    """
    n = max(2, ceil(sqrt(size)))
    one, two = np.divmod(np.arange(n * n), n)
    arrive, serve = rng.uniform(0.1, 0.2, 2), np.array([0.3, 0.55])
    own, moves = np.arange(n * n), []
    up = np.minimum(one + 1, n - 1) * n + two, one * n + np.minimum(two + 1, n - 1)
    down = np.maximum(one - 1, 0) * n + two, one * n + np.maximum(two - 1, 0)
    for action in range(4):
        queue, mode = divmod(action, 2)
        stays = 1.0 - arrive.sum() - serve[mode]
        events = (*zip(up, arrive, strict=True), (down[queue], serve[mode]), (own, stays))
        moves += [(own * 4 + action, place, np.full(own.size, c)) for place, c in events]
    waiting = (one + two) / (2.0 * n)
    r = -np.repeat(waiting[:, None], 4, axis=1)
    effort = np.tile(np.array([0.1, 1.0, 0.1, 1.0]), (n * n, 1))
    levels = rng.uniform(0.2, 0.8, num_costs)
    length = (one, two)
    late = [
        np.repeat(np.maximum(length[k % 2] / n - levels[k], 0.0)[:, None], 4, axis=1)
        + 0.01 * effort
        for k in range(1, num_costs)
    ]
    T = transitions(moves, num_states=n * n, num_actions=4)
    return Structure(T, r, np.array([effort, *late]), far=n * n - 1)
