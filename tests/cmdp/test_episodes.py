"""Sums over a horizon and over whole episodes: solvers, certificates, and policies of the time."""

import itertools
import pickle
from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import dp_cmdp as dp
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError
from dp_cmdp._src.cli import main
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.cost_bounds import _residual, _total_bound
from dp_cmdp._src.cmdp.exact_costs import exact_costs
from dp_cmdp._src.cmdp.safest import safest_policy
from tests.cmdp.families import FAMILIES, family
from tests.cmdp.models import bounds, private_way, slippery, two_ways

pytestmark = pytest.mark.usefixtures("both_ways")


def with_room(T, r, cost, *, share=0.4, **said):
    """A model whose limits lie a share of the way from the safest policy to the dearest."""
    free = dp.CMDP(T, r, cost=cost, limit=np.full(len(cost), 1e6), **said)
    low, high = (dp.evaluate(free, policy).costs
                 for policy in (safest_policy(free), dp.answer(free).policy))  # fmt: skip
    limit = low + share * np.maximum(high - low, 0.0) + 1e-3
    return free._with_costs(free.cost, limit)


def expanded_optimum(cmdp):
    """scipy's optimum of the time-expanded program, without the package's solvers."""
    n, H, A = cmdp.num_states, cmdp.horizon, cmdp.num_actions
    leave = sparse.kron(sparse.eye_array(n), np.ones((1, A)))
    flow: Any = sparse.kron(sparse.eye_array(H), leave) - sparse.kron(
        sparse.eye_array(H, k=-1), cmdp.T.T
    )
    weight = cmdp.gamma ** np.arange(H)
    rows = [np.kron(weight, cost.ravel()) for cost in cmdp.cost]
    start = np.append(cmdp.start, np.zeros((H - 1) * n))
    found: Any = linprog(-np.kron(weight, cmdp.r.ravel()), A_ub=np.array(rows), b_ub=cmdp.limit,
                    A_eq=flow.tocsr(), b_eq=start)  # fmt: skip
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("name", FAMILIES)
def test_answers_over_a_horizon_are_those_of_the_time_expanded_program(name, K):
    for H, gamma in ((1, 1.0), (7, 1.0), (12, 0.9)):
        base = family(name, size=30, gamma=0.9, K=K, seed=H)
        model = with_room(base.T, base.r, base.cost, horizon=H, gamma=gamma, start=base.start)
        found = dp.answer(model)
        best = expanded_optimum(model)
        assert found.certificate
        assert found.value == pytest.approx(best, abs=2e-6 * np.abs(base.r).max() * model.steps)
        assert found.bound >= best - 1e-9 * abs(best)
        for cost, bound, limit in zip(
            exact_costs(model, found.policy), bounds(model, found.policy), model.limit, strict=True
        ):
            assert 0 <= Fraction(bound) - cost <= Fraction(1, 10**11) * cost
            assert cost <= Fraction(limit)
        if K == 1:
            assert found.policy._step(0).odds.shape[1] == model.num_actions
            assert sum(found.policy._step(t).mixed.size for t in range(H)) <= 1


@pytest.mark.parametrize("K", [1, 2])
def test_totals_are_those_of_a_long_horizon(K):
    rng = np.random.default_rng(K)
    T, r, start, states, _ = slippery(5)
    T = 0.9 * T + 0.1 * (np.arange(25) == 24)
    cost = np.zeros((K, 25, 4))
    cost[:, states] = rng.random((K, states.size, 1))
    model = with_room(T, r, cost, total=True, start=start)
    long = dp.CMDP(T, r, cost=cost, limit=model.limit, horizon=400, start=start)
    found = dp.answer(model)
    assert found.certificate
    assert found.value == pytest.approx(dp.answer(long).value, rel=1e-5)
    assert found.bound - found.value <= 1e-6 * abs(found.value)
    proved, true = bounds(model, found.policy), exact_costs(model, found.policy)
    assert all(0 <= Fraction(b) - c <= Fraction(1, 10**11) * c
               for b, c in zip(proved, true, strict=True))  # fmt: skip


def one_step(cost):
    """A step that costs, then the end."""
    return dp.CMDP([[[0, 1]], [[0, 1]]], [[1], [0]], cost=[[cost], [0]], limit=9, total=True)


def test_negative_residuals_do_not_lower_the_bound_of_a_total():
    """v̂ = 2 where the cost is 1: an earlier theorem added max r·w < 0 and claimed less than 1."""
    model, policy = one_step(1.0), dp.Policy([[1.0], [1.0]])
    estimate, live = np.array([2.0, 0.0]), np.array([True, False])
    high, _ = _residual(model, policy, cost=model.cost[0], estimate=estimate, live=live)
    assert high[0] < 0.0
    assert _total_bound(model, policy, estimate=estimate, high=high) >= 1.0


