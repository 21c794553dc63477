"""An environment as a public model: dynamics, and the names and places of its states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.frontends.gymnasium.keys import Named, RoomKey

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Environment:
    """What is known of an environment whose model was read: its states by key and by place.

    The model has one state more than the environment: the one after the end of an episode, last.
    """

    mdp: MDP
    keys: tuple[Any, ...]  # of the states: their numbers, unless the environment was explored
    cells: IntArray | None  # row and column of each state, where the environment is a grid
    shape: tuple[int, int] | None
    seed: int | None  # with which reset makes what was explored
    numbers: Mapping[Hashable, int]
    name: Named | None  # from (environment, observation) to the key of an explored state

    @property
    def num_states(self) -> int:
        """States of the environment: one fewer than the model's."""
        return len(self.keys)

    def states_at(self, row: int, col: int) -> IntArray:
        """Numbers of the states in a cell of the grid: several, where they differ in more."""
        if self.cells is None:
            raise InvalidArgumentError(
                "cells need a grid, and none is known of this environment: load it with "
                "cell=lambda key: (row, col)"
            )
        found = np.flatnonzero((self.cells == (row, col)).all(axis=1))
        if not found.size:
            raise InvalidArgumentError(
                f"cells must have states; row {row}, column {col} has none (rows and columns count "
                f"from 0, the grid is {self.shape})"
            )
        return found

    def state_of(self, env: Any, observation: Any) -> int:
        """Number of the state that an environment is in, of what it observes."""
        base = getattr(env, "unwrapped", env)
        key = _plain(observation) if self.name is None else self.name(base, observation)
        try:
            return self.numbers[key]
        except (KeyError, TypeError):
            raise InvalidArgumentError(
                "env must stay in the model: it is in a state that was not met when it was read, "
                "so no policy of the model says what to do. Reset it with the seed that was given "
                "to load, or load this environment"
            ) from None


def _plain(observation: Any) -> Any:
    return observation.item() if isinstance(observation, np.ndarray | np.generic) else observation


def placed(cell: Callable[[Any], Any], keys: tuple[Hashable, ...]) -> IntArray:
    """Row and column of every state, as a function of its key says."""
    found = np.empty((len(keys), 2), dtype=np.int64)
    for number, key in enumerate(keys):
        place = check.items("cell(...)", cell(key), most=2)
        if len(place) != 2:
            raise InvalidArgumentError(
                f"cell must return (row, column) of every key, got {len(place)} numbers"
            )
        found[number] = [check.integer("cell(...)", part, high=10**6) for part in place]
    return check.frozen(found)


def least_shape(cells: IntArray) -> tuple[int, int]:
    """Rows and columns that hold all cells."""
    rows, cols = cells.max(axis=0) + 1
    return int(rows), int(cols)


def own_grid(base: Any, keys: tuple[Hashable, ...]) -> tuple[Any, Any]:
    """Cells and shape of Gymnasium's and MiniGrid's own grids; None of others."""
    if keys and all(isinstance(key, RoomKey) for key in keys):
        return placed(lambda key: (key.row, key.col), keys), (base.height, base.width)
    if not all(isinstance(key, int) for key in keys):
        return None, None
    for given in (
        getattr(getattr(base, "desc", None), "shape", None),
        getattr(base, "shape", None),
    ):
        if isinstance(given, tuple) and len(given) == 2 and np.prod(given) == len(keys):
            rows, cols = given
            return np.stack(np.divmod(np.arange(rows * cols), cols), axis=1), given
    return None, None
