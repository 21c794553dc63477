"""The table of a deterministic environment, found by stepping copies of it from ``reset``.

A state is named by its *key*: whatever decides what happens next, as something hashable. From the
start on, every action is tried in a copy of every state that is met, so the table is what the
environment did. Two things could make it untrue, and both are looked for:

* **Chance.** A step that draws from a random generator (of the environment, of Python or of numpy)
  is refused, whatever came of it.
* **A key that forgets.** A state that is met again, by another way or later, is tried again with
  every action: what happens must be the same, the reward included. Random walks must then follow
  the table.
"""

from __future__ import annotations

import copy
import operator
import pickle
import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dp_cmdp import _check
from dp_cmdp.cmdp.rollout import parts
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.agreement import (
    SECONDS,
    SEED,
    STEPS,
    WALK,
    fresh,
    global_generators_kept,
)

#: key(env) of the environment below its wrappers.
KeyFunction = Callable[[Any], Hashable]
#: (environment, observation) to key.
Named = Callable[[Any, Any], Hashable]
#: Seeds from which an environment must start alike, unless one is chosen.
OTHER_SEEDS = 3
#: Characters of a key that a message shows.
KEY_SHOWN = 80
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
INSTEAD = "Give env a table P, or build a CMDP of its arrays"


class Outcome(NamedTuple):
    """What one action did: where it led, what it paid, whether the episode was over."""

    key: Hashable
    reward: float
    over: bool


class Node(NamedTuple):
    """A state in the flesh: a copy of the environment in it, and after how many steps."""

    env: Any
    depth: int


@dataclass(frozen=True, slots=True)
class Explored:
    """States by key, the start, and what each action does in each of them."""

    keys: tuple[Hashable, ...]
    start: int
    P: list[list[list[tuple[float, int, float, bool]]]]


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
        raise InvalidArgumentError(
            "env must be somebody else's: a hazard grid has its model already, env.unwrapped.model()"
        )
    if key is not None:
        return partial(_by_function, key)
    if is_room(base):
        return _by_room
    if _observed_states(base) is not None:
        return by_observation
    raise InvalidArgumentError(
        f"key must be given: {type(base).__name__} has no table P, and its observations are no "
        "state numbers. Give key=lambda env: ..., everything in env that decides what happens "
        "next, as a number, a text or a tuple of them; or build a CMDP of its arrays"
    )


def _observed_states(base: Any) -> int | None:
    """How many states an environment observes by their numbers; None if it does not."""
    space = getattr(base, "observation_space", None)
    if type(space).__name__ != "Discrete" or getattr(space, "start", 0) != 0:
        return None
    return _check.integer("the size of the observation space", getattr(space, "n", None), low=1)


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


def explore(
    base: Any,
    name: Named,
    *,
    seed: int | None,
    max_states: int,
    reward: Callable[[float], float] | None,
    check: bool,
) -> Explored:
    """Everything within reach of ``reset``, or a refusal.

    Notes
    -----
    `base` itself and the global generators are left as they are.
    """
    size = getattr(getattr(base, "action_space", None), "n", None)
    if size is None:
        raise InvalidArgumentError(
            f"env must have a Discrete action space; {type(base).__name__} has "
            f"{type(getattr(base, 'action_space', None)).__name__}. {INSTEAD}"
        )
    actions = _check.integer("the number of actions of env", size, low=1)
    search = _Search(name, actions, max_states, reward)
    if name is by_observation:
        search.keep_numbers(_observed_states(base) or 0)
    with global_generators_kept():
        start = _started(fresh(base), name, seed)
        search.run(start)
        if check:
            search.walk(fresh(base), seed)
    return search.found(start[0])


