"""Simulation agrees with exact evaluation.

Each comparison is Hoeffding's inequality for bounded episodes, at false-alarm probability 10⁻⁶.
"""

import math

import gymnasium
import numpy as np
import pytest

from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.rollout import rollout
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium

FALSE_ALARM = 1e-6
GAMMA = 0.9


def fell(state, action, successor):
    """1 on falling into one of FrozenLake's holes."""
    return float(successor in (5, 7, 11, 12))


def deviation(episodes, width, tests):
    """Hoeffding: P(|mean − expectation| > this) ≤ FALSE_ALARM/tests for values `width` apart."""
    return width * math.sqrt(math.log(2 * tests / FALSE_ALARM) / (2 * episodes))


@pytest.mark.parametrize("vector", [False, True])
def test_mean_return_and_cost_agree_with_exact_evaluation_in_the_frozen_lake(vector):
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    cmdp = cmdp_from_gymnasium(env, cost=fell, f0=0.5, gamma=GAMMA)
    policy = Policy(np.random.default_rng(8).dirichlet([1.0, 3.0, 3.0, 1.0], size=17))
    exact = evaluate(cmdp, policy)
    player = gymnasium.make_vec("FrozenLake-v1", num_envs=50, is_slippery=True) if vector else env
    result = rollout(player, policy, episodes=4000, seed=1, gamma=GAMMA, cost=fell)
    # returns and costs of an episode lie in [0, 1]; four comparisons in all
    allowed = deviation(4000, 1.0, 4) + result.tail_weight / (1 - GAMMA)
    assert abs(result.mean_return - exact.value) <= allowed
    assert abs(result.mean_costs[0] - exact.costs[0]) <= allowed
    assert exact.costs[0] > 4 * allowed  # a rollout that reported nothing would be noticed


def test_actions_are_drawn_with_their_probabilities():
    probs = np.array([[0.05, 0.6, 0.0, 0.35]])
    draws = 200_000
    actions = Policy(probs).sample(np.zeros(draws, dtype=int), np.random.default_rng(2))
    frequency = np.bincount(actions, minlength=4) / draws
    assert np.abs(frequency - probs[0]).max() <= deviation(draws, 1.0, 4)
    assert frequency[2] == 0.0


def test_the_interval_covers_the_exact_value_as_often_as_it_says():
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    cmdp = cmdp_from_gymnasium(env, cost=fell, f0=0.5, gamma=GAMMA)
    policy = Policy.uniform(17, 4)
    exact = evaluate(cmdp, policy).costs[0]
    repetitions, covered = 60, 0
    for seed in range(repetitions):
        result = rollout(env, policy, episodes=60, seed=seed, gamma=GAMMA, cost=fell)
        low, high = result.cost_intervals(confidence=0.95)[0]
        covered += low <= exact <= high
    # at 0.90 or more (0.95 is asymptotic), P(fewer than 41 of 60) < 1e-6
    assert covered >= 41
