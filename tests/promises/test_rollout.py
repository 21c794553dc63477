"""Costs that are played are comparable with the limit that was certified, and are named.

With linear queries the upper ends of all entries together are no database that the release allows:
charged with them, a policy that is certified at 3 seems to cost 6. What is charged is the worst
database of the set for this policy, or the mean of what the release lets one believe; the result
says which.
"""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from tests.promises.adapter import (
    Envelope,
    Found,
    load_environment,
    private_cost,
    released_costs,
    rollout,
    rollout_reported,
    simulate,
)

LIMIT = 3.0
CHARGED = r"worst database|posterior mean"


@pytest.fixture(scope="module")
def found() -> Found:
    """Thin ice on a frozen lake: how bad each place is, is private; the limit is public."""
    ice = np.flatnonzero(gym.make("FrozenLake-v1").unwrapped.desc.ravel() == b"F")  # type: ignore[attr-defined]
    severity = Envelope(0, 1, radius=0.1, shape=ice.size)
    costs = private_cost(severity, LIMIT, states=ice)
    lake = load_environment("FrozenLake-v1", gamma=0.95, costs=costs)
    true = np.random.default_rng(0).uniform(0, 0.6, ice.size)
    (made,) = simulate(lake, true, epsilon=2, delta="1/1000", strategy="queries")
    assert made.certificate.verified
    assert made.value > made.robust_value
    return made


def test_a_certified_policy_does_not_seem_to_exceed_its_limit(found: Found) -> None:
    played = rollout(gym.make("FrozenLake-v1"), found, episodes=300, seed=0)
    assert played.mean_costs[0] > 0
    assert played.cost_intervals(0.9999)[0, 0] <= LIMIT


def test_a_rollout_says_which_cost_it_charges(found: Found) -> None:
    played = rollout(gym.make("FrozenLake-v1"), found, episodes=5, seed=0)
    assert re.search(CHARGED, repr(played))


@pytest.mark.parametrize("page", ["gymnasium.md", "tutorials/safe-rl.md"])
def test_pages_that_play_a_policy_say_which_cost_is_charged(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    assert "dp.rollout(" in text
    assert re.search(CHARGED, text)


def test_costs_reported_to_learners_are_comparable_with_the_limit(found: Found) -> None:
    env = released_costs(gym.make("FrozenLake-v1"), found.problem, found.release)
    played = rollout_reported(env, found, episodes=300, seed=0)
    assert played.mean_costs[0] > 0
    assert played.cost_intervals(0.9999)[0, 0] <= LIMIT


def test_the_wrapper_says_which_cost_it_reports(found: Found) -> None:
    env = released_costs(gym.make("FrozenLake-v1"), found.problem, found.release)
    assert re.search(CHARGED, repr(env))
