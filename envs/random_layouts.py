"""Random layouts by seed.

They follow the grid of Chow et al. (2018): a square grid, −1 per step, a bonus at the goal, and
obstacles drawn with a density; here the drawn cells are the public *candidates*.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import validated
from dp_cmdp.envs.dynamics import GridModel
from dp_cmdp.envs.layout import HazardKind, Layout, connected

#: A random layout tolerates at least this many times what its cautious policy costs at worst.
LIMIT_MARGIN = 1.5
ATTEMPTS = 1000


@validated
def random_layout(
    size: int = 25,
    *,
    seed: int,
    density: float = 0.3,
    wall_density: float = 0.0,
    kinds: int = 1,
    slip: float = 0.05,
    gamma: float = 0.99,
    goal_reward: float = 100.0,
) -> Layout:
    """Draw a square layout: start at the lower right, goal in the top row.

    Parameters
    ----------
    size : int
        Rows and columns.
    seed : int
        Of the drawing; it is public.
    density : float
        Share of the free cells within reach of the start that are candidates.
    wall_density : float
        Share of the cells that are walls; drawn again until the goal can be reached.
    kinds : int
        Number of hazard kinds; each candidate cell belongs to one.
    slip, gamma, goal_reward : float
        As in :class:`Layout`.

    Returns
    -------
    Layout
        The public grid.

    Notes
    -----
    Severities lie in [0, 1] with radius 0.1. The limit bounds are set from public data: at
    least 1.5 times the worst-case cost of a cautious policy, so the robust problem is feasible.
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import random_layout
    >>> layout = random_layout(10, seed=0, density=0.2)
    >>> layout.num_cells, len(layout.candidates)
    (100, 20)
    """
    size = check.integer("size", size, low=3, high=3000)
    kinds = check.integer("kinds", kinds, low=1, high=9)
    start = size * size - 1
    rng = np.random.default_rng(check.seed("seed", seed))
    goal, walls, free = _draw_walls(size, wall_density, rng)
    density = check.real("density", density, low=0.0, high=1.0)
    marked = free[: max(kinds, round(density * len(free)))]
    rough = Layout(
        rows=size,
        cols=size,
        walls=walls,
        start=start,
        goals=[goal],
        kinds=[
            HazardKind(
                name=f"hazard-{kind + 1}" if kinds > 1 else "hazard", cells=marked[kind::kinds]
            )
            for kind in range(kinds)
        ],
        slip=slip,
        gamma=gamma,
        goal_reward=goal_reward,
        name=f"random-{size}-{seed}",
    )
    return _with_limits(rough)


def _draw_walls(
    size: int, wall_density: float, rng: np.random.Generator
) -> tuple[int, list[int], list[int]]:
    """A goal in the top row, walls that leave a way to it, other cells within reach, shuffled."""
    wall_density = check.real("wall_density", wall_density, low=0.0, high=1.0)
    start = size * size - 1
    for _ in range(ATTEMPTS):
        goal = int(rng.integers(size))
        inner = [cell for cell in range(size * size) if cell not in (start, goal)]
        mixed = rng.permutation(inner).tolist()
        count = round(wall_density * len(mixed))
        walls = mixed[:count]
        met = connected([start], shape=(size, size), walls=walls, ends=[goal])
        if goal in met:
            return goal, walls, [cell for cell in mixed[count:] if cell in met]
    raise InvalidArgumentError(
        f"wall_density leaves no way to the goal in {ATTEMPTS} draws; lower {wall_density:g}"
    )


def _with_limits(layout: Layout) -> Layout:
    """The layout with limits that a cautious policy meets whatever the data."""
    least = GridModel(layout)._cautious_costs()
    floors = [max(0.1, float(np.ceil(20 * LIMIT_MARGIN * cost) / 20)) for cost in least]
    kinds = [
        HazardKind(
            name=kind.name,
            cells=kind.cells,
            severity_radius=0.1,
            limit=(floor, 2 * floor),
            limit_radius=0.1 * floor,
        )
        for kind, floor in zip(layout.kinds, floors, strict=True)
    ]
    return layout.replace(kinds=kinds)
