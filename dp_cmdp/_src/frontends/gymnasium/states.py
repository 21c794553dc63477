"""An environment as a public model: dynamics, and the names and places of its states."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cmdp.model import MDP

#: key(env) of the environment below its wrappers.
KeyFunction = Callable[[Any], Hashable]
#: (environment, observation) to key.
Named = Callable[[Any, Any], Hashable]
#: Characters of a key that a message shows.
KEY_SHOWN = 80
#: A cell of a room in which nothing stands.
EMPTY = bytes(3)


class RoomKey(NamedTuple):
    """All that a MiniGrid room can change: where the agent is, what it holds, what stands where."""

    col: int
    row: int
    direction: int
    carrying: Hashable
    grid: bytes

    def __repr__(self) -> str:
        held = "" if self.carrying is None else f", carrying={self.carrying}"
        return f"RoomKey(row={self.row}, col={self.col}, direction={self.direction}{held})"


def naming(base: Any, key: KeyFunction | None) -> Named:
    """How states of an environment are told apart."""
    if hasattr(base, "grid_model"):
        raise InvalidArgumentError("a hazard grid has its model already: env.unwrapped.model()")
    if key is not None:
        return partial(_by_function, key)
    if is_room(base):
        return _by_room
    if observed_states(base) is not None:
        return by_observation
    raise InvalidArgumentError(
        f"key must be given: {type(base).__name__} has no table P, and its observations are no "
        "state numbers. Give key=lambda env: ..., everything in env that decides what happens "
        "next, as a number, a text or a tuple of them; or build a model of its arrays"
    )


def observed_states(base: Any) -> int | None:
    """How many states an environment observes by their numbers; None if it does not."""
    space = getattr(base, "observation_space", None)
    if type(space).__name__ != "Discrete" or getattr(space, "start", 0) != 0:
        return None
    return check.integer("the size of the observation space", getattr(space, "n", None), low=1)


def is_room(base: Any) -> bool:
    """Whether an environment looks like one of MiniGrid's."""
    return all(hasattr(base, name) for name in ("agent_pos", "agent_dir", "grid", "carrying"))


def _by_function(key: KeyFunction, env: Any, observation: Any) -> Hashable:
    return key(env)


def _by_room(env: Any, observation: Any) -> Hashable:
    held = env.carrying
    col, row = (int(place) for place in env.agent_pos)
    inside = None if held is None else (held.encode(), repr(getattr(held, "contains", None)))
    grid = b"".join([EMPTY if part is None else bytes(part.encode()) for part in env.grid.grid])
    return RoomKey(col, row, int(env.agent_dir), inside, grid)


def unseen(env: Any, name: Named) -> Any:
    """The environment, without what its agent sees where that is MiniGrid's own: nobody looks."""
    own = (
        getattr(getattr(type(env), part, None), "__module__", "") for part in ("gen_obs", "step")
    )
    if name is _by_room and all(module.startswith("minigrid.") for module in own):
        env.gen_obs = lambda: None
    return env


def by_observation(env: Any, observation: Any) -> Hashable:
    return operator.index(observation)


def hashable(key: Any) -> Hashable:
    """The key, if states can be told apart by it."""
    try:
        hash(key)
        sound = bool(key == key)  # NaN is not
    except Exception:
        sound = False
    if not sound:
        raise InvalidArgumentError(
            "key must return something hashable that equals itself (a number, a text or a tuple of "
            f"them), got {type(key).__name__}"
        )
    return key


def shown(key: Hashable) -> str:
    """A key as a message shows it."""
    try:
        text = repr(key)
    except Exception:
        text = f"<{type(key).__name__}>"
    return text if len(text) <= KEY_SHOWN else f"{text[:KEY_SHOWN]}…"


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
