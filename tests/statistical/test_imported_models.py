"""Imported models against the environments they came from.

Deterministic ones are compared exactly, step by step. For others each comparison is the
Chernoff–Hoeffding bound P(mean beyond q) ≤ exp(−n·KL(q‖p)) for n episodes with values in [0, 1] and
expectation p, at false-alarm probability 10⁻⁶ for all of them together.
"""

import math

import gymnasium as gym
import numpy as np
import pytest

from dp_cmdp import Envelope, PrivacyBudget, import_gymnasium, release_and_synthesize, rollout
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.policy import Policy

FALSE_ALARM = 1e-6
COMPARISONS = 8
EPISODES = 600


def improbable(mean, expected):
    q, p = min(max(mean, 0.0), 1.0), min(max(expected, 1e-12), 1 - 1e-12)
    divergence = sum(x * math.log(x / y) for x, y in ((q, p), (1 - q, 1 - p)) if x > 0)
    return EPISODES * divergence > math.log(COMPARISONS / FALSE_ALARM)


def agree(mean, expected, tail):
    """Episodes that were cut off are missing at most `tail`."""
    nearest = min(max(mean, expected - tail), expected + tail)
    return not improbable(mean, nearest)


def fallen(state, action, next_state, reward):
    return (37 if state >= 36 else state + 12) if reward == -100 else None


@pytest.mark.parametrize("size", ["4x4", "8x8"])
def test_a_slippery_lake_returns_and_costs_what_its_model_says(size):
    env = gym.make("FrozenLake-v1", map_name=size, is_slippery=True, max_episode_steps=120)
    holes = np.flatnonzero(env.unwrapped.desc == b"H")  # type: ignore[attr-defined]
    model = import_gymnasium(env, gamma=0.95).with_private_costs(
        states=holes,
        on="entering",
        severity=Envelope(0, 1, radius=0.1, shape=holes.size),
        tolerance=Envelope(0.05, 0.5, radius=0.01),
    )
    database = model.database(np.linspace(0.5, 1.0, holes.size), tolerance=0.4)
    rng = np.random.default_rng(0)
    private = release_and_synthesize(model, database, PrivacyBudget(4, "1/1000"), rng=rng)
    tight, cost = model.tightened(private.release), model.cost_at(private.release)
    num_states = model.public.num_states
    for policy in (private.safe.policy, Policy.uniform(num_states, 4)):
        played = rollout(env, policy, episodes=EPISODES, seed=4, gamma=0.95, cost=cost)
        expected = evaluate(tight, policy)
        assert agree(played.mean_return, expected.value, played.tail_weight)
        assert agree(played.mean_costs[0], float(expected.costs[0]), played.tail_weight)


def test_falls_from_a_slippery_cliff_cost_what_the_model_says():
    """One episode's cost is at most 1/(1 − γ) = 5 here, so it is compared as a share of that."""
    env = gym.make("CliffWalking-v1", is_slippery=True, max_episode_steps=80)
    model = import_gymnasium(env, gamma=0.8, through=fallen).with_private_costs(
        states=range(37, 47),
        on="entering",
        severity=Envelope(0, 1, radius=0.1, shape=10),
        tolerance=4.5,
    )
    policy = Policy.uniform(49, 4)
    expected = float(evaluate(model.robust(), policy).costs[0])
    played = rollout(
        env, policy, episodes=EPISODES, seed=1, gamma=0.8, max_steps=60, cost=model.cost_at()
    )
    assert agree(played.mean_costs[0] / 5, expected / 5, played.tail_weight)
    assert improbable(0.0, expected / 5)  # a model without falls would be noticed


def walked(env, model, *, steps, seed):
    """Random actions in the environment, each compared with the model."""
    rng, public = np.random.default_rng(seed), model.public
    observation, _ = env.reset(seed=seed if model.seed is None else model.seed)
    state = model.state_of(env.unwrapped, observation)
    assert public.mu[state] > 0.0
    ends = 0
    for _ in range(steps):
        action = int(rng.integers(model.num_actions))
        observation, reward, over, cut, _ = env.step(action)
        successor = model.state_of(env.unwrapped, observation)
        pair = state * model.num_actions + action
        assert public.arrivals[[pair], [successor]] == 1.0
        assert public.T[[pair], [model.num_states if over else successor]] == 1.0
        assert public.r[state, action] == reward
        state = successor
        if over or cut:
            ends += over
            observation, _ = env.reset(seed=None if model.seed is None else model.seed)
            state = model.state_of(env.unwrapped, observation)
    return ends


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {"max_episode_steps": 30}),
        ("Taxi-v4", {}),
    ],
)
def test_deterministic_tables_are_followed_step_by_step(name, options):
    """A time limit cuts episodes short and changes nothing of what a step does."""
    env = gym.make(name, **options)
    walked(env, import_gymnasium(env, gamma=0.9), steps=1500, seed=2)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("MiniGrid-Empty-5x5-v0", None),
        ("MiniGrid-LavaGapS5-v0", 0),
        ("MiniGrid-LavaCrossingS9N1-v0", 1),
        ("MiniGrid-SimpleCrossingS9N1-v0", 2),
    ],
)
def test_minigrid_rooms_are_followed_step_by_step(name, seed):
    pytest.importorskip("minigrid")
    env = gym.make(name)
    model = import_gymnasium(env, gamma=0.9, seed=seed, reward=lambda paid: float(paid > 0))
    paid = gym.wrappers.TransformReward(env, lambda reward: float(float(reward) > 0))
    assert walked(paid, model, steps=1200, seed=3) > 0 or "Crossing" in name
