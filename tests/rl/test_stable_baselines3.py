"""Learners of Stable-Baselines3 train on released costs, and what they learn is read exactly."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError

pytestmark = pytest.mark.rl
EXAMPLES = Path(__file__).parents[2] / "examples/gymnasium"
HOLES = [5, 7, 11, 12]


@pytest.fixture(scope="module")
def released():
    costs = dp.PrivateCost(
        dp.Envelope(0, 1, radius=0.1),
        dp.Envelope(0.05, 0.5, radius=0.01),
        states=HOLES,
        on="entering",
    )
    model = dp.gymnasium.load("FrozenLake-v1", gamma=0.95, costs=costs)
    data = {"cost": [1, 0.2, 0.8, 0], "limit": 0.3}
    return model, dp.publish(model, data, epsilon=4, delta="1/1000", strategy="entries")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["PPO", "A2C", "DQN"])
def test_a_learner_trains_through_the_wrapper_and_its_table_is_what_it_does(name, released):
    sb3 = pytest.importorskip("stable_baselines3")
    torch = pytest.importorskip("torch")
    model, release = released
    env = dp.gymnasium.ReleasedCosts(gym.make("FrozenLake-v1"), model, release)
    short = {"n_steps": 64} if name != "DQN" else {"learning_starts": 50}
    learner = getattr(sb3, name)("MlpPolicy", env, seed=0, device="cpu", **short)
    learner.learn(256)
    policy = dp.Policy.from_sb3(learner, num_states=17)
    assert policy.probabilities.shape == (17, 4)
    assert (np.abs(policy.probabilities.sum(axis=1) - 1.0) < 1e-15 * 8).all()
    assert policy.probabilities[16].tolist() == [0.25] * 4
    states = np.arange(16)
    greedy, _ = learner.predict(states, deterministic=True)
    assert np.array_equal(policy.probabilities[:16].argmax(axis=1), greedy)
    if name == "DQN":
        assert policy.probabilities[:16].max(axis=1).tolist() == [1.0] * 16
    else:
        with torch.no_grad():
            tensor, _ = learner.policy.obs_to_tensor(states)
            told = learner.policy.get_distribution(tensor).distribution.probs.numpy()
        assert told.dtype == np.float32
        assert policy.probabilities[:16] == pytest.approx(told, rel=1e-6)
        assert dp.Policy(told) == dp.Policy.from_sb3(learner)
    dp.certify(model, policy, release)


@pytest.mark.filterwarnings("ignore")
def test_a_learner_on_other_observations_is_refused():
    sb3 = pytest.importorskip("stable_baselines3")
    learner = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=64, device="cpu")
    with pytest.raises(InvalidArgumentError, match=r"Discrete spaces.*observation_space is Box"):
        dp.Policy.from_sb3(learner)


def test_the_lagrangian_learner_of_the_examples_trains_and_is_judged(tmp_path):
    pytest.importorskip("stable_baselines3")
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "ppo_lagrangian.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "certified safe" in done.stdout
