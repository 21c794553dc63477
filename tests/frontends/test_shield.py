"""The wrapper around environments: what it plays, what it shows, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import dp_cmdp as dp
from dp_cmdp._src.cmdp.rollout import StepCosts
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.gymnasium import ReleasedCosts, Shield, StateObservation, load
from tests.frontends.conftest import LIMIT

GAMMA, EPISODES = 0.95, 400


@pytest.fixture(scope="module")
def found(thin_ice: Any) -> Any:
    """The lake's answer with the robust policy, which leaves room."""
    return replace(thin_ice, decision=dp.answer(thin_ice.problem).policy)


def lake(found: Any, **options: Any) -> Shield:
    return Shield(gym.make("FrozenLake-v1"), found, **options)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_it_is_an_environment_that_shows_bank_and_time(found: Any):
    check_env(lake(found, seed=0), skip_render_check=True)
    env = lake(found)
    seen, info = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    assert (seen["obs"], seen["time"]) == (0, 0.0)
    mask = env.action_masks()
    action = int(np.flatnonzero(mask)[0])
    seen, *_, info = env.step(action)
    told = info["shield"]
    assert (told["played"], told["replaced"]) == (action, False)
    assert 0 < seen["bank"][0] < 1
    assert 0 < seen["time"][0] <= 1 / 100 + 1e-6
    assert told["bank"][0] > 0
    plain = lake(found, observe_bank=False)
    assert plain.observation_space == gym.spaces.Discrete(16)
    assert plain.reset(seed=0)[0] == 0
    with pytest.raises(ResetNeeded):
        lake(found).step(0)


def test_the_dearest_proposals_stay_within_the_limit_at_the_worst_database(found: Any):
    """10⁻⁶ is the chance of a false alarm, by Hoeffding's bound for costs between 0 and 20."""
    model, price = found.problem, StepCosts.worst(found)
    worst = model.at(found.worst_databases()[0])
    dear = dp.answer(dp.CMDP(worst.T, worst.cost[0], cost=0 * worst.r, limit=1, gamma=GAMMA)).policy
    error = 20 * np.sqrt(np.log(1e6) / 2 / EPISODES)
    assert dp.evaluate(worst, dear).costs[0] > LIMIT + 2 * error
    env = lake(found, improve=False, seed=0)
    costs, replaced = [], 0
    for episode in range(EPISODES):
        seen, _ = env.reset(seed=7 if episode == 0 else None)
        state, cost, weight, over = seen["obs"], 0.0, 1.0, False
        while not over:
            seen, _, terminated, truncated, info = env.step(dear.predict(state)[0])
            cost += weight * price(state, info["shield"]["played"], seen["obs"])[0]
            state, weight, over = seen["obs"], weight * GAMMA, terminated or truncated
            replaced += info["shield"]["replaced"]
        costs.append(cost)
    assert np.mean(costs) <= LIMIT + error
    assert replaced


class Charging(gym.Wrapper[Any, Any, Any, Any]):
    """An environment that reports costs of its own."""

    def step(self, action: Any) -> Any:
        *rest, info = self.env.step(action)
        return *rest, {**info, "cost": 5.0}


def test_costs_that_the_environment_reports_move_nothing(found: Any):
    from dp_cmdp._src.frontends.gymnasium import table

    shields = [lake(found, seed=0), Shield(gym.make("FrozenLake-v1"), found, seed=0)]
    inner: Any = shields[1]
    inner.env = Charging(inner.env)  # behind its back: it would refuse the wrapper
    assert "TimeLimit" in table.HARMLESS
    told = []
    for env in shields:
        rng = np.random.default_rng(0)
        env.reset(seed=3)
        steps = [env.step(int(rng.integers(4))) for _ in range(6)]
        told.append([step[-1]["shield"]["bank"].tolist() for step in steps])
    assert told[0] == told[1]


