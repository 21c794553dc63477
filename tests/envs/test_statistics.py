"""Models are what environments do: steps, episodes and rollouts against exact evaluation.

Every test accuses what is correct with probability at most 1e-6 over its seed: exact binomial
tests with the level divided among the comparisons, and Hoeffding's inequality for means.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import binomtest

import dp_cmdp as dp
from dp_cmdp.envs import HazardGridEnv, parse_map

FALSE_ALARM = 1e-6
LAYOUT = parse_map(
    "S1?.\n.#2.\nS..G",
    kinds=[{"name": "fire"}, {"name": "flood", "severity": (0.0, 2.0)}],
    start={0: 0.7, 8: 0.3},
    slip=0.3,
    gamma=0.8,
    goal_reward=5.0,
)
DRAWS = 1200
GAMMA = 0.9
HOLES = (5, 7, 11, 12)


@pytest.fixture(scope="module")
def env() -> Any:
    return HazardGridEnv(LAYOUT, access="curator", hazards=1)


@pytest.fixture(scope="module")
def cmdp(env: Any) -> dp.CMDP:
    """The grid with its true numbers."""
    return env.model().at(env.database())


def fits(counts: np.ndarray, chances: np.ndarray) -> bool:
    """Whether counts fit a distribution, at the level of one module-wide false alarm."""
    assert not counts[chances == 0].any()
    level = FALSE_ALARM / (4 * LAYOUT.num_cells**2)
    pairs = zip(counts.tolist(), chances.tolist(), strict=True)
    total = int(counts.sum())
    return all(binomtest(int(k), total, p).pvalue >= level for k, p in pairs if p > 0)


def test_transitions_rewards_and_costs_of_every_pair_are_those_of_the_model(
    env: Any, cmdp: dp.CMDP
) -> None:
    env.reset(seed=11)
    spread = np.sqrt(np.log(2 * 48 / FALSE_ALARM) / (2 * DRAWS)) * LAYOUT.goal_reward
    for state in range(LAYOUT.num_cells):
        if state in LAYOUT.walls:
            continue
        for action in range(4):
            counts, rewards = np.zeros(cmdp.num_states), np.empty(DRAWS)
            for draw in range(DRAWS):
                env.reset(options={"start": state})
                after, rewards[draw], terminated, _, info = env.step(action)
                counts[after] += 1
                assert np.array_equal(info["cost"], cmdp.cost[:, state, action])
                assert terminated == (after in LAYOUT.goals)
            assert fits(counts, cmdp.T[[4 * state + action]].toarray()[0])
            assert abs(rewards.mean() - cmdp.r[state, action]) <= spread


def test_episodes_start_as_the_model_says(env: Any, cmdp: dp.CMDP) -> None:
    env.reset(seed=12)
    starts = [env.reset()[0] for _ in range(DRAWS)]
    assert fits(np.bincount(starts, minlength=cmdp.num_states), cmdp.start)


def test_the_comparison_would_notice_a_slip_of_another_size(cmdp: dp.CMDP) -> None:
    other = HazardGridEnv(LAYOUT.replace(slip=0.5), access="curator", hazards=1)
    counts = np.zeros(cmdp.num_states)
    other.reset(seed=15)
    for _ in range(DRAWS):
        other.reset(options={"start": 9})
        counts[other.step(2)[0]] += 1
    assert not fits(counts, cmdp.T[[4 * 9 + 2]].toarray()[0])


def deviation(episodes: int, width: float, tests: int) -> float:
    """Hoeffding: P(|mean − expectation| > this) ≤ FALSE_ALARM/tests for values `width` apart."""
    return width * math.sqrt(math.log(2 * tests / FALSE_ALARM) / (2 * episodes))


@pytest.fixture(scope="module")
def lake() -> tuple[dp.ParametricCMDP, dp.CMDP]:
    """A frozen lake whose holes cost 1 each, exactly."""
    costs = dp.PrivateCost(dp.Envelope(0, 1), 0.5, states=HOLES, on="entering")
    model = dp.gymnasium.load("FrozenLake-v1", gamma=GAMMA, costs=costs)
    return model, model.at(np.ones(4))


def fell(state: int, action: int, successor: int) -> float:
    return float(successor in HOLES)


@pytest.mark.parametrize("vector", [False, True])
def test_rollouts_of_a_frozen_lake_agree_with_exact_evaluation(lake: Any, vector: bool) -> None:
    policy = dp.Policy(np.random.default_rng(8).dirichlet([1.0, 3.0, 3.0, 1.0], size=17))
    exact = dp.evaluate(lake[1], policy)
    env = gym.make_vec("FrozenLake-v1", num_envs=50) if vector else gym.make("FrozenLake-v1")
    played = dp.rollout(env, policy, episodes=4000, seed=1, gamma=GAMMA, cost=fell)
    # returns and costs of an episode lie in [0, 1]; four comparisons in all
    allowed = deviation(4000, 1.0, 4) + played.tail_weight / (1 - GAMMA)
    assert abs(played.mean_return - exact.value) <= allowed
    assert abs(played.mean_costs[0] - exact.costs[0]) <= allowed
    assert exact.costs[0] > 4 * allowed  # a rollout that reported nothing would be noticed


def test_actions_are_drawn_with_their_probabilities() -> None:
    probabilities = np.array([[0.05, 0.6, 0.0, 0.35]])
    draws = 200_000
    rng = np.random.default_rng(2)
    actions = dp.Policy(probabilities).sample(np.zeros(draws, dtype=int), rng)
    frequency = np.bincount(actions, minlength=4) / draws
    assert np.abs(frequency - probabilities[0]).max() <= deviation(draws, 1.0, 4)
    assert frequency[2] == 0.0


def test_the_interval_covers_the_exact_value_as_often_as_it_says(lake: Any) -> None:
    policy = dp.Policy.uniform(17, 4)
    exact, covered = dp.evaluate(lake[1], policy).costs[0], 0
    for seed in range(60):
        options: dict[str, Any] = {"episodes": 60, "seed": seed, "gamma": GAMMA, "cost": fell}
        low, high = dp.rollout("FrozenLake-v1", policy, **options).cost_intervals(0.95)[0]
        covered += low <= exact <= high
    # at 0.90 or more (0.95 is asymptotic), P(fewer than 41 of 60) < 1e-6
    assert covered >= 41


def walked(env: Any, model: Any, *, steps: int, seed: int) -> int:
    """Random actions in the environment, each compared with the model; episodes that ended."""
    rng, known = np.random.default_rng(seed), model.environment
    first = seed if known.seed is None else known.seed
    state = known.state_of(env.unwrapped, env.reset(seed=first)[0])
    assert model.start[state] > 0.0
    ends = 0
    for _ in range(steps):
        action = int(rng.integers(model.num_actions))
        observation, reward, over, cut, _ = env.step(action)
        successor = known.state_of(env.unwrapped, observation)
        pair = state * model.num_actions + action
        assert model.mdp.arrivals[[pair], [successor]] == 1.0
        assert model.T[[pair], [model.num_states - 1 if over else successor]] == 1.0
        assert model.r[state, action] == reward
        state = successor
        if over or cut:
            ends += over
            observation, _ = env.reset(seed=known.seed)
            state = known.state_of(env.unwrapped, observation)
    return ends


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {"max_episode_steps": 30}),
        ("Taxi-v4", {}),
    ],
)
def test_deterministic_tables_are_followed_step_by_step(name: str, options: Any) -> None:
    """A time limit cuts episodes short and changes nothing of what a step does."""
    env = gym.make(name, **options)
    walked(env, dp.gymnasium.load(env, gamma=0.9), steps=1500, seed=2)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("MiniGrid-Empty-5x5-v0", None),
        ("MiniGrid-LavaGapS5-v0", 0),
        ("MiniGrid-LavaCrossingS9N1-v0", 1),
    ],
)
def test_minigrid_rooms_are_followed_step_by_step(name: str, seed: int | None) -> None:
    pytest.importorskip("minigrid")
    env = gym.make(name)
    model = dp.gymnasium.load(env, gamma=0.9, seed=seed, reward=lambda paid: float(paid > 0))
    paid = gym.wrappers.TransformReward(env, lambda reward: float(float(reward) > 0))
    assert walked(paid, model, steps=1200, seed=3) > 0 or "Crossing" in name
