"""Deterministic environments without a table: what is found, and what is refused."""

import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from dp_cmdp import Envelope, import_gymnasium
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import InvalidArgumentError
from tests import rooms
from tests.problems import same_matrix
from tests.rooms import Walk


class Tabular:
    P = rooms.table()
    start_state = 0


def test_what_is_explored_is_the_table_written_by_hand():
    found, by_hand = (import_gymnasium(env, gamma=0.9).public for env in (Walk(), Tabular()))
    assert same_matrix(found.T, by_hand.T)
    assert same_matrix(found.arrivals, by_hand.arrivals)
    assert np.array_equal(found.r, by_hand.r)
    assert np.array_equal(found.mu, by_hand.mu)


def test_keys_name_states_that_no_observation_does():
    model = import_gymnasium(
        rooms.Pixels(), gamma=0.9, key=lambda env: env.place, cell=lambda key: key
    )
    plain = import_gymnasium(Walk(), gamma=0.9).public
    assert set(model.keys) == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert model.shape == (3, 3)
    order = [3 * row + col for row, col in model.keys] + [9]
    moved = plain.T.toarray().reshape(10, 4, 10)[np.ix_(order, range(4), order)]
    assert np.array_equal(model.public.T.toarray().reshape(9, 4, 9), moved)
    assert np.array_equal(model.public.r, plain.r[order])
    assert model.states_at(1, 2).tolist() == [model.keys.index((1, 2))]


@pytest.mark.parametrize(
    "env",
    [
        rooms.Slippery(),
        rooms.Pointless(),
        rooms.Nested(),
        rooms.Unseeded(),
        rooms.Python(),
        rooms.Numpy(),
    ],
    ids=lambda env: type(env).__name__,
)
def test_a_step_that_draws_random_numbers_is_refused(env):
    with pytest.raises(InvalidArgumentError, match=r"must be deterministic.*drew random numbers"):
        import_gymnasium(env, gamma=0.9)


def test_a_start_that_is_drawn_needs_a_seed_and_keeps_to_it():
    with pytest.raises(InvalidArgumentError, match="seed must be given"):
        import_gymnasium(rooms.Anywhere(), gamma=0.9)
    starts = set()
    for seed in range(8):
        model = import_gymnasium(rooms.Anywhere(), gamma=0.9, seed=seed)
        (start,) = np.flatnonzero(model.public.mu)
        assert rooms.Anywhere().reset(seed=seed)[0] == start
        starts.add(int(start))
    assert starts == {0, 1}


def test_pay_that_depends_on_the_time_is_refused_unless_it_is_said_what_to_earn():
    with pytest.raises(InvalidArgumentError, match=r"reward must depend on state and action alone"):
        import_gymnasium(rooms.Tired(), gamma=0.9)
    told = import_gymnasium(rooms.Tired(), gamma=0.9, reward=lambda paid: 5.0 if paid > 0 else -1.0)
    assert np.array_equal(told.public.r, import_gymnasium(Walk(), gamma=0.9).public.r)


def test_with_the_steps_in_its_key_time_is_represented_exactly():
    """A limit of the environment's own, and pay that depends on the time."""

    class Both(rooms.Patient, rooms.Tired):
        pass

    with pytest.raises(InvalidArgumentError, match="key must hold everything"):
        import_gymnasium(rooms.Patient(), gamma=0.9)
    model = import_gymnasium(Both(), gamma=0.9, key=lambda env: (env.place, env.steps))
    late = model.keys.index(((1, 1), 4))
    assert model.public.r[late, 2] == 4.5  # the fifth step enters the goal
    last = model.keys.index(((1, 1), 5))
    assert model.public.T[[last * 4], [model.num_states]] == 1.0  # whatever the sixth does


def test_a_limit_that_only_walks_meet_is_no_part_of_the_model_and_is_known():
    class Late(Walk):
        def cut(self):
            return self.steps >= 12

    model, plain = (import_gymnasium(env, gamma=0.9) for env in (Late(), Walk()))
    assert same_matrix(model.public.T, plain.public.T)
    assert model.is_limited
    assert not plain.is_limited
    with pytest.raises(InvalidArgumentError, match="time limit"):
        model.with_private_costs(states=[1], severity=Envelope(-1, 1, shape=1), tolerance=9.0)
    with pytest.raises(InvalidArgumentError, match="endless must be False"):
        import_gymnasium(Late(), gamma=0.9, endless=True)
    with pytest.raises(InvalidArgumentError, match="endless=True, your word"):
        plain.with_private_costs(states=[1], severity=Envelope(-1, 1, shape=1), tolerance=9.0)


def test_a_limit_that_the_search_meets_is_known_without_walks():
    clock = {"key": lambda env: (env.place, env.steps), "check": False}
    assert import_gymnasium(rooms.Patient(), gamma=0.9, **clock).is_limited


