"""Random problems of many classes, from seeds, for the study of strategies.

A builder takes a generator and the radius of its entries. Programs have tens of rows and columns,
private entries in [0, 1] and enough room for the worst of them; constrained MDPs have private
severities as the grids of :mod:`paper.problems.grids` do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.linear import Floats
from paper.problems.grids import hazardous, moves_on

Problem = dp.ParametricLP | dp.ParametricCMDP
Rng = np.random.Generator
#: Side of :func:`rooms`, of four rooms with one door each way.
SIDE = 11


def knapsack(rng: Rng, radius: float, *, rows: int, columns: int) -> Problem:
    """Every weight is private; capacities are public."""
    theta = dp.Envelope(0.0, 1.0, radius=radius, shape=(rows, columns))
    worth, room = rng.uniform(0.5, 1.0, columns), np.full(rows, columns / 8)
    return dp.ParametricLP(maximize=worth, A=theta[:], b=room, upper=1.0)


def transport(rng: Rng, radius: float, *, sources: int, sinks: int) -> Problem:
    """Private capacities of the sources, and private fuel of every route out of one tank."""
    count = sources * sinks
    fuel = dp.Envelope(0.0, 1.0, radius=radius, shape=count)
    capacity = dp.Envelope(0.5, 1.5, radius=radius, shape=sources)
    theta = dp.Envelope.join({"fuel": fuel, "capacity": capacity})
    rows = sources + sinks + 1
    sums = np.vstack(
        [np.kron(np.eye(sources), np.ones(sinks)), np.kron(np.ones(sources), np.eye(sinks))]
    )
    place = np.full(count, rows - 1), np.arange(count)
    public = np.vstack([sums, np.zeros(count)])
    A = dp.Affine.sparse(theta["fuel"], place, (rows, count), constant=public)
    limits = np.concatenate([np.zeros(sources), np.full(sinks, 0.8), [sources / 5]])
    b = np.eye(rows, sources) @ theta["capacity"] + limits
    return dp.ParametricLP(maximize=rng.uniform(0.5, 1.5, count), A=A, b=b)


def resources(rng: Rng, radius: float, *, activities: int, rows: int) -> Problem:
    """What activities use of resources; three uses in a row are one record."""
    count = activities * rows
    theta = dp.Envelope(0.0, 1.0, radius=radius, shape=count, records=np.arange(count) // 3)
    uses = theta[:].reshape(activities, rows).T
    worth = rng.uniform(0.5, 1.5, activities)
    return dp.ParametricLP(maximize=worth, A=uses, b=np.full(rows, activities / 6), upper=1.0)


def blending(rng: Rng, radius: float, *, parts: int, qualities: int) -> Problem:
    """The cheapest blend with enough of every quality; what ingredients contain is private."""
    theta = dp.Envelope(0.0, 1.0, radius=radius, shape=(qualities, parts))
    base = rng.uniform(0.5, 1.5, (qualities, parts))
    price = rng.uniform(1.0, 3.0, parts)
    need = np.full(qualities, -0.9 * parts / 8)
    return dp.ParametricLP(minimize=price, A=-1.0 * theta[:] - base, b=need, upper=1.0)


def portfolio(rng: Rng, radius: float, *, assets: int, factors: int) -> Problem:
    """Assets with private exposures to factors, one group each; an asset's are one record."""
    names = [f"factor {k}" for k in range(factors)]
    own = dp.Envelope(0.0, 1.0, radius=radius, shape=assets)
    record = np.arange(assets)
    theta = dp.Envelope.join(dict.fromkeys(names, own), records=dict.fromkeys(names, record))
    count = factors * assets
    place = np.arange(count) // assets, np.arange(count) % assets
    A = dp.Affine.sparse(theta[:], place, (factors, assets))
    gain, limit = rng.uniform(0.5, 1.5, assets), np.full(factors, assets / 8)
    return dp.ParametricLP(maximize=gain, A=A, b=limit, upper=1.0)


