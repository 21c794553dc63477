"""``P[state][action]``, a list of (probability, next_state, reward, terminated), as checked rows.

Whoever builds a table of their own meets every rule by name here, with the state and the action
that break it. The rows are then read as a CMDP with one state more: the one after the end.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.extras import is_installed
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import ROW_SUM_TOLERANCE

#: Wrappers of Gymnasium that change neither what an action does nor what is observed and earned.
HARMLESS = (
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "TimeLimit",
)


#: Packages whose environments are registered when they are imported, by the start of their ids.
_REGISTERED_BY = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}


@contextmanager
def opened(env: Any) -> Iterator[Any]:
    """The environment; made here, and closed again, if it was named by its id."""
    if isinstance(env, str):
        made = _made(env)
        try:
            yield made
        finally:
            made.close()
        return
    if isinstance(env, type) or hasattr(env, "num_envs"):
        what = "a class: make an environment of it" if isinstance(env, type) else "several"
        raise InvalidArgumentError(f"env must be one environment, got {what}")
    yield env


def _made(name: str) -> Any:
    import gymnasium

    for start, package in _REGISTERED_BY.items():
        if name.startswith(start) and is_installed(package):
            importlib.import_module(package)
    try:
        return gymnasium.make(name)
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidArgumentError(
            f"env must be the id of a Gymnasium environment; {name!r} could not be made "
            f"({str(error).splitlines()[0]})"
        ) from error


def wrappers(env: Any) -> Iterator[Any]:
    """What is around the environment, from the outside."""
    base = getattr(env, "unwrapped", env)
    while env is not base:
        yield env
        env = env.env


def played(env: Any, *own: type) -> Any:
    """The environment below its wrappers, if none of them changes what it does; `own` do not."""
    import gymnasium

    harmless = [*own, *(getattr(gymnasium.wrappers, name) for name in HARMLESS)]
    for layer in wrappers(env):
        if type(layer) not in harmless:
            raise InvalidArgumentError(
                f"env must do what P says, which is not known of its wrapper "
                f"{type(layer).__name__}: a certificate would hold for the environment below it "
                "only. Pass env.unwrapped if the wrapper does not matter"
            )
    base = getattr(env, "unwrapped", env)
    if getattr(base, "fickle_passenger", False):
        raise InvalidArgumentError(
            "env must follow P: a fickle passenger changes the destination, which P does not say. "
            "Make it with fickle_passenger=False"
        )
    return base


def start_of(base: Any, num_states: int) -> Any:
    """The environment's own start, as a distribution over its states."""
    distribution = getattr(base, "initial_state_distrib", None)
    if distribution is not None:
        return distribution
    start = getattr(base, "start_state", getattr(base, "start_state_index", None))
    if start is None:
        raise InvalidArgumentError(
            "env must say where it starts: set its attribute start_state (a state's number) or "
            "initial_state_distrib (a probability per state)"
        )
    return np.arange(num_states) == check.integer("start_state", start, high=num_states - 1)


class Move(NamedTuple):
    """One transition of P."""

    state: int
    action: int
    probability: float
    successor: int
    reward: float
    over: bool


@dataclass(frozen=True, slots=True)
class Table:
    """P as one row per transition, pair by pair."""

    num_states: int
    num_actions: int
    moves: list[Move]

    @classmethod
    def of(cls, model: Any) -> Table:
        """The table that ``env.unwrapped.P`` holds, or a refusal that names what is wrong in it."""
        rows = _numbered("P", "state", model)
        states = [_numbered(f"P[{s}]", "action", actions) for s, actions in enumerate(rows)]
        num_states, num_actions = len(states), len(states[0])
        for state, actions in enumerate(states):
            if len(actions) != num_actions:
                raise InvalidArgumentError(
                    f"P must have the same actions in every state: state 0 has {num_actions}, "
                    f"state {state} has {len(actions)}; let an action without effect stay there"
                )
        return cls(
            num_states,
            num_actions,
            [
                move
                for state, actions in enumerate(states)
                for action, listed in enumerate(actions)
                for move in _pair(state, action, listed, num_states)
            ],
        )

    def transitions(self) -> sparse.coo_array:
        """T, with the terminal state last."""
        end, actions = self.num_states, range(self.num_actions)
        entries = [(m.state, m.action, end if m.over else m.successor, m[2]) for m in self.moves]
        return self._matrix(entries + [(end, a, end, 1.0) for a in actions])

    def arrivals(self) -> sparse.coo_array:
        """How often each pair's move is expected to enter each state of the environment."""
        return self._matrix([(m.state, m.action, m.successor, m.probability) for m in self.moves])

    def rewards(self) -> FloatArray:
        r = np.zeros((self.num_states + 1, self.num_actions))
        for s, a, p, _, reward, _ in self.moves:
            r[s, a] += p * reward
        return r

    def acting(self, start: FloatArray) -> list[int]:
        """States in which somebody acts: reached from `start` by moves that do not terminate."""
        onward: dict[int, set[int]] = {}
        for m in self.moves:
            if m.probability > 0.0 and not m.over:
                onward.setdefault(m.state, set()).add(m.successor)
        reached = set(np.flatnonzero(start[: self.num_states] > 0.0).tolist())
        fresh = reached
        while fresh:
            fresh = set().union(*(onward.get(s, ()) for s in fresh)) - reached
            reached = reached | fresh
        return sorted(reached)

    def _matrix(self, entries: list[tuple[int, int, int, float]]) -> sparse.coo_array:
        states, actions, columns, data = (np.array(part) for part in zip(*entries, strict=True))
        size = self.num_states + 1
        rows = states * self.num_actions + actions
        return sparse.coo_array((data, (rows, columns)), shape=(size * self.num_actions, size))


def _numbered(name: str, what: str, given: Any) -> list[Any]:
    """The items of a mapping from 0, 1, 2, … or of a sequence, of which there is one at least."""
    if check.is_mapping(given):
        number = len(given)
        missing = next((key for key in range(number) if key not in given), None)
        if missing is not None:
            raise InvalidArgumentError(
                f"{name} must number its {what}s from 0 to {number - 1}: it has no {what} {missing}"
            )
        found = [given[key] for key in range(number)]
    else:
        found = list(check.items(name, given))
    if not found:
        raise InvalidArgumentError(f"{name} must not be empty: it has no {what}")
    return found


def _pair(state: int, action: int, listed: Any, num_states: int) -> Iterator[Move]:
    name, total = f"P[{state}][{action}]", []
    for position, item in enumerate(check.items(name, listed)):
        where = f"{name}[{position}]"
        fields = check.items(where, item, most=100)
        if len(fields) != 4:
            raise InvalidArgumentError(
                f"{where} must be (probability, next_state, reward, terminated), got "
                f"{len(fields)} items"
            )
        p, successor, reward, over = fields
        move = Move(
            state,
            action,
            check.real(f"the probability of {where}", p, low=0.0, high=1.0 + ROW_SUM_TOLERANCE),
            check.integer(f"the next state of {where}", successor, high=num_states - 1),
            check.real(f"the reward of {where}", reward),
            check.truth(f"terminated of {where}", over),
        )
        total.append(move.probability)
        yield move
    if abs(math.fsum(total) - 1.0) > ROW_SUM_TOLERANCE:
        raise InvalidArgumentError(
            f"{name} must have probabilities that sum to 1, they sum to {math.fsum(total):g}"
            + ("" if total else ": it lists no transition")
        )
