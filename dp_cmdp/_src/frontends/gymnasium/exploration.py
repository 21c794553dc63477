"""The table of a deterministic environment, found by stepping a copy of it from ``reset``.

A state is named by its *key*: whatever decides what happens next, as something hashable. From the
start on, every action is tried in every state that is met, so the table is what the environment
did. Two things could make it untrue, and both are searched for:

* **Chance.** A step that draws from a random generator (of the environment, of Python or of numpy)
  is refused, whatever came of it. A generator that copies share cannot be seen from outside, so
  runs are repeated: walks from ``reset``, at random and along the ways to states far inside.
* **A key that forgets.** A state that is met again, by another way or later, is tried again with
  every action: what happens must be the same, the reward included. So must the walks.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.progress import with_bar
from dp_cmdp._src.cmdp.rollout import parts
from dp_cmdp._src.frontends.gymnasium.agreement import (
    SECONDS,
    SEED,
    STEPS,
    WALK,
    fresh,
    global_generators_kept,
)
from dp_cmdp._src.frontends.gymnasium.snapshot import Generators, Snapshot
from dp_cmdp._src.frontends.gymnasium.states import (
    Named,
    by_observation,
    hashable,
    observed_states,
    shown,
    unseen,
)

#: Seeds from which an environment must start alike, unless one is chosen.
OTHER_SEEDS = 3
#: Steps at random beyond the state that a walk was directed to.
BEYOND = 4
INSTEAD = "Give env a table P, or build a model of its arrays"
_SAY_REWARD = (
    "Where the time matters (MiniGrid pays less the later), say what the model is to earn, for "
    "example reward=lambda paid: float(paid > 0)"
)
#: Generators are looked at after every so many states, at the end, and where outcomes differ.
CHECKED = 16
#: More states than this are refused.
MOST_STATES = 10_000


class Outcome(NamedTuple):
    """What one action did: where it led, what it paid, whether the episode was over or cut."""

    key: Hashable
    reward: float
    over: bool
    cut: bool = False


class Node(NamedTuple):
    """A state in the flesh: the environment in it, and after how many steps."""

    held: Snapshot
    depth: int


@dataclass(frozen=True, slots=True)
class Explored:
    """States by key, the start, and what each action does in each of them."""

    keys: tuple[Hashable, ...]
    start: int
    P: list[list[list[tuple[float, int, float, bool]]]]


def explore(
    base: Any,
    name: Named,
    *,
    seed: int | None,
    reward: Callable[[float], float] | None,
    check_steps: bool,
) -> Explored:
    """Everything within reach of ``reset``, or a refusal.

    `base` itself and the global generators are left as they are.
    """
    size = getattr(getattr(base, "action_space", None), "n", None)
    if size is None:
        raise InvalidArgumentError(
            f"env must have a Discrete action space; {type(base).__name__} has "
            f"{type(getattr(base, 'action_space', None)).__name__}. {INSTEAD}"
        )
    actions = check.integer("the number of actions of env", size, low=1)
    search = _Search(name, actions, reward)
    if name is by_observation:
        search.keep_numbers(observed_states(base) or 0)
    with global_generators_kept():
        env = unseen(fresh(base), name)
        start = _started(env, name, seed)
        if reward is None:
            _refuse_late_pay(env)
        first = search.node(env, 0)
        for state in with_bar(search.states(start, first), True, total=None, name="states"):
            if state % CHECKED == 0:
                search.refuse_draws()
        search.refuse_draws()
        first.held.restored()  # what env shares with others is as it was
        if check_steps:
            search.walk(unseen(fresh(base), name), seed)
    return search.found(start)


def _refuse_late_pay(env: Any) -> None:
    """Refuse what pays less the later, as MiniGrid does, before everything is explored."""
    try:
        later = copy.deepcopy(env)
        later.step_count += 1
        differs = later._reward() != env._reward()
    except Exception:  # no such method, or another one of this name: steps will tell
        return
    if differs:
        raise InvalidArgumentError(
            "reward must depend on state and action alone: env pays less the more steps were "
            f"taken. {_SAY_REWARD}"
        )


def _started(env: Any, name: Named, seed: int | None) -> Hashable:
    """Where episodes begin, if that is one state."""
    first = _reset(env, name, SEED if seed is None else seed)
    others = range(SEED + 1, SEED + 1 + OTHER_SEEDS) if seed is None else [seed]
    for other in others:
        if _reset(env, name, other) == first:
            continue
        if seed is None:
            raise InvalidArgumentError(
                "seed must be given: reset draws where an episode begins, or what the "
                "environment looks like. seed=0 explores the one that reset(seed=0) makes"
            )
        raise InvalidArgumentError(
            f"env must start alike from one seed: reset(seed={seed}) led to two states. {INSTEAD}"
        )
    return _reset(env, name, SEED if seed is None else seed)


def _reset(env: Any, name: Named, seed: int | None) -> Hashable:
    try:
        given = env.reset() if seed is None else env.reset(seed=seed)
    except Exception as error:
        raise InvalidArgumentError(
            f"env must be Gymnasium's: reset raised {type(error).__name__}"
        ) from error
    return copy.deepcopy(hashable(name(env, parts("reset", given, 2)[0])))


@dataclass(slots=True)
class _Search:
    name: Named
    num_actions: int
    reward: Callable[[float], float] | None
    numbers: dict[Hashable, int] = field(default_factory=dict)
    outcomes: dict[int, list[Outcome]] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    twins: dict[tuple[int, bool], Node] = field(default_factory=dict)
    tried: set[tuple[int, bool]] = field(default_factory=set)
    #: The state and the action from which each state was first met.
    before: dict[int, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Hashable, Hashable] = field(default_factory=dict)
    generators: Generators = field(default_factory=Generators)
    #: Whether a step made the environment's generator.
    drawn: bool = False

    def keep_numbers(self, count: int) -> None:
        """States are numbered as they are observed, those out of reach too."""
        if count > MOST_STATES:
            raise InvalidArgumentError(
                f"env must have at most {MOST_STATES} states, got {count} observations. {INSTEAD}"
            )
        self.numbers.update((number, number) for number in range(count))

    def node(self, env: Any, depth: int) -> Node:
        return Node(Snapshot(env, self.generators), depth)

    def states(self, start: Hashable, node: Node) -> Iterator[int]:
        """Every state within reach, after each of its actions was tried."""
        first = self.number(start)
        waiting = deque([(first, node)])
        self.depths[first] = 0
        while waiting:
            state, node = waiting.popleft()
            self.outcomes[state] = []
            for action in range(self.num_actions):
                outcome, env = self.step(node, action)
                self.outcomes[state].append(outcome)
                successor = self.number(outcome.key)
                if outcome.over:
                    continue
                if successor in self.depths:
                    self.meet_again(successor, env, node.depth + 1)
                else:
                    self.depths[successor] = node.depth + 1
                    self.before[successor] = state, action
                    waiting.append((successor, self.node(env, node.depth + 1)))
            for late in (False, True):
                twin = self.twins.pop((state, late), None)
                if twin is not None:
                    self.try_again(state, twin)
            yield state

    def meet_again(self, state: int, env: Any, depth: int) -> None:
        """Another way to a state: as long as the first, or longer; each is tried once."""
        kind = state, depth > self.depths[state]
        if kind in self.tried:
            return
        self.tried.add(kind)
        node = self.node(env, depth)
        if len(self.outcomes.get(state, ())) == self.num_actions:
            self.try_again(state, node)
        else:
            self.twins[kind] = node

    def try_again(self, state: int, node: Node) -> None:
        for action, before in enumerate(self.outcomes[state]):
            outcome, _ = self.step(node, action)
            if outcome == before:
                continue
            self.refuse_draws()
            place = f"from state {shown(list(self.numbers)[state])} action {action}"
            if outcome._replace(reward=before.reward) == before:
                raise _pays_otherwise(place, before, outcome)
            raise self._forgets(f"{place} once led to {_told(before)} and once to {_told(outcome)}")

    def walk(self, env: Any, seed: int | None) -> None:
        """Walks must go and earn as the table says: what a state forgets may show late.

        Half of the steps are random; the others take the way to a state drawn at random, and go on
        a little. Only the first reset gets a seed, unless the model is of that seed alone. A time
        limit of the environment's own may cut walks short: it is no part of the model.
        """
        rng, begun = np.random.default_rng(SEED), list(self.outcomes)
        start = SEED if seed is None else seed
        for directed in (False, True):
            deadline, steps = perf_counter() + SECONDS / 2, 0
            while steps < STEPS // 2 and perf_counter() < deadline:
                key, start = _reset(env, self.name, start), seed
                way = self._way(begun[int(rng.integers(len(begun)))]) if directed else []
                for place in range(len(way) + BEYOND if directed else WALK):
                    known = place < len(way)
                    action = way[place] if known else int(rng.integers(self.num_actions))
                    outcome = self._as_before(env, key, action)
                    key, steps = outcome.key, steps + 1
                    if outcome.over:
                        break

    def _way(self, state: int) -> list[int]:
        """The actions that first led to a state."""
        found: list[int] = []
        while state in self.before:
            state, action = self.before[state]
            found.append(action)
        return found[::-1]

    def _as_before(self, env: Any, key: Hashable, action: int) -> Outcome:
        """What a step of a walk did, if it is what the table says."""
        before = self.outcomes.get(self.numbers.get(key, -1))
        if before is None:
            raise self._forgets(f"a random walk met state {shown(key)}, which no search did")
        outcome, known = self._outcome(env, action), before[action]
        over = known.over if outcome.cut else outcome.over
        place = f"on a random walk from state {shown(key)} action {action}"
        if (outcome.key, over) != (known.key, known.over):
            raise self._forgets(f"{place} led to {_told(outcome)}, not {_told(known)}")
        if outcome.reward != known.reward:
            raise _pays_otherwise(place, known, outcome)
        return outcome

    def _forgets(self, seen: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"key must hold everything that decides what happens next: {seen}. Put what differs "
            "into key (the steps taken, if a time limit of env's own ends episodes; or raise that "
            f"limit). If the difference is chance, env cannot be explored: {INSTEAD}"
        )

    def step(self, node: Node, action: int) -> tuple[Outcome, Any]:
        """What an action does, and the environment after it, until it is put elsewhere."""
        env = node.held.restored()
        unmade = getattr(env, "_np_random", None) is None
        outcome = self._outcome(env, action)
        self.drawn |= unmade and getattr(env, "_np_random", None) is not None
        return outcome, env

    def refuse_draws(self) -> None:
        """Refuse an environment that has drawn from a random generator, whatever came of it."""
        if self.drawn or self.generators.moved():
            raise InvalidArgumentError(
                "env must be deterministic to be explored by its steps: one of them drew random "
                f"numbers. {INSTEAD}"
            )

    def _outcome(self, env: Any, action: int) -> Outcome:
        try:
            given = env.step(action)
        except Exception as error:
            raise InvalidArgumentError(
                f"env must take every action everywhere: step({action}) raised "
                f"{type(error).__name__}. Let an action without effect stay where it is"
            ) from error
        observation, paid, terminated, truncated, _ = parts("step", given, 5)
        earned = check.number("reward", paid)
        if self.reward is not None:
            earned = check.number("reward(...)", self.reward(earned))
        over, cut = check.truth("terminated", terminated), check.truth("truncated", truncated)
        key = self.kept(hashable(self.name(env, observation)))
        return Outcome(key, earned, over or cut, cut and not over)

    def kept(self, key: Hashable) -> Hashable:
        """The key as it was first: what hangs on an environment may change under its name."""
        if key not in self.keys:
            key = copy.deepcopy(key)
            self.keys[key] = key
        return self.keys[key]

    def number(self, key: Hashable) -> int:
        found = self.numbers.setdefault(key, len(self.numbers))
        if found >= MOST_STATES:
            raise InvalidArgumentError(
                f"key must forget what does not matter: more than {MOST_STATES} states are within "
                f"reach of reset. {INSTEAD}"
            )
        return found

    def found(self, start: Hashable) -> Explored:
        """Nobody acts where episodes only end: whatever is done there, the end stays the end."""
        table = []
        for own, state in self.numbers.items():
            rows = self.outcomes.get(state) or [Outcome(own, 0.0, True)] * self.num_actions
            table.append([[(1.0, self.numbers[key], paid, over)] for key, paid, over, _ in rows])
        return Explored(tuple(self.numbers), self.numbers[start], table)


def _pays_otherwise(place: str, before: Outcome, outcome: Outcome) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"reward must depend on state and action alone: {place} once paid {before.reward:g} and "
        f"once {outcome.reward:g}. {_SAY_REWARD}, or put the steps taken into key"
    )


def _told(outcome: Outcome) -> str:
    end = ", where the episode was over" if outcome.over else ""
    return f"{shown(outcome.key)}{end}"