def test_a_key_that_forgets_what_matters_is_refused():
    with pytest.raises(InvalidArgumentError, match="key must hold everything"):
        import_gymnasium(rooms.Locked(), gamma=0.9)
    whole = import_gymnasium(rooms.Locked(), gamma=0.9, key=lambda env: (env.place, env.opened))
    assert whole.num_states == 15


def test_what_shows_only_after_long_is_met_by_random_walks():
    """The tenth step leads home: no state is tried that late by the search."""

    class Homesick(Walk):
        def step(self, action):
            found = super().step(action)
            if self.steps == 10 and not found[2]:
                self.place = 0, 0
                return self.observation(), *found[1:]
            return found

    with pytest.raises(InvalidArgumentError, match="random walk"):
        import_gymnasium(Homesick(), gamma=0.9)
    assert import_gymnasium(Homesick(), gamma=0.9, check=False).num_states == 9


def test_pay_that_changes_only_after_long_is_met_by_random_walks():
    class Weary(Walk):
        def pay(self, letter):
            return super().pay(letter) - (self.steps >= 10)

    with pytest.raises(InvalidArgumentError, match=r"reward must depend on state.*random walk"):
        import_gymnasium(Weary(), gamma=0.9)
    assert import_gymnasium(Weary(), gamma=0.9, check=False).num_states == 9
    assert import_gymnasium(Weary(), gamma=0.9, reward=lambda paid: 0.0).num_states == 9


@pytest.mark.parametrize(
    ("env", "change", "rule"),
    [
        (rooms.Pixels(), {}, "key must be given"),
        (rooms.Pixels(), {"key": lambda env: [1]}, "hashable"),
        (Walk(), {"max_states": 8}, "max_states must be at least 9"),
        (Walk(), {"key": lambda env: (env.place, env.steps)}, "max_states must be raised"),
        (Walk(), {"mu": [1.0]}, "mu must be left out"),
        ("FrozenLake-v1", {"key": lambda env: 0}, "key must be left out"),
        ("FrozenLake-v1", {"seed": 0}, "seed must be left out"),
        ("Pendulum-v1", {"key": lambda env: 0}, "Discrete action space"),
        ("Blackjack-v1", {}, "key must be given"),
        (Walk, {}, "got a class"),
        (gym.make_vec("FrozenLake-v1", num_envs=2), {}, "one environment, got several"),
        (HazardGridEnv(slip=0.0), {}, r"has its model already, env\.unwrapped\.model"),
        (Walk(), {"cell": lambda key: (1, 2, 3)}, "cell"),
        (Walk(), {"cell": lambda key: (-1, 2)}, "cell"),
    ],
)
def test_what_cannot_be_explored_is_refused_with_what_to_do(env, change, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        import_gymnasium(env, **{"gamma": 0.9, "max_states": 100, **change})


def test_an_action_that_raises_somewhere_is_refused():
    class Fragile(Walk):
        def step(self, action):
            if self.place == (2, 2):
                raise RuntimeError
            return super().step(action)

    with pytest.raises(InvalidArgumentError, match=r"must take every action everywhere"):
        import_gymnasium(Fragile(), gamma=0.9)


def global_states():
    numpy: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpy[1].tolist(), numpy[2]


def test_the_callers_environment_and_all_generators_stay_where_they_are():
    env = Walk()
    env.reset(seed=3)
    env.step(2)
    before = env.place, env.np_random.bit_generator.state
    ours = global_states()
    import_gymnasium(env, gamma=0.9)
    assert (env.place, env.np_random.bit_generator.state) == before
    assert global_states() == ours


@pytest.mark.parametrize("steps", [400])
def test_random_walks_go_where_the_model_says(steps):
    """Exact, step by step: successor, reward and end."""
    env = rooms.Locked()
    model = import_gymnasium(env, gamma=0.9, key=lambda env: (env.place, env.opened))
    rng = np.random.default_rng(0)
    T = model.public.T.toarray().reshape(model.num_states + 1, 4, -1)
    entered = model.public.arrivals.toarray().reshape(T.shape)
    observation, _ = env.reset(seed=0)
    state = model.state_of(env, observation)
    for _ in range(steps):
        action = int(rng.integers(4))
        observation, reward, over, _, _ = env.step(action)
        successor = model.state_of(env, observation)
        assert entered[state, action, successor] == 1.0
        assert T[state, action, model.num_states if over else successor] == 1.0
        assert model.public.r[state, action] == reward
        state = successor
        if over:
            state = model.state_of(env, env.reset()[0])


def test_wrappers_that_may_matter_are_refused_as_with_a_table():
    wrapped = gym.wrappers.TransformReward(Walk(), lambda reward: 2 * float(reward))
    with pytest.raises(InvalidArgumentError, match="TransformReward"):
        import_gymnasium(wrapped, gamma=0.9)
    limited = gym.wrappers.TimeLimit(Walk(), 50)
    assert import_gymnasium(limited, gamma=0.9).is_limited
    assert not import_gymnasium(Walk(), gamma=0.9).is_limited
