"""Rollouts: bookkeeping of discount, cost, length and truncation."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp import Policy, rollout
from dp_cmdp._src.cmdp.rollout import StepCosts
from dp_cmdp.errors import InvalidArgumentError
from tests.cmdp.test_costs import lake, tables


class Corridor(gymnasium.Env):
    """States 0, 1, 2, …; each step earns 1, costs the state left, and `last` terminates."""

    def __init__(self, last: int = 3, *, report: bool = True, vector: bool = False) -> None:
        self.observation_space = gymnasium.spaces.Discrete(1000)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.last, self.report, self.vector, self.state = last, report, vector, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        cost = float(self.state)
        self.state += 1
        info = {"cost": np.array([cost, 1.0]) if self.vector else cost} if self.report else {}
        return self.state, 1.0, self.state == self.last, False, info


WALK = Policy(np.full((1000, 2), 0.5))


def test_returns_and_costs_are_discounted_from_the_first_step():
    result = rollout(Corridor(), WALK, episodes=4, seed=0, gamma=0.5)
    assert result.returns.tolist() == [1.75] * 4
    assert result.costs.tolist() == [[0.5 * 1 + 0.25 * 2]] * 4
    assert result.lengths.tolist() == [3] * 4
    assert result.tail_weight == 0.0
    assert result.return_interval() == (1.75, 1.75)


def test_a_vector_of_costs_is_kept_apart():
    result = rollout(Corridor(vector=True), WALK, episodes=2, seed=0, gamma=0.5)
    assert result.mean_costs.tolist() == [1.0, 1.75]
    assert result.cost_intervals().shape == (2, 2)


def test_a_given_cost_replaces_the_reported_one():
    result = rollout(
        Corridor(report=False), WALK, episodes=2, seed=0, gamma=0.5, cost=lambda s, a, n: n
    )
    assert result.mean_costs.tolist() == [1 + 0.5 * 2 + 0.25 * 3]
    silent = rollout(Corridor(report=False), WALK, episodes=2, seed=0, gamma=0.5)
    assert silent.costs.shape == (2, 0)


def test_an_episode_that_is_cut_off_reports_the_weight_of_its_tail():
    result = rollout(Corridor(last=999), WALK, episodes=2, seed=0, gamma=0.5, max_steps=4)
    assert result.tail.tolist() == [0.5**4] * 2
    limited = gymnasium.wrappers.TimeLimit(Corridor(last=999), 3)
    assert rollout(limited, WALK, episodes=2, seed=0, gamma=0.5).tail.tolist() == [0.5**3] * 2
    automatic = rollout(Corridor(last=999), WALK, episodes=1, seed=0, gamma=0.5)
    assert automatic.tail_weight <= 1e-6 < automatic.tail_weight * 2
    assert rollout(Corridor(), WALK, episodes=1, seed=0, gamma=0.0).mean_return == 1.0


@pytest.mark.parametrize("vector", [False, True])
def test_a_vector_environment_gives_the_same_episodes(vector):
    envs = gymnasium.vector.SyncVectorEnv([lambda n=n: Corridor(n, vector=vector) for n in (2, 4)])
    result = rollout(envs, WALK, episodes=5, seed=0, gamma=0.5)
    assert result.lengths.tolist() == [2, 4, 2, 4, 2]
    assert result.returns.tolist() == [1.5, 1.875, 1.5, 1.875, 1.5]
    assert result.costs[:2, 0].tolist() == [0.5, 0.5 + 0.5 + 0.375]
    assert result.costs.shape == (5, 2 if vector else 1)
    assert result.tail_weight == 0.0
    cut = rollout(envs, WALK, episodes=2, seed=0, gamma=0.5, max_steps=3, cost=lambda s, a, n: n)
    assert cut.tail.tolist() == [0.0, 0.125]
    assert cut.costs.tolist() == [[2.0], [2.75]]


def test_the_seed_repeats_everything_and_another_seed_does_not():
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    policy = Policy.uniform(16, 4)
    first, again, other = (
        rollout(env, policy, episodes=30, seed=seed, gamma=0.99) for seed in (3, 3, 4)
    )
    assert np.array_equal(first.lengths, again.lengths)
    assert not np.array_equal(first.lengths, other.lengths)


def test_any_object_that_predicts_can_be_played():
    class Constant:
        def predict(self, observation):
            return 1, None

    assert rollout(Corridor(), Constant(), episodes=1, seed=0, gamma=0.5).mean_return == 1.75


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"episodes": 0}, "episodes"),
        ({"gamma": 1.0}, "max_steps must be given"),
        ({"policy": object()}, "policy must be"),
        ({"cost": 1.0}, "cost must be"),
    ],
)
def test_bad_arguments_are_refused(change, rule):
    arguments = {"policy": WALK, "episodes": 1, "seed": 0, "gamma": 0.5} | change
    with pytest.raises(InvalidArgumentError, match=rule):
        rollout(Corridor(), arguments.pop("policy"), **arguments)


def test_a_vector_environment_that_resets_in_the_same_step_is_refused():
    envs = gymnasium.vector.SyncVectorEnv(
        [Corridor], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    with pytest.raises(InvalidArgumentError, match="SAME_STEP"):
        rollout(envs, WALK, episodes=1, seed=0, gamma=0.5)


# ---------------------------------------------------------------- which costs an answer is charged


@pytest.mark.parametrize("on", ["entering", "acting", "occupying"])
def test_steps_are_charged_as_the_model_charges_them(on):
    env, gamma = lake(), 0.9
    facts: dict[str, Any] = tables(env) | {"gamma": gamma}
    places = {"states": [5, 7, 11]} if on == "entering" else {"states": [1, 4, 8]}
    if on == "acting":
        places["actions"] = [0, 1, 2]
    cost = dp.PrivateCost(**places, on=on, cost=dp.Envelope(0, 1), limit=dp.Envelope(20, 30))
    model = dp.ParametricCMDP(**facts, costs=cost)
    theta = np.array([0.5, 0.25, 1.0, 25.0])
    price = StepCosts.of(model, theta[None], "these numbers")
    policy = Policy.uniform(17, 4)
    played = rollout(env, policy, episodes=3000, seed=0, gamma=gamma, cost=price)
    low, high = played.cost_intervals(0.9999)[0]
    assert low <= dp.evaluate(model.at(theta), policy).costs[0] <= high
    assert "these numbers" in repr(played)
    assert repr(price) == "StepCosts(these numbers)"


def test_reported_costs_are_charged_on_request():
    played = rollout(Corridor(), WALK, episodes=2, gamma=0.5, cost="reported")
    assert played.costs.tolist() == [[1.0]] * 2
    assert "info" in repr(played)
    given = rollout(Corridor(), WALK, episodes=2, gamma=0.5, cost=lambda s, a: 1.0)
    assert "given" in repr(given)
    with pytest.raises(InvalidArgumentError, match="gamma must be given"):
        rollout(Corridor(), WALK, episodes=2)


def test_a_policy_of_another_grid_is_refused():
    found = dp.answer(dp.envs.HazardGridEnv("rooms").model())
    for env in ("dp_cmdp/HazardGrid-v0", gymnasium.make_vec("dp_cmdp/HazardGrid-v0", num_envs=2)):
        with pytest.raises(InvalidArgumentError, match="env must have the states of the policy"):
            dp.rollout(env, found, episodes=1)
    rooms = gymnasium.make("dp_cmdp/HazardGrid-v0", layout="rooms")
    assert dp.rollout(rooms, found, episodes=1).lengths.size == 1
