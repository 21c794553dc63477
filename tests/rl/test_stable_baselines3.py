"""Learners of Stable-Baselines3 train on released costs, and what they learn is read exactly."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp import Envelope, Policy, import_gymnasium
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.envs import PrivateCostWrapper
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.release.entries import release_database

pytestmark = pytest.mark.rl
EXAMPLES = Path(__file__).parents[2] / "examples/gymnasium"
HOLES = [5, 7, 11, 12]


@pytest.fixture(scope="module")
def released():
    model = import_gymnasium("FrozenLake-v1", gamma=0.95).with_private_costs(
        states=HOLES,
        on="entering",
        severity=Envelope(0, 1, radius=0.1, shape=4),
        tolerance=Envelope(0.05, 0.5, radius=0.01),
    )
    database = model.database([1, 0.2, 0.8, 0], tolerance=0.3)
    rng = np.random.default_rng(0)
    return model, release_database(database, dp.PrivacyBudget(4, "1/1000"), rng=rng)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["PPO", "A2C", "DQN"])
def test_a_learner_trains_through_the_wrapper_and_its_table_is_what_it_does(name, released):
    sb3 = pytest.importorskip("stable_baselines3")
    torch = pytest.importorskip("torch")
    model, release = released
    env = PrivateCostWrapper(gym.make("FrozenLake-v1"), release, model)
    short = {"n_steps": 64} if name != "DQN" else {"learning_starts": 50}
    learner = getattr(sb3, name)("MlpPolicy", env, seed=0, device="cpu", **short)
    learner.learn(256)
    policy = Policy.from_sb3(learner, num_states=17)
    assert policy.probs.shape == (17, 4)
    assert (np.abs(policy.probs.sum(axis=1) - 1.0) < 1e-15 * 8).all()
    assert policy.probs[16].tolist() == [0.25] * 4
    states = np.arange(16)
    greedy, _ = learner.predict(states, deterministic=True)
    assert np.array_equal(policy.probs[:16].argmax(axis=1), greedy)
    if name == "DQN":
        assert policy.probs[:16].max(axis=1).tolist() == [1.0] * 16
    else:
        with torch.no_grad():
            tensor, _ = learner.policy.obs_to_tensor(states)
            told = learner.policy.get_distribution(tensor).distribution.probs.numpy()
        assert told.dtype == np.float32
        assert policy.probs[:16] == pytest.approx(told, rel=1e-6)
        assert Policy(told) == Policy.from_sb3(learner)
    certify_policy(model.tightened(release), policy)


@pytest.mark.filterwarnings("ignore")
def test_a_learner_on_other_observations_is_refused():
    sb3 = pytest.importorskip("stable_baselines3")
    learner = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, device="cpu")
    with pytest.raises(InvalidArgumentError, match=r"Discrete spaces.*observation_space is Box"):
        Policy.from_sb3(learner)


def test_the_lagrangian_learner_of_the_examples_trains_and_is_judged(tmp_path):
    pytest.importorskip("stable_baselines3")
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "ppo_lagrangian.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "certified safe" in done.stdout
