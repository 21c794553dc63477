"""The exported model is what ``step`` simulates.

Every test has a false-alarm probability of at most 1e-6 over its seed: exact binomial tests with
the level divided among the comparisons, and Hoeffding's inequality for means.
"""

import numpy as np
import pytest
from scipy.stats import binomtest

from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.envs import HazardGridEnv, parse_map

FALSE_ALARM = 1e-6
TWO_KINDS = parse_map(
    "S1?.\n.#2.\nS..G",
    kinds=[{"name": "fire"}, {"name": "flood", "severity": (0.0, 2.0)}],
    start={0: 0.7, 8: 0.3},
    slip=0.3,
    gamma=0.8,
    goal_reward=5.0,
)
DRAWS = 1200


@pytest.fixture(scope="module")
def env():
    return HazardGridEnv(TWO_KINDS, access="curator", hazards=1)


def agree(counts, chances):
    """Whether counts fit a distribution, at the level of one module-wide false alarm."""
    total = int(counts.sum())
    assert not counts[chances == 0].any()
    level = FALSE_ALARM / (4 * TWO_KINDS.num_cells**2)
    return all(
        binomtest(int(count), total, float(chance)).pvalue >= level
        for count, chance in zip(counts, chances, strict=True)
        if chance > 0
    )


def test_transitions_rewards_and_costs_of_every_pair_are_the_exported_ones(env):
    cmdp = env.cmdp()
    env.reset(seed=11)
    spread = np.sqrt(np.log(2 * 48 / FALSE_ALARM) / (2 * DRAWS)) * TWO_KINDS.goal_reward
    for state in range(cmdp.num_states):
        if state in TWO_KINDS.walls:
            continue
        for action in range(4):
            counts, rewards = np.zeros(cmdp.num_states), np.empty(DRAWS)
            for draw in range(DRAWS):
                env.reset(options={"start": state})
                after, rewards[draw], terminated, _, info = env.step(action)
                counts[after] += 1
                assert np.array_equal(info["cost"], cmdp.f[:, state, action])
                assert terminated == (after in TWO_KINDS.goals)
            assert agree(counts, cmdp.T[[4 * state + action]].toarray()[0])
            assert abs(rewards.mean() - cmdp.r[state, action]) <= spread


def test_episodes_start_as_the_exported_distribution_says(env):
    counts = np.zeros(TWO_KINDS.num_cells)
    env.reset(seed=12)
    for _ in range(DRAWS):
        counts[env.reset()[0]] += 1
    assert agree(counts, env.cmdp().mu)


def test_discounted_sums_of_episodes_are_the_values_of_the_exported_model(env):
    """Reward and costs of whole episodes, against exact evaluation.

    An episode is cut after 60 steps: the rest weighs less than 0.8**60 / 0.2 = 8e-6 of the range.
    """
    cmdp = env.cmdp()
    exact = evaluate(cmdp, Policy.uniform(cmdp.num_states, 4))
    rng = np.random.default_rng(13)
    episodes, sums = 3000, []
    env.reset(seed=14)
    for _ in range(episodes):
        env.reset()
        total, weight = np.zeros(3), 1.0
        for _ in range(60):
            _, reward, terminated, _, info = env.step(int(rng.integers(4)))
            total += weight * np.array([reward, *info["cost"]])
            weight *= cmdp.gamma
            if terminated:
                break
        sums.append(total)
    ranges = np.array([5.0 + 5.0, cmdp.f[0].max() / 0.2, cmdp.f[1].max() / 0.2])
    spread = ranges * (np.sqrt(np.log(6 / FALSE_ALARM) / (2 * episodes)) + 1e-5)
    expected = np.array([exact.value, *exact.costs])
    assert (np.abs(np.mean(sums, axis=0) - expected) <= spread).all()


def test_the_comparison_would_notice_a_slip_of_another_size():
    other = HazardGridEnv(TWO_KINDS.replace(slip=0.5), access="curator", hazards=1)
    chances = HazardGridEnv(TWO_KINDS).model().public.T[[4 * 9 + 2]].toarray()[0]
    counts = np.zeros(TWO_KINDS.num_cells)
    other.reset(seed=15)
    for _ in range(DRAWS):
        other.reset(options={"start": 9})
        counts[other.step(2)[0]] += 1
    assert not agree(counts, chances)
