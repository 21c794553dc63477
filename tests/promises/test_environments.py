"""A model of an environment is what the environment does, or the environment is refused."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.promises.adapter import errors, load_environment

ACTIONS = 4
#: A combination that random walks do not find: any wrong action leads back to its beginning.
CODE = (2, 0, 3, 1, 1, 2, 3, 0, 2, 1, 3, 0)

Moves = Mapping[str, Mapping[int, str]]


class Maze(gym.Env[Any, Any]):
    """Places by name, of which a capital letter alone is observed: "X" and "X'" look alike.

    What `moves` does not list ends the episode.
    """

    def __init__(self, moves: Moves, *, paid: Mapping[str, float] | None = None) -> None:
        self.moves, self.paid = moves, dict(paid or {})
        names = sorted(
            {name[0] for name in (*moves, *(n for to in moves.values() for n in to.values()))}
        )
        self.numbers = {name: len(CODE) + place for place, name in enumerate(names)}
        self.over = len(CODE) + len(names)
        self.observation_space = gym.spaces.Discrete(self.over + 1)
        self.action_space = gym.spaces.Discrete(ACTIONS)
        self.entered, self.place = 0, ""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.entered, self.place = 0, ""
        return 0, {}

    def step(self, action: int) -> Any:
        if self.entered < len(CODE):
            self.entered = self.entered + 1 if action == CODE[self.entered] else 0
            if self.entered < len(CODE):
                return self.entered, 0.0, False, False, {}
            self.place = "H"
            return self.numbers["H"], 0.0, False, False, {}
        reward = self.paid.get(self.place, 0.0)
        self.place = self.moves[self.place].get(action, "")
        if not self.place:
            return self.over, reward, True, False, {}
        return self.numbers[self.place[0]], reward, False, False, {}


#: Ways from H to X: the first is as long as the others, or they are longer.
EQUAL = {"H": {0: "A", 1: "B"}, "A": {0: "X"}, "B": {0: "X'"}}
LATER = {"H": {0: "A", 1: "B"}, "A": {0: "X"}, "B": {0: "D"}, "D": {0: "X'"}}
#: Here X is still waiting for its turn when the longer way comes by.
LATER_BUT_SOON = {"H": {0: "B", 1: "A"}, "A": {0: "X"}, "B": {0: "D"}, "D": {0: "X'"}}
MUCH_LATER = {**LATER, "D": {0: "E"}, "E": {0: "F"}, "F": {0: "X'"}}
#: A third way that differs comes after one that does not, and the other way round.
EQUAL_THEN_LATER = {
    "H": {0: "A", 1: "B", 2: "C"},
    "A": {0: "X"},
    "B": {0: "X"},
    "C": {0: "D"},
    "D": {0: "X'"},
}
DIFFERENT_THEN_LATER = {**EQUAL_THEN_LATER, "B": {0: "X'"}, "D": {0: "X"}}
WAYS = {
    "equal": EQUAL,
    "later": LATER,
    "later but soon": LATER_BUT_SOON,
    "much later": MUCH_LATER,
    "equal, then later": EQUAL_THEN_LATER,
    "different, then later": DIFFERENT_THEN_LATER,
}
ways = pytest.mark.parametrize("name", WAYS)


#: What X and X' do otherwise, what is paid in X, and the rule that this breaks.
OTHERWISE: dict[str, Any] = {
    "lead elsewhere": ({"X": {1: "Y"}, "X'": {1: "Z"}, "Y": {}, "Z": {}}, 0.0, "key must hold"),
    "end or not": ({"X": {1: "Y"}, "X'": {}, "Y": {}}, 0.0, "key must hold everything"),
    "pay otherwise": ({"X": {1: "Y"}, "X'": {1: "Y"}, "Y": {}}, 1.0, "reward"),
}


@ways
@pytest.mark.parametrize("what", OTHERWISE)
def test_places_that_look_alike_and_are_not_are_refused(name: str, what: str) -> None:
    """No random walk gets there: every way to a known state is tried itself."""
    moves, paid, rule = OTHERWISE[what]
    with pytest.raises(errors.InvalidArgumentError, match=rule):
        load_environment(Maze({**WAYS[name], **moves}, paid={"X": paid}), gamma=0.9)


@ways
def test_places_that_look_alike_and_are_alike_are_one_state(name: str) -> None:
    alike = Maze({**WAYS[name], "X": {1: "Y"}, "X'": {1: "Y"}, "Y": {}})
    assert load_environment(alike, gamma=0.9) is not None


# --------------------------------------------------------------------- what shows only after long


class Corridor(gym.Env[Any, Any]):
    """Three places in a row; walking off the right end pays and ends the episode."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(4)
        self.action_space = gym.spaces.Discrete(2)
        self.place, self.steps = 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        return self.place, {}

    def step(self, action: int) -> Any:
        self.steps += 1
        self.place = max(0, self.place + (1 if action else -1))
        return self.place, float(self.place == 3), self.place == 3, False, {}


