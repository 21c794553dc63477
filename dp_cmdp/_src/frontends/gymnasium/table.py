"""``P[state][action]``, a list of (probability, next_state, reward, terminated), as checked rows.

Whoever builds a table of their own meets every rule by name here, with the state and the action
that break it. The rows are then read as a CMDP with one state more: the one after the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import ROW_SUM_TOLERANCE


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
