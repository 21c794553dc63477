"""Families of models that solvers are compared on: grids, corridors and well-mixed graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

import dp_cmdp as dp
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix
from tests.cmdp.models import slippery

FAMILIES = ("grid", "corridor", "garnet")


def family(name: str, *, size: int, gamma: float, K: int, seed: int = 0) -> dp.CMDP:
    """A model whose K limits bind: between what the safest and the boldest policies cost."""
    rng = np.random.default_rng(seed)
    if name == "grid":
        T, r, start, states, theta = slippery(int(np.sqrt(size)), seed=seed)
        cost = np.zeros((K, *r.shape))
        cost[:, states] = theta[:, None] * rng.uniform(0.5, 1.5, (K, states.size, 1))
    elif name == "corridor":
        return corridor(size, limit=0.4 * size, gamma=gamma, seed=seed, K=K)
    else:
        T, r, start, cost = garnet(rng, size=size, K=K)
    free = dp.CMDP(T, r, cost=cost, limit=np.full(K, 1e9), gamma=gamma, start=start)
    flow: Any = flow_matrix(free)
    safe, bold = (
        np.asarray(linprog(table.ravel(), A_eq=flow, b_eq=free.start).x)
        for table in (cost.sum(axis=0), -r)
    )
    return free._with_costs(cost, cost.reshape(K, -1) @ (0.7 * safe + 0.3 * bold))


def garnet(rng: np.random.Generator, *, size: int, K: int) -> tuple[np.ndarray, ...]:
    """Four random successors of every pair."""
    T = np.zeros((size, 3, size))
    for s, a in np.ndindex(size, 3):
        T[s, a, rng.choice(size, min(4, size), replace=False)] = rng.dirichlet(
            np.ones(min(4, size))
        )
    return T, rng.normal(size=(size, 3)), np.eye(size)[0], rng.random((K, size, 3))


def corridor(
    length: int, *, limit: float, gamma: float = 0.99, seed: int = 0, K: int = 1
) -> dp.CMDP:
    """A slippery corridor with an absorbing end: go forward, or cautiously and slowly."""
    rng = np.random.default_rng(seed)
    T, last = np.zeros((length, 2, length)), length - 1
    for state in range(last):
        T[state, 0, state + 1], T[state, 0, max(state - 1, 0)] = 0.8, 0.2
        T[state, 1, state + 1], T[state, 1, state] = 0.5, 0.5
    T[last, :, last] = 1.0
    r = np.full((length, 2), -1.0)
    r[last] = 0.0
    cost = np.zeros((K, length, 2))
    cost[:, :, 0] = rng.uniform(0.0, 1.0, (K, length))
    cost[:, last] = 0.0
    return dp.CMDP(T, r, cost=cost, limit=np.full(K, limit), gamma=gamma)
