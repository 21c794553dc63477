"""Training on released costs."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

from dp_cmdp import envs
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.envs import HazardGridEnv, PrivateCostWrapper
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.release.entries import release_database
from tests.problems import hazard_grid

BUDGET = PrivacyBudget(1.0, 1e-4)


def curator(env_id="dp_cmdp/HazardGridTwoKinds-v0", seed=0):
    return hazard_grid(env_id, access="curator", hazards=seed)


def release_of(env):
    return release_database(env.database(), BUDGET, rng=np.random.default_rng(7))


@pytest.mark.parametrize("env_id", ["dp_cmdp/HazardGrid-v0", "dp_cmdp/HazardGridTwoKinds-v0"])
def test_the_reported_cost_is_the_released_upper_severity(env_id):
    truth = curator(env_id)
    release = release_of(truth)
    env = PrivateCostWrapper(gym.make(env_id), release)
    expected = truth.model().tightened(release)
    env.reset(seed=0)
    for step in range(60):
        state, action = env.get_wrapper_attr("state"), step % 4
        *_, terminated, truncated, info = env.step(action)
        assert np.array_equal(np.atleast_1d(info["cost"]), expected.f[:, state, action])
        if terminated or truncated:
            env.reset()
    assert np.array_equal(env.tolerance, expected.f0)


@pytest.mark.parametrize("seed", range(5))
def test_released_costs_and_tolerances_are_on_the_safe_side_of_the_truth(seed):
    truth = curator(seed=seed)
    env = PrivateCostWrapper(gym.make("dp_cmdp/HazardGridTwoKinds-v0"), release_of(truth))
    assert (env._costs >= truth.cmdp().f[:, :, 0]).all()
    assert (env.tolerance <= truth.tolerance).all()


def test_the_wrapper_reaches_no_database():
    env = PrivateCostWrapper(gym.make("dp_cmdp/HazardGridTwoKinds-v0"), release_of(curator()))
    with pytest.raises(PrivacyLeakError):
        env.get_wrapper_attr("database")()
    twin = pickle.loads(pickle.dumps(env))
    twin.reset(seed=0)
    assert np.array_equal(twin._costs, env._costs)


def test_a_curators_environment_is_not_wrapped():
    truth = curator()
    with pytest.raises(PrivacyLeakError, match="public"):
        PrivateCostWrapper(truth, release_of(truth))


def test_other_environments_and_other_releases_are_refused():
    release = release_of(curator())
    with pytest.raises(InvalidArgumentError, match="hazard grid"):
        PrivateCostWrapper(gym.make("CliffWalking-v1"), release)
    with pytest.raises(InvalidArgumentError, match="release of this environment"):
        PrivateCostWrapper(gym.make("dp_cmdp/HazardGrid-v0"), release)
    with pytest.raises(InvalidArgumentError, match="must be a Release"):
        PrivateCostWrapper(HazardGridEnv("rooms"), "release")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_the_wrappers_picture_shows_the_release(mode):
    truth = curator()
    public = gym.make("dp_cmdp/HazardGridTwoKinds-v0", render_mode=mode)
    env = PrivateCostWrapper(public, release_of(truth))
    env.reset(seed=0)
    shown = np.asarray(env.render())
    assert not np.array_equal(shown, np.asarray(env.unwrapped.render()))
    assert np.array_equal(shown, np.asarray(env.render()))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_train_on_released_costs(mode):
    release = release_of(curator())
    vector = gym.make_vec(
        "dp_cmdp.envs:dp_cmdp/HazardGridTwoKinds-v0",
        num_envs=2,
        vectorization_mode=mode,
        wrappers=[lambda env: PrivateCostWrapper(env, release)],
    )
    vector.reset(seed=0, options={"start": 3})
    *_, info = vector.step(np.array([1, 1]))
    expected = envs.GridModel(envs.named_layout("two_hazards")).cost_table(
        release.group("severity")["upper"]
    )[:, 3]
    assert np.array_equal(info["cost"], np.stack([expected, expected]))
    vector.close()


def test_the_wrapper_is_part_of_the_spec():
    env = PrivateCostWrapper(gym.make("dp_cmdp/HazardGridTwoKinds-v0"), release_of(curator()))
    assert env.spec is not None
    again = gym.make(env.spec)
    assert isinstance(again, PrivateCostWrapper)
