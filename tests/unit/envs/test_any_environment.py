"""Released costs in environments that are not ours, and their shapes for other libraries."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp import Envelope, PrivateCost, import_gymnasium
from dp_cmdp.envs import HazardGridEnv, PrivateCostWrapper, SixTupleWrapper, StateObservation
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.release.entries import release_database
from tests import rooms

HOLES = [5, 7, 11, 12]
TRUTH = [1.0, 0.2, 0.8, 0.0]


def model_of(**kinds):
    return import_gymnasium("FrozenLake-v1", gamma=0.95).with_private_costs(**kinds)


def holes():
    return model_of(
        states=HOLES,
        on="entering",
        severity=Envelope(0, 1, radius=0.1, shape=4),
        tolerance=Envelope(0.05, 0.5, radius=0.01),
    )


def release_of(model):
    database = model.database(TRUTH, tolerance=0.3)
    return release_database(database, dp.PrivacyBudget(4, "1/1000"), rng=np.random.default_rng(7))


def test_a_step_reports_the_released_cost_of_what_it_entered():
    model = holes()
    release = release_of(model)
    env = PrivateCostWrapper(gym.make("FrozenLake-v1"), release, model)
    upper = dict(zip(HOLES, release.group("severity")["upper"], strict=True))
    env.reset(seed=0)
    falls = 0
    for step in range(300):
        state, _, terminated, truncated, info = env.step(step % 4)
        assert info["cost"] == upper.get(state, 0.0)
        assert "prob" in info  # the environment's own information stays
        falls += state in HOLES
        if terminated or truncated:
            env.reset()
    assert falls > 5
    assert env.tolerance == release.group("tolerance")["lower"]
    assert env.tolerance <= 0.3


def test_without_a_release_costs_are_the_public_worst_case():
    env = PrivateCostWrapper(gym.make("FrozenLake-v1", is_slippery=False), None, holes())
    env.reset(seed=0)
    env.step(1)
    assert env.step(2)[4]["cost"] == 1.0
    assert env.tolerance == 0.05
    grid = PrivateCostWrapper(HazardGridEnv())
    grid.reset(seed=0)
    assert np.array_equal(grid.tolerance, HazardGridEnv().tolerance)


def test_a_cost_that_the_environment_reports_itself_is_replaced():
    class Telling(gym.Wrapper):
        def step(self, action):
            seen, reward, over, cut, info = self.env.step(action)
            return seen, reward, over, cut, {**info, "cost": 123.0}

    env = PrivateCostWrapper(Telling(gym.make("FrozenLake-v1")), None, holes())
    env.reset(seed=0)
    assert env.step(0)[4]["cost"] != 123.0


def test_a_model_built_by_hand_charges_its_expected_cost():
    model = holes()
    plain = dp.ParametricCMDP(
        model.envelope,
        T=model.public.T,
        r=model.public.r,
        mu=model.public.mu,
        gamma=0.95,
        cost=model.cost,
        tolerance=model.tolerance,
        arrivals=model.public.arrivals,
    )

    release = release_of(model)
    watched: gym.Env = gym.Wrapper(gym.make("FrozenLake-v1"))
    watched.observation_space = gym.spaces.Discrete(17)
    env = PrivateCostWrapper(watched, release, plain)
    state, _ = env.reset(seed=0)
    f = plain.tightened(release).f[0]
    for _ in range(20):
        before, (state, _, over, cut, info) = state, env.step(1)
        assert info["cost"] == f[before, 1]
        if over or cut:
            state, _ = env.reset()


def test_spaces_that_do_not_fit_the_model_are_refused_with_what_to_do():
    with pytest.raises(InvalidArgumentError, match=r"Discrete\(16\).*StateObservation"):
        PrivateCostWrapper(gym.make("CliffWalking-v1"), None, holes())
    with pytest.raises(InvalidArgumentError, match="model must be given"):
        PrivateCostWrapper(gym.make("FrozenLake-v1"))
    with pytest.raises(InvalidArgumentError, match="model must be left out"):
        PrivateCostWrapper(HazardGridEnv(), None, holes())
    with pytest.raises(InvalidArgumentError, match="action_space"):
        StateObservation(gym.make("Taxi-v4"), holes())
    with pytest.raises(InvalidArgumentError, match="release"):
        PrivateCostWrapper(gym.make("FrozenLake-v1"), holes(), holes())  # type: ignore[arg-type]


def test_states_are_observed_and_the_room_that_was_explored_is_played():
    model = import_gymnasium(
        rooms.Anywhere(), gamma=0.9, seed=3, key=lambda env: (env.place, "here")
    )
    env = StateObservation(rooms.Anywhere(), model)
    for seed in (None, 0, 1, 2):
        state, _ = env.reset(seed=seed)
        assert model.public.mu[state] == 1.0
    state, *_ = env.step(1)
    assert model.keys[state][0] == env.unwrapped.place  # type: ignore[index]
    assert env.observation_space == gym.spaces.Discrete(model.num_states)


def test_a_state_that_was_not_imported_is_an_error():
    model = import_gymnasium(rooms.Pixels(), gamma=0.9, key=lambda env: env.place)

    class Larger(rooms.Pixels):
        def start(self):
            return 2, 0

    with pytest.raises(InvalidArgumentError, match="not imported"):
        StateObservation(Larger(), model).reset()


def test_six_values_for_other_libraries():
    model = holes()
    env = SixTupleWrapper(PrivateCostWrapper(gym.make("FrozenLake-v1"), release_of(model), model))
    observation, info = env.reset(seed=0)
    assert info["prob"] == 1
    observation, reward, cost, terminated, truncated, info = env.step(0)
    assert isinstance(cost, float)
    assert cost == info["cost"]
    assert env.observation_space.contains(observation)
    assert (terminated, truncated) == (False, False)
    assert reward == 0


def test_of_several_costs_one_is_chosen():
    model = model_of(
        kinds={
            "hole": PrivateCost(
                states=HOLES, on="entering", severity=Envelope(0, 1, shape=4), tolerance=0.5
            ),
            "step": PrivateCost(actions=[0], public_severity=[0.25], tolerance=5.0),
        }
    )
    inner = PrivateCostWrapper(gym.make("FrozenLake-v1"), None, model)
    assert SixTupleWrapper(inner, kind=1).reset(seed=0)[0] == 0
    assert SixTupleWrapper(inner, kind=1).step(0)[2] == 0.25
    with pytest.raises(InvalidArgumentError, match="kind must say which of the 2"):
        SixTupleWrapper(inner).step(0)
    with pytest.raises(InvalidArgumentError, match="kind must say"):
        SixTupleWrapper(inner, kind=2).step(0)
    plain = gym.make("FrozenLake-v1")
    plain.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match="PrivateCostWrapper"):
        SixTupleWrapper(plain).step(0)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_report_released_costs(mode):
    model = holes()
    release = release_of(model)
    vector = gym.make_vec(
        "FrozenLake-v1",
        num_envs=2,
        vectorization_mode=mode,
        wrappers=[lambda env: PrivateCostWrapper(env, release, model)],
        is_slippery=False,
    )
    vector.reset(seed=0)
    vector.step(np.array([1, 1]))
    *_, info = vector.step(np.array([2, 0]))
    assert info["cost"].tolist() == [release.group("severity")["upper"][0], 0.0]
    vector.close()


def test_the_wrapper_pickles_and_is_part_of_the_spec():
    model = holes()
    env = PrivateCostWrapper(gym.make("FrozenLake-v1"), release_of(model), model)
    twin = pickle.loads(pickle.dumps(env))
    assert np.array_equal(twin.tolerance, env.tolerance)
    assert env.spec is not None
    assert isinstance(gym.make(env.spec), PrivateCostWrapper)
