"""Deterministic environments without a table: what is found, and what is refused."""

import random
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest

from dp_cmdp._src.frontends.gymnasium import exploration
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.gymnasium import load
from tests.frontends import rooms
from tests.frontends.rooms import Walk


def same_matrix(one: Any, other: Any) -> bool:
    return abs(one - other).max() == 0.0


class Tabular:
    P = rooms.table()
    start_state = 0


def test_what_is_explored_is_the_table_written_by_hand():
    found, by_hand = (load(env, gamma=0.9) for env in (Walk(), Tabular()))
    assert same_matrix(found.T, by_hand.T)
    assert same_matrix(found.mdp.arrivals, by_hand.mdp.arrivals)
    assert np.array_equal(found.r, by_hand.r)
    assert np.array_equal(found.start, by_hand.start)


def test_keys_name_states_that_no_observation_does():
    model = load(rooms.Pixels(), gamma=0.9, key=lambda env: env.place, cell=lambda key: key)
    plain = load(Walk(), gamma=0.9)
    assert set(model.environment.keys) == {
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    }
    assert model.environment.shape == (3, 3)
    order = [3 * row + col for row, col in model.environment.keys] + [9]
    moved = plain.T.toarray().reshape(10, 4, 10)[np.ix_(order, range(4), order)]
    assert np.array_equal(model.T.toarray().reshape(9, 4, 9), moved)
    assert np.array_equal(model.r, plain.r[order])
    assert model.environment.states_at(1, 2).tolist() == [model.environment.keys.index((1, 2))]


def test_a_start_that_is_drawn_needs_a_seed_and_keeps_to_it():
    with pytest.raises(InvalidArgumentError, match="seed must be given"):
        load(rooms.Anywhere(), gamma=0.9)
    starts = set()
    for seed in range(8):
        model = load(rooms.Anywhere(), gamma=0.9, seed=seed)
        (start,) = np.flatnonzero(model.start)
        assert rooms.Anywhere().reset(seed=seed)[0] == start
        starts.add(int(start))
    assert starts == {0, 1}


def test_pay_that_depends_on_the_time_is_refused_unless_it_is_said_what_to_earn():
    with pytest.raises(InvalidArgumentError, match=r"reward must depend on state and action alone"):
        load(rooms.Tired(), gamma=0.9)
    said = load(rooms.Tired(), gamma=0.9, reward=lambda paid: 5.0 if paid > 0 else -1.0)
    assert np.array_equal(said.r, load(Walk(), gamma=0.9).r)


def test_with_the_steps_in_its_key_time_is_represented_exactly():
    """A limit of the environment's own, and pay that depends on the time."""

    class Both(rooms.Patient, rooms.Tired):
        pass

    with pytest.raises(InvalidArgumentError, match="key must hold everything"):
        load(rooms.Patient(), gamma=0.9)
    model = load(Both(), gamma=0.9, key=lambda env: (env.place, env.steps))
    late = model.environment.keys.index(((1, 1), 4))
    assert model.r[late, 2] == 4.5  # the fifth step enters the goal
    last = model.environment.keys.index(((1, 1), 5))
    assert model.T[[last * 4], [model.environment.num_states]] == 1.0  # whatever the sixth does


def test_a_limit_that_only_walks_meet_is_no_part_of_the_model():
    class Late(Walk):
        def cut(self):
            return self.steps >= 12

    model, plain = (load(env, gamma=0.9) for env in (Late(), Walk()))
    assert same_matrix(model.T, plain.T)


@pytest.mark.parametrize(
    ("env", "change", "rule"),
    [
        (rooms.Pixels(), {}, "key must be given"),
        (rooms.Pixels(), {"key": lambda env: [1]}, "hashable"),
        (Walk(), {"key": lambda env: (env.place, env.steps)}, "key must forget what does not"),
        ("FrozenLake-v1", {"key": lambda env: 0}, "key must be left out"),
        ("Pendulum-v1", {"key": lambda env: 0}, "Discrete action space"),
        (Walk, {}, "got a class"),
        (HazardGridEnv(slip=0.0), {}, r"has its model already: env\.unwrapped\.model"),
    ],
)
def test_what_cannot_be_explored_is_refused_with_what_to_do(env, change, rule, monkeypatch):
    monkeypatch.setattr(exploration, "MOST_STATES", 100)
    with pytest.raises(InvalidArgumentError, match=rule):
        load(env, gamma=0.9, **change)


