"""Environments that are explored by their steps: chance is refused by evidence, and early.

A model is made of what every action was seen to do once; it is true only of deterministic
environments. A random generator that a copy of the environment shares (of its class, or of a
function around it) cannot be seen from outside, so runs are repeated, with seeds and without.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from minigrid.envs.empty import EmptyEnv

from tests.promises.adapter import errors, load_environment


class Chain(gym.Env[int, int]):
    """Places in a row, and a generator that no copy of the environment has for itself."""

    observation_space = gym.spaces.Discrete(16)  # pyright: ignore[reportAssignmentType]
    action_space = gym.spaces.Discrete(4)  # pyright: ignore[reportAssignmentType]
    rng = np.random.default_rng(1)
    #: reset(seed=…) begins the random numbers anew.
    is_seeded = True
    place = 0

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def draw(self) -> bool:
        return bool(type(self).rng.random() < self.chance)

    def begin_anew(self, seed: int) -> None:
        type(self).rng = np.random.default_rng(seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None and self.is_seeded:
            self.begin_anew(seed)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        paid = self.move(action)
        return self.place, paid, self.place in (4, 15), False, {}

    def move(self, action: int) -> float:
        raise NotImplementedError


class Slippery(Chain):
    """Now and then a step ends where the episode began; episodes are short."""

    def move(self, action: int) -> float:
        self.place = 0 if self.draw() else self.place + 1
        return 0.0


class Lottery(Chain):
    """Whether the end pays is drawn when an episode begins, and not to be seen before."""

    pays = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        begun = super().reset(seed=seed, options=options)
        self.pays = self.draw()
        return begun

    def move(self, action: int) -> float:
        self.place += 1
        return float(self.pays and self.place == 4)


class Lock(Chain):
    """One action goes on, the others begin anew; far inside, every step on may pay or not."""

    is_seeded = False

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        paid = self.move(action)
        return self.place, paid, self.place == 15, False, {}

    def move(self, action: int) -> float:
        goes_on, inside = action == self.place % 4, self.place >= 8
        self.place = self.place + 1 if goes_on else 0
        return float(goes_on and inside and self.draw())


def of_class(kind: type[Chain], chance: float) -> Chain:
    """With a generator of its class."""

    class Own(kind):
        rng = np.random.default_rng(1)

    return Own(chance)


def of_closure(kind: type[Chain], chance: float) -> Chain:
    """With a generator of the function that made the class."""
    rng = np.random.default_rng(1)

    class Enclosed(kind):
        def draw(self) -> bool:
            return bool(rng.random() < self.chance)

        def begin_anew(self, seed: int) -> None:
            nonlocal rng
            rng = np.random.default_rng(seed)

    return Enclosed(chance)


@pytest.mark.parametrize("made", [of_class, of_closure])
@pytest.mark.parametrize(("kind", "chance"), [(Slippery, 0.03), (Lottery, 0.5), (Lock, 0.5)])
def test_chance_from_a_shared_generator_is_refused(
    kind: type[Chain], chance: float, made: Any
) -> None:
    load_environment(made(kind, 0.0), gamma=0.9)  # nothing else is wrong with it
    with pytest.raises(errors.InvalidArgumentError):
        load_environment(made(kind, chance), gamma=0.9)


class CountedRoom(EmptyEnv):
    """A room of MiniGrid, which pays less the later: 1 − 0.9·steps/max_steps."""

    steps = 0

    def step(self, action: Any) -> Any:
        CountedRoom.steps += 1
        return super().step(action)


def test_a_forgotten_reward_is_refused_before_the_exploration() -> None:
    CountedRoom.steps = 0
    with pytest.raises(errors.InvalidArgumentError, match=r"reward.*reward="):
        load_environment(CountedRoom(size=6), gamma=0.97)
    refused_after, CountedRoom.steps = CountedRoom.steps, 0
    room = load_environment(CountedRoom(size=6), gamma=0.97, reward=lambda paid: float(paid > 0))
    assert CountedRoom.steps >= 7 * len(room.environment.keys)  # what exploring it takes
    assert refused_after < len(room.environment.keys)