def test_an_underflow_is_not_taken_for_absence():
    tiny = np.zeros((3, 1, 3))
    tiny[0, 0], tiny[1, 0], tiny[2, 0] = (1, 1e-160, 0), (1, 0, 1e-160), (0, 0, 1)
    cost = [[0.0], [0.0], [1e-5]]
    model = dp.CMDP(tiny, np.ones((3, 1)), cost=cost, limit=1, horizon=3)
    policy = dp.Policy.uniform(3, 1)
    assert bounds(model, policy)[0] >= exact_costs(model, policy)[0] > 0
    free = dp.CMDP(tiny, np.ones((3, 1)), cost=cost, limit=1, horizon=2)
    assert bounds(free, policy)[0] == 0.0  # the cost is three steps away


def may_stay(T, live):
    """Whether some deterministic policy never ends from some live state, by trying all of them."""
    n, A = T.shape[:2]
    for choice in itertools.product(range(A), repeat=n):
        can = ~live
        for _ in range(n):
            can = can | np.array([(T[s, choice[s]] > 0)[can].any() for s in range(n)])
        if not can.all():
            return True
    return False


def test_a_total_is_refused_exactly_where_a_policy_may_go_on_for_ever():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(120):
        T = rng.random((5, 2, 5)) * (rng.random((5, 2, 5)) < 0.35)
        T[:, :, 0] += 0.01 * (T.sum(axis=2) == 0.0)
        T[0] = np.eye(5)[0]
        T /= T.sum(axis=2, keepdims=True)
        r = np.ones((5, 2)) * (np.arange(5) > 0)[:, None]
        start = np.full(5, 0.2)
        stays = may_stay(T, np.arange(5) > 0)
        seen.add(stays)
        if not stays:
            assert dp.CMDP(T, r, cost=r, limit=1, total=True, start=start).ending is not None
            continue
        with pytest.raises(InvalidArgumentError, match=r"for ever in states .* horizon=") as told:
            dp.CMDP(T, r, cost=r, limit=1, total=True, start=start)
        loop = [int(x) for x in str(told.value).split("in states ")[1].split(".")[0].split(" → ")]
        assert loop[0] == loop[-1]
        assert all((T[a, :, b] > 0).any() for a, b in itertools.pairwise(loop))
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "gamma, horizon or total must be given"),
        ({"gamma": 1.0}, "horizon="),
        ({"horizon": 0}, "horizon"),
        ({"horizon": -3}, "horizon"),
        ({"horizon": 10**12}, "horizon"),
        ({"horizon": 10**9}, r"horizon must be at most \d+ with \d states"),
        ({"horizon": 2.5}, "horizon"),
        ({"total": True, "gamma": 0.9}, "without gamma and horizon"),
        ({"total": True}, "0 → 1 → 0|0 → 2 → 0"),
    ],
)
def test_a_criterion_that_is_none_is_refused(said, told):
    T, r = two_ways()
    with pytest.raises(InvalidArgumentError, match=told):
        dp.CMDP(T, r, cost=r, limit=1, **said)


def test_costs_after_the_end_would_be_infinite():
    with pytest.raises(InvalidArgumentError, match="nothing leaves state 1"):
        dp.CMDP([[[0, 1]], [[0, 1]]], [[1], [0]], cost=[[1], [1]], limit=1, total=True)


def test_limits_that_no_policy_keeps_within_the_horizon_name_the_repair():
    T, r = two_ways()
    cost = dp.PrivateCost(np.ones((3, 2)), dp.Envelope(5, 6, radius=0.1), states=None)
    model = dp.ParametricCMDP(T, r, horizon=7, costs=cost)
    with pytest.raises(RefusedError) as told:
        dp.answer(model)
    assert told.value.repairs["cost"] == pytest.approx(2.0)
    late = dp.PrivateCost(states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=1)
    with pytest.raises(InvalidArgumentError, match="within reach"):
        dp.ParametricCMDP(T, r, horizon=1, costs=late)


def timed(H=4):
    rng = np.random.default_rng(7)
    return dp.Policy(rng.dirichlet([0.5, 0.5, 0.5], size=(H, 3)))


def test_a_policy_of_the_time_keeps_its_clock(tmp_path):
    table = np.zeros((3, 2, 4))
    table[np.arange(3), :, np.arange(3)] = 1.0
    policy = dp.Policy(table)  # action t at step t
    action, clock = policy.predict(0, episode_start=True)
    played = [action]
    while clock < 3:
        action, clock = policy.predict(0, clock)
        played.append(action)
    assert played == [0, 1, 2]
    with pytest.raises(InvalidArgumentError, match="episode_start=True"):
        policy.predict(0, clock)
    several, clock = policy.predict([0, 1, 0], np.array([1, 2, 3]), [False, True, False])
    assert several.tolist() == [1, 0, 2]
    assert clock.tolist() == [2, 1, 3]  # the third waits for its reset
    assert policy.predict({"obs": 1, "time": np.array([2])})[0] == 2
    for wrong in (0, [0, 1], {"obs": 0, "time": np.array([0.5])}, np.array([0.0, 1.0])):
        with pytest.raises(InvalidArgumentError, match=r"state must|TimeAwareObservation"):
            policy.predict(wrong)
    with pytest.raises(InvalidArgumentError, match="time must be given"):
        policy.sample(0, np.random.default_rng(0))


