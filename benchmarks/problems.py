"""The benchmark model, an n×n grid with hazards, and private draws of its hazard row.

Four slippery moves, an absorbing goal, a loss for every step (the same everywhere, or rough
terrain) and K costs of hazards. The limit of each lies half-way between the cost of the
policy that ignores hazards and that of the policy that heeds nothing else, so it binds, and half of
either policy shows that it can be kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp._src.release.measurement import Simulated, System

SLIP = 0.2
HAZARDS = 0.15
#: Weight of hazards for the policy that is nearly indifferent to them.
TIE = 1e-3
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Radius of a cost, and of the limit relative to itself: those of the shipped layouts.
RADIUS = 0.1

#: Costs (K, S, A) and limits (K,).
Draw = tuple[np.ndarray, np.ndarray]


def grid_cmdp(
    n: int,
    *,
    seed: int = 0,
    gamma: float = 0.99,
    num_constraints: int = 1,
    rough: bool = False,
    binding: bool = True,
) -> dp.CMDP:
    """The grid with binding limits, or with limit 0 where nobody solves it.

    On `rough` terrain a step costs between 1/2 and 3/2 instead of 1; large rough grids have valleys
    in which it pays to stay, which slows every iterative method down.
    """
    rng = np.random.default_rng(seed)
    cells, goal = n * n, n * n - 1
    moving = np.arange(cells) < goal
    step_cost = rng.uniform(0.5, 1.5, cells) if rough else np.ones(cells)
    r = np.where(moving, -step_cost, 0.0)
    rows = []
    for _ in range(num_constraints):
        hazard = moving & (rng.random(cells) < HAZARDS)
        rows.append(np.where(hazard, rng.uniform(0.5, 1.0, cells), 0.0))
    cost = np.repeat(np.array(rows)[:, :, None], len(MOVES), axis=2)
    start = np.where(moving, 1.0 / goal, 0.0)
    reward = np.repeat(r[:, None], len(MOVES), axis=1)
    free = np.zeros(num_constraints)
    model = dp.CMDP(_transitions(n), reward, cost=cost, limit=free, start=start, gamma=gamma)
    return model._with_costs(model.cost, _binding_limits(model)) if binding else model


def _transitions(n: int) -> sparse.csr_array:
    """(n²·4, n²): ahead with probability 1 − SLIP, else to either side; walls hold."""
    states = np.arange(n * n)
    row, column = np.divmod(states, n)
    landing = [
        np.clip(row + down, 0, n - 1) * n + np.clip(column + right, 0, n - 1)
        for down, right in MOVES
    ]
    goal = n * n - 1
    moving = states[:goal]
    pairs, successors, chances = [goal * 4 + np.arange(4)], [np.full(4, goal)], [np.ones(4)]
    for action in range(4):
        for turn, chance in ((0, 1.0 - SLIP), (1, SLIP / 2), (3, SLIP / 2)):
            pairs.append(moving * 4 + action)
            successors.append(landing[(action + turn) % 4][:goal])
            chances.append(np.full(goal, chance))
    entries = np.concatenate(chances), (np.concatenate(pairs), np.concatenate(successors))
    return sparse.csr_array(entries, shape=(4 * n * n, n * n))


def _binding_limits(model: dp.CMDP) -> np.ndarray:
    """Half-way between the costs of indifference and of utmost caution.

    Ties of the indifferent policy are broken towards low cost, so that the problem does not depend
    on which of its optimal policies a solver finds.
    """
    total = model.cost.sum(axis=0)
    return 0.5 * (_costs(model, model.r - TIE * total) + _costs(model, -total))


def _costs(model: dp.CMDP, reward: np.ndarray) -> np.ndarray:
    """Costs of the policy that is best for one reward."""
    free = np.full(model.num_constraints, 1e9)
    other = dp.CMDP(
        model.T, reward, cost=model.cost, limit=free, start=model.start, gamma=model.gamma
    )
    found = PolicyPool(other).solve(model.cost, free, gap=1e-7).occupancy
    return model.cost.reshape(free.size, -1) @ found.ravel()


def private_grid(model: dp.CMDP, *, radius: float = RADIUS) -> tuple[dp.ParametricCMDP, np.ndarray]:
    """A grid with one cost, of which the hazards and the limit are private; and its numbers."""
    hazard = np.flatnonzero(model.cost[0, :, 0])
    limit = float(model.limit[0]) or 1.0
    cost = dp.PrivateCost(
        states=hazard,
        cost=dp.Envelope(0.0, 1.0, radius=radius, shape=hazard.size),
        limit=dp.Envelope(0.5 * limit, 1.5 * limit, radius=radius * limit),
    )
    problem = dp.ParametricCMDP(model.T, model.r, gamma=model.gamma, start=model.start, costs=cost)
    return problem, np.append(model.cost[0, hazard, 0], limit)


def releases(
    problem: dp.ParametricLP | dp.ParametricCMDP,
    values: np.ndarray,
    budget: dp.PrivacyBudget,
    rng: np.random.Generator | None = None,
) -> Iterator[dp.Release]:
    """Releases of all entries: with exact noise, or simulated by a generator."""
    known = dp.Release(problem.envelope)
    measurement = dp.Strategy.entries().steps[0].propose(problem, known, budget)
    assert measurement is not None
    while True:
        yield known + measurement.draw(values, System() if rng is None else Simulated(rng))


def private_draws(model: dp.CMDP, number: int, *, radius: float = RADIUS) -> list[Draw]:
    """Models at their worst over simulated releases, each cost at ε = 1, δ = 1/10."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(model.num_constraints):
        problem, values = private_grid(
            model._with_costs(model.cost[k : k + 1], model.limit[k : k + 1]), radius=radius
        )
        drawn = releases(problem, values, dp.PrivacyBudget(1, "1/10"), rng)
        rows.append([problem.worst(next(drawn).uncertainty) for _ in range(number)])
    return [
        (np.concatenate([m.cost for m in draw]), np.concatenate([m.limit for m in draw]))
        for draw in zip(*rows, strict=True)
    ]
