"""Builders that several test files need."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp.envs import HazardGridEnv


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
