"""An environment that does something else than its P says is not certified for it."""

import copy
import random
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

from dp_cmdp import Envelope, PrivateCost
from dp_cmdp._src.frontends.gymnasium.agreement import refuse_departures
from dp_cmdp._src.frontends.gymnasium.table import HARMLESS, Table
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.gymnasium import load


def imported(env, **options):
    return load(env, gamma=0.9, **options)


WRAPPERS = {
    name: kind
    for name, kind in vars(gymnasium.wrappers).items()
    if isinstance(kind, type) and issubclass(kind, gymnasium.Wrapper)
}


def wrapped(kind, env):
    """As if `kind` had been put around `env`, whatever arguments it takes."""
    layer = kind.__new__(kind)
    layer.env = env
    return layer


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_are_harmless_by_name_or_refused_by_name(name):
    env = wrapped(WRAPPERS[name], gymnasium.make("FrozenLake-v1"))
    if name in HARMLESS:
        imported(env)
        return
    with pytest.raises(InvalidArgumentError, match=rf"wrapper {name}.*env\.unwrapped"):
        imported(env, check=False)
    imported(env.unwrapped)


class Own(gymnasium.Wrapper):
    """It may do anything."""


class Limit(gymnasium.wrappers.TimeLimit):
    """It may do more than its base."""


@pytest.mark.parametrize("kind", [Own, Limit, gymnasium.ActionWrapper, gymnasium.RewardWrapper])
@pytest.mark.parametrize("inside", [False, True])
def test_wrappers_of_ones_own_are_refused_at_any_depth(kind, inside):
    env = wrapped(kind, gymnasium.make("FrozenLake-v1"))
    if inside:
        env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    with pytest.raises(InvalidArgumentError, match=f"wrapper {kind.__name__}"):
        imported(env)


def test_a_fickle_passenger_is_refused_by_name_and_found_by_stepping():
    env = TaxiEnv(fickle_passenger=True)
    with pytest.raises(InvalidArgumentError, match="fickle_passenger=False"):
        imported(env, check=False)
    with pytest.raises(InvalidArgumentError, match="must follow P"):
        refuse_departures(env, Table.of(env.P), env.initial_state_distrib)


def firm():
    return FrozenLakeEnv(desc=["SFF", "FFF", "HFG"], is_slippery=False)


class Sticky(FrozenLakeEnv):
    """Repeats the last action now and then."""

    def step(self, a):
        if self.lastaction is not None and self.np_random.random() < 0.2:
            a = self.lastaction
        return super().step(a)


class Dear(FrozenLakeEnv):
    """Earns something else than P says."""

    def step(self, a) -> Any:
        state, reward, *rest = super().step(a)
        return state, reward - 0.01, *rest


class Endless(FrozenLakeEnv):
    """Goes on where P says that it ends."""

    def step(self, a) -> Any:
        state, reward, _, *rest = super().step(a)
        return state, reward, False, *rest


class Sure(FrozenLakeEnv):
    """Slips, but less often than P says."""

    def step(self, a):
        wish = self.P[self.s][a][1]
        if self.np_random.random() < 0.5:
            self.s, self.lastaction = wish[1], a
            return int(wish[1]), wish[2], wish[3], False, {}
        return super().step(a)


class Elsewhere(FrozenLakeEnv):
    """Starts where its distribution says it never does."""

    def reset(self, **options):
        super().reset(**options)
        self.s = 1
        return 1, {}


class Trap(FrozenLakeEnv):
    """Leaves P in one far corner, by one action."""

    def step(self, a):
        if self.s == 62 and a == 3:
            self.s = 0
            return 0, 0, False, False, {}
        return super().step(a)


@pytest.mark.parametrize(
    ("env", "rule"),
    [
        (Sticky(is_slippery=False), "must follow P: from state"),
        (Dear(), "must follow P: .*reward -0.01"),
        (Endless(), "must follow P: .*terminated False"),
        (Sure(is_slippery=True), r"must follow P: in \d+ steps"),
        (Elsewhere(), "must start as it says: reset led to state 1"),
        (Trap(map_name="8x8", is_slippery=False), "from state 62 action 3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_departures_are_found_and_taken_on_trust_only_when_asked(env, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        imported(env)
    imported(env, check=False)


class Corridor:
    """Follows P and reports its state in `s`, which is not where it keeps it."""

    P = {  # noqa: RUF012
        s: {a: [(1.0, n, 0.0, n == 4)] for a, n in enumerate((max(s - 1, 0), min(s + 1, 4)))}
        for s in range(5)
    }
    start_state = 0
    slip = False

    def reset(self, *, seed=None):
        self.place = self.s = 0
        return 0, {}

    def step(self, action: int) -> Any:
        forward = action == 0 if self.slip and self.place == 1 else action == 1
        self.place = self.s = min(self.place + 1, 4) if forward else max(self.place - 1, 0)
        return self.place, 0.0, self.place == 4, False, {}


def test_walks_judge_where_states_cannot_be_set():
    env = Corridor()
    imported(env)
    env.slip = True
    with pytest.raises(InvalidArgumentError, match="must follow P: from state 1"):
        imported(env)


class Loud(FrozenLakeEnv):
    """Moves the global generators, as careless environments do."""

    def step(self, a):
        random.random()
        np.random.rand()  # noqa: NPY002
        return super().step(a)


def test_the_callers_environment_and_generators_are_left_as_they_are():
    env = Loud(is_slippery=True)
    env.reset(seed=5)
    env.step(1)
    twin = copy.deepcopy(env)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    imported(env)
    assert before == (random.getstate(), str(np.random.get_state()))  # noqa: NPY002
    assert env.s == twin.s
    assert [env.step(a)[0] for a in (1, 2) * 5] == [twin.step(a)[0] for a in (1, 2) * 5]


def test_an_environment_that_cannot_be_copied_is_made_again_or_refused():
    known: object = gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped
    unknown = firm()
    for env in (known, unknown):
        env.lock = threading.Lock()  # type: ignore[attr-defined]
    imported(known)
    with pytest.raises(InvalidArgumentError, match=r"can be copied.*check=False"):
        imported(unknown)
    imported(unknown, check=False)


@pytest.mark.parametrize("cost", [Envelope(-1, 1, radius=0.1), [-1.0]])
def test_costs_that_may_be_earned_back_are_refused(cost):
    """A time limit, which the model does not have, would cut off what they earn back."""
    credit = PrivateCost(states=[0], cost=cost, limit=Envelope(1, 2))
    with pytest.raises(InvalidArgumentError, match=r"cost must not be negative.*time limit"):
        imported("FrozenLake-v1", costs=credit)