def test_draws_of_the_policy_are_the_shields_own(found: Any):
    mixed = replace(found, decision=dp.Policy.uniform(17, 4))
    mixed = replace(mixed, certificate=replace(found.certificate, slack=np.array([-1.0])))
    env = Shield(gym.make("FrozenLake-v1", is_slippery=True), mixed)  # no room: always replaced

    def played(env: Any) -> list[int]:
        env.reset(seed=1)
        found = []
        while len(found) < 60:
            *_, terminated, truncated, info = env.step(0)
            found.append(info["shield"]["played"])
            if terminated or truncated:
                env.reset()
        return found

    runs = [played(env), played(copy.deepcopy(env)), played(env)]
    assert len({tuple(run) for run in runs}) == 3
    again = [played(Shield(gym.make("FrozenLake-v1"), mixed, seed=5)) for _ in range(2)]
    assert again[0] == again[1]


def test_reset_steps_of_vector_environments_move_nothing(found: Any):
    envs = gym.vector.SyncVectorEnv([lambda: lake(found, seed=0)] * 2)
    envs.reset(seed=0)
    first: Any = lake(found)
    first.reset()
    fresh, over, resets = first._left, np.zeros(2, dtype=bool), 0
    for _ in range(60):
        seen, _, terminated, truncated, _ = envs.step(np.array([1, 2]))
        for k in np.flatnonzero(over):
            inner: Any = envs.envs[k]
            assert inner._time == 0
            assert np.array_equal(inner._left, fresh)
            assert seen["time"][k, 0] == 0.0
            resets += 1
        over = terminated | truncated
    assert resets


def test_what_the_promise_does_not_cover_is_refused(found: Any):
    with pytest.raises(InvalidArgumentError, match="other probabilities"):
        Shield(gym.make("FrozenLake-v1", is_slippery=False), found)
    with pytest.raises(InvalidArgumentError, match="action_space"):
        Shield(gym.make("Blackjack-v1"), found)
    with pytest.raises(InvalidArgumentError, match="wrapper Charging"):
        Shield(Charging(gym.make("FrozenLake-v1")), found)
    with pytest.raises(InvalidArgumentError, match=r"one gymnasium\.Env"):
        Shield(gym.make_vec("FrozenLake-v1", 2), found)
    with pytest.raises(InvalidArgumentError, match="must be certified"):
        lake(replace(found, certificate=replace(found.certificate, verified=False)))
    with pytest.raises(dp.errors.InvalidTypeError, match="PolicyAnswer; got Policy"):
        lake(found.policy)
    with pytest.raises(InvalidArgumentError, match="options"):
        lake(found).reset(options={"start": 3})
    env = lake(found)
    env.reset()
    with pytest.raises(InvalidArgumentError, match="action"):
        env.step(4)
    curator = dp.envs.HazardGridEnv("corridor", access="curator")
    safe = dp.answer(curator.model())
    with pytest.raises(PrivacyLeakError, match="agent's"):
        Shield(curator, safe)
    with pytest.raises(InvalidArgumentError, match="other probabilities"):
        Shield(gym.make("dp_cmdp/HazardGridCorridor-v0", slip=0.3), safe)
    assert Shield(gym.make("dp_cmdp/HazardGridCorridor-v0"), safe).reset(seed=0)


class Walk(gym.Env[int, int]):
    """Two states, of which the model knows how they follow each other, or not."""

    def __init__(self, path: list[int]) -> None:
        self.path, two = path, gym.spaces.Discrete(2)
        self.observation_space: Any = two
        self.action_space: Any = two

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.rest = list(self.path)
        return self.rest.pop(0), {}

    def step(self, action: int) -> Any:
        return self.rest.pop(0), 0.0, False, False, {}


def test_environments_that_leave_the_model_are_refused_when_they_do():
    T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]

    def safe(lowest: float) -> Any:
        cost = dp.PrivateCost(states=[1], cost=dp.Envelope(lowest, 1), limit=12)
        return dp.answer(dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=cost))

    with pytest.raises(InvalidArgumentError, match=r"not negative; 'cost' may cost -0\.5"):
        Shield(Walk([0]), safe(-0.5))
    with pytest.raises(InvalidArgumentError, match="starts in state 1"):
        Shield(Walk([1]), safe(0)).reset()
    env = Shield(Walk([0, 1, 0]), safe(0), improve=False)
    env.reset()
    assert [env.step(1)[-1]["shield"]["replaced"] for _ in range(2)] == [False, False]
    env = Shield(Walk([0, 1]), safe(0), improve=False)
    env.reset()
    with pytest.raises(InvalidArgumentError, match="leads from state 0 to 1"):
        env.step(0)
    with pytest.raises(ResetNeeded):  # what was left is no episode of the model
        env.step(0)


