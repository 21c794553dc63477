"""Episodes that play on the maps, and what they earn and cost."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.envs import Layout
from dp_cmdp.explorer.grid_design import MOST_STEPS, by_kind, dynamics, grid_model
from dp_cmdp.figures import Places


@lru_cache(maxsize=16)
def places_of(layout: Layout, horizon: int | None = None) -> Places:
    """What a map of a layout shows where; the last few are kept."""
    found = Places.of(grid_model(layout, horizon))
    assert found is not None
    return found


def flat_values(layout: Layout, values: dict[str, Any]) -> Any:
    """Numbers by group in the order of the envelope."""
    groups = grid_model(layout).envelope.groups
    return np.concatenate([np.ravel(values[group.name]) for group in groups])


def cost_table(layout: Layout, values: Any) -> Any:
    """The cost of a step in each cell, (kinds, cells), from numbers of the envelope."""
    groups = {group.name: group for group in grid_model(layout).envelope.groups}
    flat = {name: values[group.start : group.stop] for name, group in groups.items()}
    return dynamics(layout).cost_table(np.concatenate(by_kind(layout, flat, "cost")))


def episode(layout: Layout, policy: dp.Policy, *, seed: int) -> tuple[int, ...]:
    """Cells of one episode, drawn by a seed; policies with one seed meet the same luck."""
    model, luck = dynamics(layout), np.random.default_rng([seed, 0])
    choice = np.random.default_rng([seed, 1])
    cells, chances = zip(*layout.starts, strict=True)
    path = [int(cells[int(choice.choice(len(cells), p=np.array(chances)))])]
    while path[-1] not in layout.goals and len(path) <= (policy.horizon or MOST_STEPS):
        action = int(policy.sample(path[-1], choice, len(path) - 1))
        path.append(model.sample(path[-1], action, rng=luck))
    return tuple(path)


def running_sums(
    layout: Layout, path: tuple[int, ...], costs: Any, *, gamma: float | None = None
) -> list[tuple[float, float]]:
    """Reward and largest cost after each step of an episode, discounted as the layout is, or so.

    `costs` (kinds, cells) are those of a step in each cell: invented ones, or the highest that a
    release allows.
    """
    weight, reward, cost = 1.0, 0.0, np.zeros(costs.shape[0])
    sums = [(0.0, 0.0)]
    for here, there in pairwise(path):
        reward += weight * (layout.step_reward + layout.goal_reward * (there in layout.goals))
        cost = cost + weight * costs[:, here]
        weight *= layout.gamma if gamma is None else gamma
        sums.append((reward, float(cost.max())))
    return sums
