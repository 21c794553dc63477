"""Problems, sources and databases that the tests of releases share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp._src.release.measurement import System


def small() -> Any:
    """maximise 3x + 2y, θ₀x + θ₁y ≤ θ₂."""
    theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    return dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])


SMALL = [1.0, 1.2, 10.0]


def dense(rows: int, columns: int, *, radius: float = 0.1, seed: int = 0) -> Any:
    """Rows of private coefficients, one entry each, below public limits."""
    rng = np.random.default_rng(seed)
    theta = dp.Envelope(0, 1, radius=radius, shape=(rows, columns))
    return dp.ParametricLP(
        maximize=rng.uniform(0.5, 1, columns), A=theta[:], b=np.full(rows, columns / 8), upper=1
    )


def shared(rows: int, columns: int, **adjacency: Any) -> Any:
    """Rows that all read the same entries, with other public factors."""
    rng = np.random.default_rng(5)
    theta = dp.Envelope(0, 1, radius=0.1, shape=columns, **adjacency)
    factors = rng.uniform(0.5, 1.5, (rows, columns))
    A = dp.Affine.sparse(
        theta[:][np.tile(np.arange(columns), rows)] * factors.ravel(),
        (np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)),
        (rows, columns),
    )
    return dp.ParametricLP(
        maximize=rng.uniform(0.5, 1, columns), A=A, b=np.full(rows, columns / 8), upper=1
    )


def demand(count: int) -> Any:
    """minimise Σx, x ≥ θ: entries of which less is better, each in a row of its own."""
    theta = dp.Envelope(0, 50, radius=1, shape=count)
    return dp.ParametricLP(minimize=np.ones(count), A=-np.eye(count), b=-theta[:])


def budget(epsilon: Any = 1, delta: Any = "1/1000") -> dp.PrivacyBudget:
    return dp.PrivacyBudget(epsilon, delta)


def repeatable(seed: int = 0) -> System:
    """Exact noise from bytes of a seed."""
    return System(np.random.default_rng(seed).bytes)


class Recorded:
    """A ledger and a loader that note in one list what happens, in order."""

    def __init__(self, values: Any, problem: Any, *, fail: BaseException | None = None) -> None:
        self.events: list[str] = []
        self._fail = fail
        self.database = dp.Database(self._loader(values), problem)
        object.__setattr__(self.database, "ledger", self)  # stands for an account

    def _loader(self, values: Any) -> Callable[[], Any]:
        def load() -> Any:
            self.events.append("read")
            return values

        return load

    def debit(self, budget: Any, envelope: Any = None, note: str = "") -> str:
        if self._fail is not None:
            raise self._fail
        self.events.append(f"debit {float(budget.epsilon):g} {float(budget.delta):g}")
        return "reference"