def test_wrappers_that_change_what_an_action_does_are_refused():
    grid: Any = dp.envs.HazardGridEnv
    found = dp.answer(grid("rooms").model(horizon=40))
    spaces = grid("rooms").action_space
    for env in (
        gym.wrappers.StickyAction(grid("rooms"), 0.5),
        gym.wrappers.TransformAction(grid("rooms"), lambda action: (action + 1) % 4, spaces),
        Shield(grid("rooms"), found, observe_bank=False),
    ):
        with pytest.raises(InvalidArgumentError, match=f"its wrapper {type(env).__name__}"):
            Shield(env, found)
    Shield(gym.make("dp_cmdp/HazardGridRooms-v0"), found)


def test_it_takes_actions_as_learners_predict_them_and_can_be_pickled(found: Any):
    envs = [lake(found, seed=0), pickle.loads(pickle.dumps(lake(found, seed=0)))]
    for env in envs:
        env.reset(seed=0)
    one, other = (env.step(np.array(1))[-1]["shield"] for env in envs)
    assert one["played"] == other["played"]
    assert (one["bank"] == other["bank"]).all()
    with pytest.raises(dp.errors.InvalidTypeError):
        envs[0].step(np.array([1]))


def test_over_a_horizon_it_plays_the_policy_of_the_step_and_ends_episodes():
    free: Any = load("FrozenLake-v1", gamma=0.9)
    ice = dp.PrivateCost(states=[1, 4], cost=dp.Envelope(0, 1), limit=10)
    said: Any = {"start": free.start, "costs": ice, "arrivals": free.mdp.arrivals}
    model = dp.ParametricCMDP(free.T, free.r, horizon=12, **said)
    alternating = dp.Policy([np.eye(4)[[t % 4] * 17] for t in range(12)])
    proof = dp.certify(model, alternating)
    assert proof
    found = replace(dp.answer(model), decision=alternating, certificate=proof)
    limit = 10 - float(proof.slack[0]) * (1 + 1e-9)
    said["costs"] = dp.PrivateCost(states=[1, 4], cost=dp.Envelope(0, 1), limit=limit)
    closed = dp.ParametricCMDP(free.T, free.r, horizon=12, **said)
    for problem, replaced in ((model, False), (closed, True)):
        env = Shield(gym.make("FrozenLake-v1"), replace(found, problem=problem), improve=False)
        for episode in range(5):
            env.reset(seed=episode)
            for t in range(12):
                seen, _, terminated, truncated, info = env.step(3)
                assert info["shield"]["replaced"] == replaced
                assert info["shield"]["played"] == (t % 4 if replaced else 3)
                assert seen["time"][0] == pytest.approx((t + 1) / 12)
                assert truncated == (t == 11)
                if terminated or truncated:
                    break
            with pytest.raises(ResetNeeded):
                env.step(3)


def test_it_wraps_explored_rooms_and_released_costs():
    pytest.importorskip("minigrid")
    lava = dp.PrivateCost(cells=[(1, 3), (2, 3)], on="entering", cost=dp.Envelope(0, 1), limit=0.5)
    room = load(
        "MiniGrid-LavaGapS6-v0", gamma=0.9, seed=0, reward=lambda paid: float(paid > 0), costs=lava
    )
    plain = StateObservation(gym.make("MiniGrid-LavaGapS6-v0"), room)
    env = Shield(ReleasedCosts(plain, room), dp.answer(room))
    env.reset(seed=0)
    info: Any = env.step(2)[-1]
    assert {"cost", "cost_sum", "shield"} <= set(info)


def test_a_long_horizon_has_a_shield():
    falls = dp.PrivateCost(states=[5, 7, 11], on="entering", cost=dp.Envelope(0, 1), limit=0.5)
    model = load("FrozenLake-v1", horizon=100, costs=falls)
    env = Shield(gym.make("FrozenLake-v1"), dp.answer(model), improve=False)
    env.reset(seed=0)
    assert env._guard.first[0, 0] > 0.0
    assert env.action_masks().any()