class Mortal(Corridor):
    """Its episodes are over after ten steps, wherever that is."""

    def step(self, action: int) -> Any:
        place, reward, over, cut, info = super().step(action)
        return place, reward, over or self.steps >= 10, cut, info


def test_an_end_that_comes_only_after_long_is_met_by_random_walks() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="random walk"):
        load_environment(Mortal(), gamma=0.9)


class Alternating(Corridor):
    """Every other reset starts one place further, whatever the seed."""

    times = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.times += 1
        self.place = self.times % 2
        return self.place, {}


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_start_that_no_seed_decides_is_refused(seed: int | None) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="seed"):
        load_environment(Alternating(), gamma=0.9, seed=seed)


# ------------------------------------------------------------------------------------------ chance


class Coin(gym.Env[Any, Any]):
    """One step, for which `draw` draws a number that changes nothing, perhaps from `made()`."""

    def __init__(self, made: Any, draw: Any) -> None:
        self.observation_space = gym.spaces.Discrete(2)
        self.action_space = gym.spaces.Discrete(1)
        self.made, self.draw, self.source = made, draw, None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.source = self.made()
        return 0, {}

    def step(self, action: int) -> Any:
        self.draw(self)
        return 1, 0.0, True, False, {}


def nothing() -> None:
    """Of environments that keep no generator of their own."""


SOURCES = {
    "a Generator": (lambda: np.random.default_rng(0), lambda env: env.source.random()),
    "a RandomState": (lambda: np.random.RandomState(0), lambda env: env.source.random()),
    "a random.Random": (lambda: random.Random(0), lambda env: env.source.random()),
    "one inside a list": (
        lambda: [np.random.default_rng(0)],
        lambda env: env.source[0].random(),
    ),
    "numpy's": (nothing, lambda env: np.random.random()),  # noqa: NPY002
    "Python's": (nothing, lambda env: random.random()),
    "Gymnasium's, never seeded": (nothing, lambda env: env.np_random.random()),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_step_that_draws_a_number_is_refused_whatever_comes_of_it(name: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="drew random numbers"):
        load_environment(Coin(*SOURCES[name]), gamma=0.9, check=False)


# --------------------------------------------------------------------------------- published tables


class Slipping(gym.Env[Any, Any]):
    """From 0 to 1 as its table says; once in a hundred steps to 2, which it lists as impossible."""

    start_state = 0

    def __init__(self, *, listed: bool, slips: float = 0.01) -> None:
        self.observation_space = gym.spaces.Discrete(3)
        self.action_space = gym.spaces.Discrete(1)
        self.slips, self.place = slips, 0
        impossible = [(0.0, 2, 0.0, False)] if listed else []
        back = [(1.0, 0, 0.0, False)]
        self.P = [[[(1.0, 1, 0.0, False), *impossible]], [back], [back]]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> Any:
        slipped = self.np_random.random() < self.slips
        self.place = 0 if self.place else (2 if slipped else 1)
        return self.place, 0.0, False, False, {}


@pytest.mark.parametrize("listed", [False, True])
def test_what_a_table_calls_impossible_is_refused_when_it_is_seen(listed: bool) -> None:
    load_environment(Slipping(listed=listed, slips=0.0), gamma=0.9)
    with pytest.raises(errors.InvalidArgumentError, match="must follow P"):
        load_environment(Slipping(listed=listed), gamma=0.9)