def staffing(rng: Rng, radius: float, *, hours: int, shifts: int) -> Problem:
    """At least cost, shifts that meet the private demand of every hour of a day."""
    theta = dp.Envelope(0.0, 20.0, radius=20 * radius, shape=hours)
    begin = np.concatenate([np.arange(hours), rng.integers(0, hours, shifts - hours)])
    cover = np.zeros((hours, shifts))
    for shift, hour in enumerate(begin.tolist()):
        cover[(hour + np.arange(hours // 3)) % hours, shift] = 1.0
    wages = rng.uniform(7.0, 10.0, shifts)
    return dp.ParametricLP(minimize=wages, A=-cover, b=-theta[:], upper=40.0)


def shared(rng: Rng, radius: float, *, columns: int, rows: int) -> Problem:
    """Rows that read the same entries, with public factors of their own."""
    theta = dp.Envelope(0.0, 1.0, radius=radius, shape=columns)
    row, column = np.divmod(np.arange(rows * columns), columns)
    weight = rng.uniform(0.5, 1.5, row.size)
    A = dp.Affine.sparse(theta[:][column] * weight, (row, column), (rows, columns))
    worth = rng.uniform(0.5, 1.0, columns)
    return dp.ParametricLP(maximize=worth, A=A, b=np.full(rows, columns / 8), upper=1.0)


def thin(rng: Rng, radius: float, *, columns: int, rows: int) -> Problem:
    """Every column meets three rows; its three uses are one record."""
    count = 3 * columns
    theta = dp.Envelope(0.0, 1.0, radius=radius, shape=count, records=np.arange(count) // 3)
    row = np.concatenate([rng.permutation(rows)[:3] for _ in range(columns)])
    A = dp.Affine.sparse(theta[:], (row, np.arange(count) // 3), (rows, columns))
    worth, limit = rng.uniform(0.5, 1.5, columns), np.full(rows, 3 * columns / rows / 5)
    return dp.ParametricLP(maximize=worth, A=A, b=limit, upper=1.0)


def garnet(rng: Rng, radius: float, *, states: int, start: str) -> Problem:
    """A random MDP: three actions, each with four successors."""
    actions, successors = 3, 4
    pairs = states * actions
    at = np.repeat(np.arange(pairs), successors), rng.integers(0, states, pairs * successors)
    T = sparse.csr_array((rng.dirichlet(np.ones(successors), pairs).ravel(), at), (pairs, states))
    T.sum_duplicates()
    return hazardous(
        T,
        rng.uniform(0.0, 1.0, (states, actions)),
        rng,
        radius=radius,
        start=start,
        among=np.arange(1, states),
    )[0]


def queue(rng: Rng, radius: float, *, states: int, start: str) -> Problem:
    """A queue served at one of three speeds: faster costs more, long queues may be hazards."""
    length = np.arange(states)
    speed = np.array([0.2, 0.4, 0.7])
    up, down = np.minimum(length + 1, states - 1), np.maximum(length - 1, 0)
    rows, cols, chances = [], [], []
    for action, served in enumerate(speed.tolist()):
        for chance, end in ((0.45, up), (0.55 * served, down), (0.55 * (1 - served), length)):
            rows.append(length * speed.size + action)
            cols.append(end)
            chances.append(np.full(states, chance))
    at = np.concatenate(rows), np.concatenate(cols)
    T = sparse.csr_array((np.concatenate(chances), at), (states * speed.size, states))
    T.sum_duplicates()
    reward = rng.uniform(0.5, 1.5, states)[:, None] - length[:, None] / states - speed**2
    return hazardous(T, reward, rng, radius=radius, start=start, among=np.arange(1, states))[0]


def rooms(rng: Rng, radius: float, *, start: str) -> Problem:
    """Four rooms as MiniGrid has them, with a door in every wall, from one corner to the other."""
    cells, middle = SIDE * SIDE, SIDE // 2
    wall = np.zeros((SIDE, SIDE), dtype=bool)
    wall[middle] = wall[:, middle] = True
    wall[middle, rng.integers(0, middle)] = wall[middle, rng.integers(middle + 1, SIDE)] = False
    wall[rng.integers(0, middle), middle] = wall[rng.integers(middle + 1, SIDE), middle] = False
    T = moves_on(SIDE, wall.ravel())
    reward = np.full((cells, 4), -1.0)
    reward[-1] = 0.0
    open_ = np.flatnonzero(~wall.ravel())[1:-1]
    return hazardous(T, reward, rng, radius=radius, start=start, among=open_)[0]


def truth(problem: Problem, rng: Rng) -> Floats:
    """A database: severities as :func:`hazardous` has them, other entries at a level of a group."""
    envelope = problem.envelope
    width = envelope.upper - envelope.lower
    if isinstance(problem, dp.ParametricCMDP):
        severe = rng.random(width.size) < 0.3
        mild = rng.uniform(0.0, 0.05, width.size)
        share = np.where(severe, rng.uniform(0.5, 1.0, width.size), mild)
    else:
        share = rng.random(width.size)
    return envelope.lower + share * width


#: Builders by class.
CLASSES: dict[str, Callable[..., Problem]] = {
    each.__name__: each
    for each in (
        knapsack, transport, resources, blending, portfolio, staffing, shared, thin,
        garnet, queue, rooms,
    )
}  # fmt: skip
#: (class, sizes, seed): what constants were chosen on, …
CHOSEN_ON: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("knapsack", {"rows": 1, "columns": 100}, 9001),
    ("knapsack", {"rows": 5, "columns": 60}, 9002),
    ("transport", {"sources": 6, "sinks": 8}, 9003),
    ("resources", {"activities": 60, "rows": 6}, 9004),
    ("blending", {"parts": 20, "qualities": 4}, 9005),
    ("portfolio", {"assets": 30, "factors": 3}, 9006),
    ("garnet", {"states": 60, "start": "uniform"}, 9007),
    ("rooms", {"start": "single"}, 9008),
    ("rooms", {"start": "single"}, 9009),
)
#: … and what is reported, of other seeds, sizes and more classes.
REPORTED: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("knapsack", {"rows": 1, "columns": 200}, 1),
    ("knapsack", {"rows": 8, "columns": 80}, 2),
    ("transport", {"sources": 10, "sinks": 15}, 3),
    ("resources", {"activities": 45, "rows": 9}, 4),
    ("blending", {"parts": 30, "qualities": 3}, 5),
    ("portfolio", {"assets": 50, "factors": 4}, 6),
    ("staffing", {"hours": 24, "shifts": 40}, 7),
    ("shared", {"columns": 40, "rows": 10}, 8),
    ("thin", {"columns": 30, "rows": 15}, 9),
    ("garnet", {"states": 80, "start": "uniform"}, 10),
    ("garnet", {"states": 50, "start": "single"}, 11),
    ("queue", {"states": 100, "start": "single"}, 12),
    ("rooms", {"start": "single"}, 13),
    ("rooms", {"start": "uniform"}, 14),
)
