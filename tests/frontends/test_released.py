"""Costs that learners see are comparable with the limit that was certified, and are named.

With linear queries the upper ends of all entries together are no database that the release allows:
charged with them, a policy that is certified at 3 seems to cost 6.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.gymnasium import ReleasedCosts, StateObservation, load
from tests.frontends.conftest import LIMIT

CHARGED = r"worst database|posterior mean"


def test_without_a_release_costs_are_the_largest_that_the_bounds_allow():
    holes = dp.PrivateCost(
        states=[5, 7], on="entering", cost=dp.Envelope(0, [0.5, 1], radius=0.1), limit=0.3
    )
    acts = dp.PrivateCost(actions=[0], cost=dp.Envelope(0, 2, radius=0.1), limit=dp.Envelope(5, 9))
    model = load("FrozenLake-v1", gamma=0.9, costs={"hole": holes, "left": acts})
    env = ReleasedCosts(gym.make("FrozenLake-v1", is_slippery=False), model)
    assert env.limit.tolist() == [0.3, 5.0]
    env.reset(seed=0)
    costs = [env.step(action)[-1]["cost"].tolist() for action in (1, 0, 2)]
    assert costs == [[0.0, 0.0], [0.0, 2.0], [0.5, 0.0]]


def test_a_hazard_grid_of_an_agent_shows_released_costs_and_a_curators_is_refused():
    curator = dp.envs.HazardGridEnv("corridor", access="curator")
    model = curator.model()
    release = dp.publish(model, curator.database(), epsilon=4, delta="1/1000", strategy="entries")
    env = ReleasedCosts(
        gym.make("dp_cmdp/HazardGridCorridor-v0", render_mode="ansi"), model, release
    )
    env.reset(seed=0)
    assert env.step(2)[-1]["cost"] == 0.0
    assert isinstance(env.render(), str)
    places: Any = model.constraints.candidates[0]
    group = model.envelope._group("cost")
    upper = release.upper[group.start : group.stop]
    for cell, most in zip(places.states.tolist(), upper.tolist(), strict=True):
        env.reset(options={"start": cell})
        assert env.step(0)[-1]["cost"] == most
    with pytest.raises(PrivacyLeakError, match="agent's"):
        ReleasedCosts(curator, model, release)


def test_what_does_not_fit_is_refused(thin_ice):
    with pytest.raises(InvalidArgumentError, match="action_space"):
        ReleasedCosts(gym.make("Blackjack-v1"), thin_ice.problem)
    other = load(
        "FrozenLake-v1",
        gamma=0.95,
        costs=dp.PrivateCost(states=[1], cost=dp.Envelope(0, 1), limit=1.0),
    )
    with pytest.raises(InvalidArgumentError, match="release must be of the problem's envelope"):
        ReleasedCosts(gym.make("FrozenLake-v1"), other, thin_ice.release)


def test_states_of_an_explored_model_are_observed_in_its_seed_whatever_seed_is_given():
    room = load("MiniGrid-LavaGapS6-v0", gamma=0.9, seed=3, reward=lambda paid: float(paid > 0))
    env = StateObservation(gym.make("MiniGrid-LavaGapS6-v0"), room)
    starts = {env.reset(seed=seed)[0] for seed in (0, 1, None)}
    assert starts == {int(np.flatnonzero(room.start)[0])}
    plain: Any = gym.make("MiniGrid-LavaGapS6-v0")
    observation, _ = plain.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match="must stay in the model"):
        room.environment.state_of(plain, observation)


def test_a_certified_policy_does_not_seem_to_exceed_its_limit(thin_ice: Any) -> None:
    played = dp.rollout(gym.make("FrozenLake-v1"), thin_ice, episodes=300, seed=0)
    assert played.mean_costs[0] > 0
    assert played.cost_intervals(0.9999)[0, 0] <= LIMIT


def test_a_rollout_says_which_cost_it_charges(thin_ice: Any) -> None:
    played = dp.rollout(gym.make("FrozenLake-v1"), thin_ice, episodes=5, seed=0)
    assert re.search(CHARGED, repr(played))


@pytest.mark.parametrize("page", ["gymnasium.md", "tutorials/safe-rl.md"])
def test_pages_that_play_a_policy_say_which_cost_is_charged(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    assert "dp.rollout(" in text
    assert re.search(CHARGED, text)


def test_costs_reported_to_learners_are_comparable_with_the_limit(thin_ice: Any) -> None:
    env = ReleasedCosts(gym.make("FrozenLake-v1"), thin_ice.problem, thin_ice.release)
    played = dp.rollout(env, thin_ice, episodes=300, seed=0, cost="reported")
    assert played.mean_costs[0] > 0
    assert played.cost_intervals(0.9999)[0, 0] <= LIMIT


def test_the_wrapper_says_which_cost_it_reports(thin_ice: Any) -> None:
    env = ReleasedCosts(gym.make("FrozenLake-v1"), thin_ice.problem, thin_ice.release)
    assert re.search(CHARGED, repr(env))