def global_states():
    numpy: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpy[1].tolist(), numpy[2]


def test_the_callers_environment_and_all_generators_stay_where_they_are():
    env = Walk()
    env.reset(seed=3)
    env.step(2)
    before = env.place, env.np_random.bit_generator.state
    ours = global_states()
    load(env, gamma=0.9)
    assert (env.place, env.np_random.bit_generator.state) == before
    assert global_states() == ours


@pytest.mark.parametrize("steps", [400])
def test_random_walks_go_where_the_model_says(steps):
    """Exact, step by step: successor, reward and end."""
    env = rooms.Locked()
    model = load(env, gamma=0.9, key=lambda env: (env.place, env.opened))
    rng = np.random.default_rng(0)
    T = model.T.toarray().reshape(model.environment.num_states + 1, 4, -1)
    entered = model.mdp.arrivals.toarray().reshape(T.shape)
    observation, _ = env.reset(seed=0)
    state = model.environment.state_of(env, observation)
    for _ in range(steps):
        action = int(rng.integers(4))
        observation, reward, over, _, _ = env.step(action)
        successor = model.environment.state_of(env, observation)
        assert entered[state, action, successor] == 1.0
        assert T[state, action, model.environment.num_states if over else successor] == 1.0
        assert model.r[state, action] == reward
        state = successor
        if over:
            state = model.environment.state_of(env, env.reset()[0])


#: Shared by all environments of the class below, as constants of a module are.
SHARED: list[Any] = [[0, 0], {"turns": 0}]


class Held:
    """An object whose attributes are another's business."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        self.times = 0


class Changing(Walk):
    """Every step changes, in place, whatever a state may be kept in."""

    def __init__(self, *, hidden: bool) -> None:
        super().__init__()
        self.listed = [deque([1]), {"k": {2}}, bytearray(b"x"), np.zeros((2, 2)), OrderedDict()]
        self.same, self.owner, self.shared = self.listed[1], self.unmoved, SHARED
        self.nested = type("Other", (), {})()
        self.hidden = [Held()] if hidden else []

    def unmoved(self) -> tuple[int, int]:
        return self.place

    def count(self) -> tuple[int, ...]:
        """How many steps each of the places has counted: equal, if all go back together."""
        line, named, raw, array, order = self.listed
        other = getattr(self.nested, "times", 0), self.shared[1]["turns"], int(array[1, 0])
        slots = [held.times for held in self.hidden]
        return (len(line) - 1, len(named["k"]) - 1, len(raw) - 1, len(order), *other, *slots)

    def step(self, action: int) -> Any:
        where, given = self.owner(), super().step(action)
        assert {*self.count()} == {self.steps - 1}
        assert self.same is self.listed[1]
        assert where == (0, 0) or self.steps > 1
        self.listed[0].append(self.steps)
        self.same["k"].add(-self.steps)
        self.listed[2] += b"y"
        self.listed[3][1, 0] += 1
        self.listed[4][self.steps] = ()
        setattr(self.nested, "__class__", type("New", (), {}))  # noqa: B010
        setattr(self.nested, "__dict__", {"times": self.steps})  # noqa: B010
        self.shared[1]["turns"] += 1
        for held in self.hidden:
            held.times += 1
        return given

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.__init__(hidden=bool(self.hidden))
        SHARED[1]["turns"] = 0
        return super().reset(seed=seed)


@pytest.mark.parametrize("hidden", [False, True])
def test_every_action_is_tried_from_the_state_itself_wherever_that_is_kept(hidden):
    found, plain = (load(env, gamma=0.9) for env in (Changing(hidden=hidden), Walk()))
    assert same_matrix(found.T, plain.T)
    assert np.array_equal(found.r, plain.r)


def test_a_key_that_is_a_part_of_the_environment_is_kept_as_it_was():
    class Place:
        def __init__(self, at):
            self.at = at

        def __eq__(self, other):
            return self.at == other.at

        def __hash__(self):
            return hash(self.at)

    class Moving(Walk):
        own: Any = Place((0, 0))

        def key(self):
            self.own.at = self.place
            return self.own

    model = load(Moving(), gamma=0.9, key=Moving.key, check=False)
    assert len({key.at for key in model.environment.keys}) == 8
