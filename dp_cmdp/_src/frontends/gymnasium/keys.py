"""How the states of an environment without a table are told apart: by their keys."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError

#: key(env) of the environment below its wrappers.
KeyFunction = Callable[[Any], Hashable]
#: (environment, observation) to key.
Named = Callable[[Any, Any], Hashable]
#: Characters of a key that a message shows.
KEY_SHOWN = 80


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
    return RoomKey(col, row, int(env.agent_dir), inside, env.grid.encode().tobytes())


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