def test_a_policy_of_the_time_is_what_it_was_after_every_round_trip(tmp_path):
    policy = timed()
    for same in (
        dp.Policy.load(policy.save(tmp_path / "policy.npz")),
        pickle.loads(pickle.dumps(policy)),
        dp.Policy(policy.probabilities),
        dp.Policy(policy.to_frame().to_numpy().reshape(4, 3, 3)),
    ):
        assert same == policy
        assert hash(same) == hash(policy)
    assert policy != dp.Policy(policy.probabilities[::-1])
    rng = np.random.default_rng(0)
    drawn = policy.sample(np.full(60_000, 1), rng, np.full(60_000, 2))
    share = np.bincount(drawn, minlength=3) / 60_000
    assert share == pytest.approx(policy.probabilities[2, 1], abs=0.0105)  # false alarm 1e-6


def test_models_and_answers_of_every_criterion_are_verified_from_their_files(tmp_path):
    T, r = two_ways()
    ends = 0.9 * np.pad(T, ((0, 1), (0, 0), (0, 1))) + 0.1 * (np.arange(4) == 3)
    ends[3] = np.eye(4)[3]
    cost = dp.PrivateCost(states=[1], cost=dp.Envelope(0, 1, radius=0.1),
                          limit=dp.Envelope(1, 3, radius=0.1))  # fmt: skip
    rewards = np.vstack([r, np.zeros((1, 2))])
    criteria: list[Any] = [{"horizon": 5}, {"horizon": 5, "gamma": 0.9}, {"total": True}]
    for said in criteria:
        model = dp.ParametricCMDP(ends, rewards, costs=cost, **said)
        found = dp.solve(model, {"cost": [0.2], "limit": 2}, epsilon=5, delta=1e-3)
        assert found.value >= found.robust.value - 1e-9
        folder = found.save(tmp_path / "answer")
        again: Any = dp.Answer.load(folder)
        assert again.policy == found.policy
        assert again.problem.criterion == model.criterion
        report = dp.verify(folder, problem=model)
        assert report
        assert "the policy keeps every limit" in str(report)
        if found.policy.horizon is not None:
            with pytest.raises(InvalidArgumentError, match="as many steps as the model"):
                dp.certify(private_way(), found.policy)


def test_played_episodes_cost_what_is_certified():
    """Of the worst database, in the environment itself: 10⁴ episodes, false alarm 1e-6."""
    holes = dp.PrivateCost(states=[5, 7, 11, 12], on="entering",
                           cost=dp.Envelope(0, 1, radius=0.1), limit=0.1)  # fmt: skip
    model = dp.gymnasium.load("FrozenLake-v1", costs=holes, check=False)
    assert model.mdp.horizon == 100  # the environment's own
    found = dp.answer(model)
    assert "cost per episode ≤ limit" in repr(found)
    cost, limit = found.costs_at_worst()
    played = dp.rollout("FrozenLake-v1", found, episodes=10_000, seed=0)
    low, high = played.cost_intervals(1 - 1e-6)[0]
    assert low <= cost[0] <= min(high, limit[0])
    assert played.tail_weight == 0.0
    envs = gym.make_vec("FrozenLake-v1", 4, vectorization_mode="sync")
    several = dp.rollout(envs, found.policy, episodes=8, seed=1)
    assert several.gamma == 1.0
    assert several.lengths.max() <= 100
    gone = dp.gymnasium.load("FrozenLake-v1", gamma=0.9, costs=holes, check=False)
    assert gone.mdp.horizon is None
    with pytest.raises(InvalidArgumentError, match="horizon or total must be given"):
        dp.gymnasium.load("CliffWalking-v1", costs=holes)


def test_a_grid_has_every_criterion_in_python_and_on_the_command_line(tmp_path, capsys):
    env = dp.envs.HazardGridEnv("corridor")
    assert dp.answer(env.model(horizon=40)).policy.horizon == 40
    with pytest.raises(InvalidArgumentError, match="for ever in states"):
        env.model(total=True)
    asked = ["solve", "corridor", "--horizon", "40", "--epsilon", "5", "--delta", "1e-3"]
    assert main([*asked, "--out", str(tmp_path / "out"), "--json"]) == 0
    found: Any = dp.Answer.load(tmp_path / "out")
    assert found.policy.horizon == found.problem.mdp.horizon == 40
    assert main(["rollout", str(tmp_path / "out"), "--episodes", "20", "--json"]) == 0
    assert '"tail_weight": 0.0' in capsys.readouterr().out


def test_stationary_policies_are_judged_over_a_horizon_as_well():
    T, r = two_ways()
    model = dp.CMDP(T, r, cost=r, limit=9, horizon=5)
    policy = dp.Policy([[0.5, 0.5], [1, 0], [1, 0]])
    found = dp.evaluate(model, policy)
    assert found.value == pytest.approx(2 * 0.75)
    assert found.occupancy.sum() == pytest.approx(5)
    same = dp.Policy(np.tile(policy.probabilities, (5, 1, 1)))
    assert chain_of(model, same).occupancy() == pytest.approx(found.occupancy)