def _started(env: Any, name: Named, seed: int | None) -> tuple[Hashable, Node]:
    """Where episodes begin, if that is one state."""
    first = _reset(env, name, SEED if seed is None else seed)
    others = range(SEED + 1, SEED + 1 + OTHER_SEEDS) if seed is None else [seed]
    for other in others:
        if _reset(env, name, other) == first:
            continue
        if seed is None:
            raise InvalidArgumentError(
                "seed must be given: reset draws where an episode begins, or what the "
                "environment looks like. seed=0 explores the one that reset(seed=0) makes, and "
                "envs.StateObservation plays it"
            )
        raise InvalidArgumentError(
            f"env must start alike from one seed: reset(seed={seed}) led to two states. {INSTEAD}"
        )
    return _reset(env, name, SEED if seed is None else seed), Node(env, 0)


def _reset(env: Any, name: Named, seed: int) -> Hashable:
    try:
        given = env.reset(seed=seed)
    except Exception as error:
        raise InvalidArgumentError(
            f"env must be Gymnasium's: reset(seed=...) raised {type(error).__name__}"
        ) from error
    return _hashable(name(env, parts("reset", given, 2)[0]))


@dataclass(slots=True)
class _Search:
    name: Named
    num_actions: int
    max_states: int
    reward: Callable[[float], float] | None
    numbers: dict[Hashable, int] = field(default_factory=dict)
    outcomes: dict[int, list[Outcome]] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    twins: dict[tuple[int, bool], Node] = field(default_factory=dict)
    tried: set[tuple[int, bool]] = field(default_factory=set)

    def keep_numbers(self, count: int) -> None:
        """States are numbered as they are observed, those out of reach too."""
        if count > self.max_states:
            raise InvalidArgumentError(
                f"max_states must be at least {count}, the number of observations of env"
            )
        self.numbers.update((number, number) for number in range(count))

    def run(self, start: tuple[Hashable, Node]) -> None:
        key, node = start
        first = self.number(key)
        waiting = deque([(first, node)])
        self.depths[first] = 0
        while waiting:
            state, node = waiting.popleft()
            self.outcomes[state] = []
            for action in range(self.num_actions):
                outcome, after = self.step(node, action)
                self.outcomes[state].append(outcome)
                successor = self.number(outcome.key)
                if outcome.over:
                    continue
                if successor in self.depths:
                    self.meet_again(successor, after)
                else:
                    self.depths[successor] = after.depth
                    waiting.append((successor, after))
            for late in (False, True):
                twin = self.twins.pop((state, late), None)
                if twin is not None:
                    self.try_again(state, twin)

    def meet_again(self, state: int, node: Node) -> None:
        """Another way to a state: as long as the first, or longer; each is tried once."""
        kind = state, node.depth > self.depths[state]
        if kind in self.tried:
            return
        self.tried.add(kind)
        if len(self.outcomes.get(state, ())) == self.num_actions:
            self.try_again(state, node)
        else:
            self.twins[kind] = node

    def try_again(self, state: int, node: Node) -> None:
        for action, before in enumerate(self.outcomes[state]):
            outcome, _ = self.step(node, action)
            if outcome == before:
                continue
            place = f"from state {_shown(self._key_of(state))} action {action}"
            if outcome._replace(reward=before.reward) == before:
                raise InvalidArgumentError(
                    f"reward must depend on state and action alone: {place} once paid "
                    f"{before.reward:g} and once {outcome.reward:g}. Where the time matters "
                    "(MiniGrid pays less the later), say what the model is to earn, for example "
                    "reward=lambda paid: float(paid > 0), or put the steps taken into key"
                )
            raise self._forgets(f"{place} once led to {_told(before)} and once to {_told(outcome)}")

    def walk(self, env: Any, seed: int | None) -> None:
        """Random walks must go where the table says: what a state forgets may show late."""
        rng, deadline, length = np.random.default_rng(SEED), perf_counter() + SECONDS, 0
        key = _reset(env, self.name, SEED if seed is None else seed)
        for _ in range(STEPS):
            state, action = self.numbers.get(key, -1), int(rng.integers(self.num_actions))
            before = self.outcomes.get(state)
            if before is None:
                raise self._forgets(f"a random walk met state {_shown(key)}, which no search did")
            outcome = self._outcome(env, action)
            if outcome.key != before[action].key or outcome.over != before[action].over:
                place = f"on a random walk from state {_shown(key)} action {action}"
                raise self._forgets(f"{place} led to {_told(outcome)}, not {_told(before[action])}")
            key, length = outcome.key, length + 1
            if outcome.over or length == WALK:
                key, length = _reset(env, self.name, SEED if seed is None else seed), 0
            if perf_counter() > deadline:
                break

    def _forgets(self, seen: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"key must hold everything that decides what happens next: {seen}. Put what differs "
            "into key (the steps taken, if a time limit of env's own ends episodes; or raise that "
            "limit)"
        )

    def step(self, node: Node, action: int) -> tuple[Outcome, Node]:
        memo: dict[int, Any] = {}
        try:
            env = copy.deepcopy(node.env, memo)
        except Exception as error:
            raise InvalidArgumentError(
                f"env must be one that can be copied; deepcopy raised {type(error).__name__}"
            ) from None
        # whatever hangs on env was copied, generators of generators included
        generators = [part for part in memo.values() if isinstance(part, GENERATORS)]
        before = _generator_states(env, generators)
        outcome = self._outcome(env, action)
        if _generator_states(env, generators) != before:
            raise InvalidArgumentError(
                f"env must be deterministic to be explored by its steps: action {action} drew "
                f"random numbers. {INSTEAD}"
            )
        return outcome, Node(env, node.depth + 1)

    def _outcome(self, env: Any, action: int) -> Outcome:
        try:
            given = env.step(action)
        except Exception as error:
            raise InvalidArgumentError(
                f"env must take every action everywhere: step({action}) raised "
                f"{type(error).__name__}. Let an action without effect stay where it is"
            ) from error
        observation, paid, terminated, truncated, _ = parts("step", given, 5)
        earned = _check.number("reward", paid)
        if self.reward is not None:
            earned = _check.number("reward(...)", self.reward(earned))
        over = _check.truth("terminated", terminated) or _check.truth("truncated", truncated)
        return Outcome(_hashable(self.name(env, observation)), earned, over)

    def number(self, key: Hashable) -> int:
        found = self.numbers.setdefault(key, len(self.numbers))
        if found >= self.max_states:
            raise InvalidArgumentError(
                f"max_states must be raised, or key must forget what does not matter: more than "
                f"{self.max_states} states are within reach of reset"
            )
        return found

    def _key_of(self, state: int) -> Hashable:
        return list(self.numbers)[state]

    def found(self, start: Hashable) -> Explored:
        """Nobody acts where episodes only end: whatever is done there, the end stays the end."""
        table = []
        for own, state in self.numbers.items():
            rows = self.outcomes.get(state) or [Outcome(own, 0.0, True)] * self.num_actions
            table.append([[(1.0, self.numbers[key], paid, over)] for key, paid, over in rows])
        return Explored(tuple(self.numbers), self.numbers[start], table)


def _generator_states(env: Any, generators: list[Any]) -> bytes:
    """All random generators that a step could have drawn from, and whether it made one."""
    own = getattr(env, "_np_random", None)
    states: list[Any] = [own is None, random.getstate(), np.random.get_state()]  # noqa: NPY002
    for part in generators:
        if isinstance(part, np.random.Generator):
            states.append(part.bit_generator.state)
        elif isinstance(part, np.random.RandomState):
            states.append(part.get_state())
        else:
            states.append(part.getstate())
    return pickle.dumps(states)


def _hashable(key: Any) -> Hashable:
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


def _told(outcome: Outcome) -> str:
    end = ", where the episode was over" if outcome.over else ""
    return f"{_shown(outcome.key)}{end}"


def _shown(key: Hashable) -> str:
    text = repr(key)
    return text if len(text) <= KEY_SHOWN else f"{text[:KEY_SHOWN]}…"
