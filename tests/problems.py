"""Builders that several test files need."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.experiments.records import RecordStore
from dp_cmdp.program.parametric import ParametricLP


class SpyDatabase(Database):
    """Counts how often its values are read."""

    reads = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "values":
            SpyDatabase.reads += 1
        return super().__getattribute__(name)


def knapsack(
    size: int = 2,
    *,
    low: float = 0.0,
    radius: float = 0.25,
    capacity: float = 1.0,
    c: Any = None,
    **facts: Any,
) -> ParametricLP:
    """maximise c·x subject to Σθᵢxᵢ ≤ capacity, 0 ≤ x ≤ 1, θ in [low, 1]; c = 1 by default."""
    every = np.arange(size)
    return ParametricLP(
        Envelope(low, 1.0, radius=radius, shape=size, **facts),
        c=np.ones(size) if c is None else c,
        A=Affine((1, size), at=(np.zeros(size, dtype=int), every), entry=every),
        b=[capacity],
        upper=1.0,
    )


def random_parametric_lp(rng: np.random.Generator) -> ParametricLP:
    """A random bounded program that is feasible for every database, with repeated entries."""
    n, m, k = (int(v) for v in rng.integers((1, 1, 2), (6, 4, 7)))
    lower = rng.uniform(0.0, 1.0, k)
    upper = lower + rng.uniform(0.1, 2.0, k)
    envelope = Envelope(lower, upper, radius=(upper - lower) * rng.uniform(0.1, 1.0, k))
    terms = int(rng.integers(1, 2 * n * m + 1))
    A = Affine(
        (m, n),
        constant=rng.uniform(0.0, 1.0, (m, n)) * (rng.random((m, n)) < 0.5),
        at=(rng.integers(0, m, terms), rng.integers(0, n, terms)),
        entry=rng.integers(0, k, terms),
        coefficient=rng.uniform(-0.5, 2.0, terms),
    )
    b = Affine(
        m,
        constant=rng.uniform(2.0, 5.0, m),
        at=rng.integers(0, m, 2),
        entry=rng.integers(0, k, 2),
        coefficient=rng.uniform(0.0, 0.5, 2),
    )
    c = Affine(n, constant=rng.uniform(0.1, 1.0, n), at=[0], entry=[0], coefficient=[0.3])
    free = rng.random(n) < 0.3
    return ParametricLP(
        envelope,
        c=c,
        A=A,
        b=b,
        lower=np.where(free, -1.0, 0.0),
        upper=np.full(n, 4.0),
        A_ub=np.ones((1, n)),
        b_ub=[float(rng.uniform(1.0, 4.0))],
    )


def two_ways() -> CMDP:
    """Two ways from state 0 and back: over state 1, which pays 1, or over state 2, which pays ½."""
    T = np.zeros((3, 2, 3))
    T[0, 0, 1] = T[0, 1, 2] = 1.0
    T[1, :, 0] = T[2, :, 0] = 1.0
    r = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    return CMDP(T, r, f=np.zeros((3, 2)), f0=1.0, mu=[1.0, 0.0, 0.0], gamma=0.9)


def hazard_grid(env: str | EnvSpec, **options: Any) -> HazardGridEnv:
    """A registered grid, without Gymnasium's wrappers."""
    inner = gym.make(env, **options).unwrapped
    assert isinstance(inner, HazardGridEnv)
    return inner


def same_matrix(one: sparse.csr_array, other: sparse.csr_array) -> bool:
    """Whether two sparse matrices hold the same numbers, however they are stored."""
    return one.shape == other.shape and abs(one - other).max() == 0


def scipy_optimum(c: Any, **rows: Any) -> Any:
    """What scipy's linprog finds for min c·x, which must have a solution."""
    found: Any = linprog(c, **rows)
    assert found.status == 0
    return found


def finished(path: Any) -> int:
    """How many draws of a sweep are recorded in a folder."""
    store = RecordStore(path)
    try:
        return len(store.done())
    finally:
        store.close()
