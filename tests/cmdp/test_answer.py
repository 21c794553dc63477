"""From what is known of a database to the best policy that is proved safe for all of it."""

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.cmdp import synthesis
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.cmdp.solvers import row_columns, row_solver
from tests.cmdp.models import (
    best_mixture,
    best_of,
    bounds,
    deterministic_points,
    exact_excess,
    exact_occupancy,
    grid,
    known_set,
    occupancy_lp,
    private_way,
    random_model,
    random_set,
    sums_around,
    two_ways,
    vertices,
)

RefusedError, SolverError = dp.errors.RefusedError, dp.errors.SolverError
InfeasibleError = dp.errors.InfeasibleError


def public(cmdp: dp.CMDP) -> ParametricCMDP:
    return ParametricCMDP._of_public(cmdp)


def answer(cmdp: dp.CMDP):
    """The best policy of a model of known numbers."""
    model = public(cmdp)
    return model.answer(model.envelope.uncertainty)


def shortcut(limit: float = 1.0, gamma: float = 0.9) -> dp.CMDP:
    """State 0 chooses for ever: action 1 earns 1 and costs 1, action 0 does neither."""
    T = np.zeros((2, 2, 2))
    T[:, :, 0] = 1.0
    r = np.array([[0.0, 1.0], [0.0, 0.0]])
    return dp.CMDP(T, r, cost=r, limit=limit, gamma=gamma)


# ----------------------------------------------------------------------------------- known numbers


def test_the_constrained_optimum_in_closed_form():
    # cost and reward coincide, so the value is the limit: play action 1 a share limit·(1 − γ)
    found = answer(shortcut(1.0))
    assert found.value == pytest.approx(1.0, abs=1e-9)
    assert found.policy.probabilities[0, 1] == pytest.approx(0.1, abs=1e-9)
    assert found.certificate.verified
    assert (found.policy.probabilities.max(axis=1) < 1.0).sum() == 1


@pytest.mark.parametrize("seed", range(30))
def test_no_mixture_of_policies_earns_more_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    pairs = (int(rng.integers(1, 4)), 2)
    facts = {
        "start": rng.dirichlet(np.ones(pairs[0])),
        "gamma": float(rng.choice([0.3, 0.9, 0.99])),
    }
    T, r = rng.dirichlet(np.ones(pairs[0]), size=pairs), rng.normal(size=pairs)
    cmdp = dp.CMDP(T, r, cost=rng.uniform(size=pairs), limit=1.0, **facts)
    points = deterministic_points(cmdp)
    costs = sorted(float(cost) for _, cost in points)
    cmdp = cmdp._with_costs(cmdp.cost, np.array([rng.uniform(costs[0], costs[-1])]))
    found, best = answer(cmdp), best_mixture(points, Fraction(float(cmdp.limit[0])))
    assert Fraction(found.bound) >= best
    assert found.value == pytest.approx(float(best), rel=1e-7, abs=1e-7)
    (x,) = bounds(cmdp, found.policy)
    assert x <= cmdp.limit[0]


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_answers_agree_with_an_independent_linear_program(seed, K):
    rng = np.random.default_rng(seed)
    T = rng.dirichlet(np.full(12, 0.3), size=(12, 3))
    cost = rng.uniform(size=(K, 12, 3))
    free = dp.CMDP(T, rng.normal(size=(12, 3)), cost=cost, limit=np.full(K, 1e6), gamma=0.95)
    least = -occupancy_lp(free, -cost.sum(axis=0))
    cmdp = free._with_costs(cost, np.full(K, 1.02 * least / K + (K > 1)))
    found = answer(cmdp)
    assert found.certificate.verified
    assert found.value == pytest.approx(best_of(cmdp), rel=1e-6, abs=1e-6)
    assert found.value <= found.bound <= found.value + 1e-6 * (1 + abs(found.value))


def test_an_infeasible_model_is_named_and_proved():
    with pytest.raises(InfeasibleError) as caught:
        answer(shortcut(-1.0))
    assert caught.value.violation is not None
    assert caught.value.violation > 0
    assert "-1" not in str(caught.value)


def without_slack(num_states: int) -> dp.CMDP:
    """Every policy costs exactly 2, the limit."""
    ones = np.ones((num_states, 1))
    start = np.full(num_states, 1.0 / num_states)
    return dp.CMDP(np.eye(num_states)[:, None], ones, cost=ones, limit=2.0, start=start, gamma=0.5)


def test_limits_met_exactly_are_certified_without_a_margin():
    found = answer(without_slack(2))
    assert found.certificate.verified
    assert found.certificate.slack.tolist() == [0.0]


def test_a_feasible_model_without_room_is_never_called_infeasible():
    with pytest.raises(SolverError, match="no room") as caught:
        answer(without_slack(64))
    assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.7, 0.9])
@pytest.mark.parametrize("cost", [0.1, 0.3, 1.0])
def test_a_policy_without_room_is_certified_in_fractions(cost, gamma):
    alone = dp.CMDP([[[1.0]]], [[1.0]], cost=[[cost]], limit=1.0, gamma=gamma)
    exact = Fraction(cost) / (1 - Fraction(gamma))
    least = float(exact) if Fraction(float(exact)) >= exact else np.nextafter(float(exact), np.inf)
    assert answer(alone._with_costs(alone.cost, np.array([least]))).certificate.verified
    below = np.array([np.nextafter(least, 0.0)])
    with pytest.raises(SolverError):
        answer(alone._with_costs(alone.cost, below))


@pytest.mark.parametrize("gamma", [0.999999, 0.9999999])
def test_long_horizons_and_large_rewards_are_solved(gamma):
    T, r = two_ways()
    cost = np.zeros((3, 2))
    cost[1] = 1.0
    cmdp = dp.CMDP(T, 1e12 * r, cost=cost, limit=0.1 / (1 - gamma), gamma=gamma)
    found = answer(cmdp)
    assert found.certificate.verified
    assert found.value <= found.bound <= found.value * (1 + 1e-6)


def test_the_bound_is_that_of_the_limits_and_not_of_those_less_the_margin(monkeypatch):
    # value = limit: with a margin of about 1 % the program's own bound would be 0.99
    monkeypatch.setattr(synthesis, "FIRST_MARGIN", 1e-3)
    found = answer(shortcut(1.0))
    assert found.value < 0.995
    assert 1.0 <= found.bound <= 1.0 + 1e-9


# ------------------------------------------------------------------------------------------- boxes


def test_an_answer_is_safe_for_the_truth_and_between_robust_and_nonprivate():
    model = private_way()
    robust = model.answer(model.envelope.uncertainty)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = np.array([rng.random(), rng.uniform(1.0, 3.0)])
        away = rng.uniform(0, 0.3, (2, 2))
        low = np.maximum(truth - away[0], model.envelope.lower)
        high = np.minimum(truth + away[1], model.envelope.upper)
        found = model.answer(known_set(low, high), start=robust)
        best = answer(model.at(truth))
        assert found.certificate.verified
        assert bounds(model.at(truth), found.policy)[0] <= truth[1]
        assert robust.value - 1e-9 <= found.value <= best.value + 1e-9
        assert found.value == pytest.approx(best_of(model.worst(known_set(low, high))), abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_numbers_with_both_signs_are_answered_exactly(seed):
    """Entries in costs and limits at once: the rows are optimised jointly, not one by one."""
    rng = np.random.default_rng(seed)
    model, _ = random_model(rng)
    known = random_set(rng, rows=0)
    try:
        found = model.answer(known)
    except InfeasibleError:
        return
    x = exact_occupancy(model, found.policy)
    for theta in (known.lower, known.upper, (known.lower + known.upper) / 2):
        point = [Fraction(v) for v in theta.tolist()]
        for i in range(2):
            assert exact_excess(model, x, point, i) <= 0
    assert found.value <= found.bound + 1e-9


def test_refusals_name_the_limit_the_amount_and_the_states_without_data():
    cost = dp.PrivateCost(states=[0], cost=dp.Envelope(0, 1), limit=dp.Envelope(0.5, 3))
    model = dp.ParametricCMDP([[[1.0]]], [[1.0]], gamma=0.5, costs=cost)
    for ask in (lambda: dp.answer(model), lambda: model.answer(model.envelope.uncertainty)):
        with pytest.raises(RefusedError, match=r"that of 'cost' by 1\.5.*state 0 \(2\)") as caught:
            ask()
        assert caught.value.repairs == pytest.approx({"cost": 1.5})
        assert "right-hand" not in str(caught.value)
    lucky = model.answer(known_set([0.0, 2.0], [0.5, 3.0]))
    assert lucky.certificate.verified
    with pytest.raises(InfeasibleError):
        model.answer(known_set([0.0, 0.5], [1.0, 1.0]))


def test_refusals_of_several_limits_name_each_that_must_give():
    costs = {
        name: dp.PrivateCost(states=[0], cost=dp.Envelope(0, top), limit=dp.Envelope(1, 9))
        for name, top in (("dear", 2.0), ("cheap", 0.25), ("worse", 3.0))
    }
    model = dp.ParametricCMDP([[[1.0]]], [[1.0]], gamma=0.5, costs=costs)
    with pytest.raises(RefusedError) as caught:
        model.answer(model.envelope.uncertainty)
    assert caught.value.repairs == pytest.approx({"dear": 3.0, "worse": 5.0})
    pickle.loads(pickle.dumps(caught.value))


# --------------------------------------------------------------------------------------- polytopes


def test_a_policy_over_a_polytope_attains_its_bound_and_beats_the_box():
    model, theta = grid(8)
    known = sums_around(theta, np.random.default_rng(0))
    found, robust = model.answer(known), model.answer(model.envelope.uncertainty)
    assert found.certificate.verified
    assert found.value <= found.bound <= found.value + 1e-6 * abs(found.value)
    assert found.value > robust.value + 0.1
    assert bounds(model.at(theta), found.policy)[0] <= model.at(theta).limit[0]
    assert not model.certify(found.policy, model.envelope.uncertainty)
    assert found.multipliers.shape == (1, 3)
    assert (found.multipliers.toarray() >= 0).all()


def test_weights_and_multipliers_prove_the_answer_by_weak_duality():
    model, theta = grid(7)
    known = sums_around(theta, np.random.default_rng(1))
    found = model.answer(known)
    w, lam = found.weights.toarray()[0], found.multipliers.toarray()[0]
    z = w - known.W.T @ lam
    worst = lam @ known.q + np.where(z > 0, known.upper, known.lower) @ z
    limit = float(model.limit.constant.toarray()[0, 0])
    assert found.certificate.slack[0] == pytest.approx(limit - worst, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_answers_over_random_polytopes_hold_at_every_vertex_and_agree_with_scipy(seed):
    rng = np.random.default_rng(100 + seed)
    model, _ = random_model(rng)
    known = random_set(rng)
    try:
        found = model.answer(known)
    except (InfeasibleError, SolverError):
        return
    x = exact_occupancy(model, found.policy)
    corners = list(vertices(known))
    for theta in corners:
        for i in range(2):
            assert exact_excess(model, x, theta, i) <= 0
    tables = [model.at(np.array([float(v) for v in theta])) for theta in corners]
    rows = np.concatenate([cmdp.cost.reshape(2, -1) for cmdp in tables])
    limits = np.concatenate([cmdp.limit for cmdp in tables])
    best = occupancy_lp(model.mdp, model.r, A_ub=rows, b_ub=limits)
    assert found.value == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert found.bound >= best - 1e-7


def test_contradictory_sets_are_refused():
    model, theta = grid(6)
    full = np.ones(theta.size)
    with pytest.raises(dp.errors.InvalidArgumentError, match="contradict"):
        model.answer(known_set(0.5 * full, full, full[None], [1.0]))


@pytest.mark.kernels
@pytest.mark.parametrize("n", [6, 9, 12])
def test_the_linear_program_and_column_generation_agree(n, monkeypatch):
    monkeypatch.setattr(row_columns, "PATIENCE", 10**9)
    model, theta = grid(n)
    known = sums_around(theta, np.random.default_rng(n))
    small = model.answer(known)
    for name in ("LARGE", "INTERIOR"):
        monkeypatch.setattr(synthesis, name, 0)
        monkeypatch.setattr(row_solver, name, 0)
    large = model.answer(known, theta)
    assert large.certificate.verified
    assert large.value == pytest.approx(small.value, rel=1e-5)
    assert small.value <= large.bound + 1e-9
    assert large.value <= small.bound + 1e-9


@pytest.mark.kernels
def test_an_unconverged_answer_is_safe_and_says_how_far_it_may_be_from_the_best(monkeypatch):
    model, theta = grid(9, radius=1.0)
    known = sums_around(theta, np.random.default_rng(0))
    best = model.answer(known)
    monkeypatch.setattr(synthesis, "LARGE", 0)
    monkeypatch.setattr(row_solver, "LARGE", 0)
    monkeypatch.setattr(row_columns, "ROW_ITERATIONS", 4)
    found = model.answer(known)
    assert found.certificate.verified
    assert found.value < best.value
    assert found.bound >= best.value - 1e-9


# --------------------------------------------------------------------- proposals, starts and files


def test_a_start_changes_the_work_and_not_the_answer():
    model, theta = grid(8)
    robust = model.answer(model.envelope.uncertainty)
    known = known_set(np.maximum(theta - 0.1, 0), np.minimum(theta + 0.1, 1))
    cold, warm = model.answer(known), model.answer(known, start=robust)
    again = model.answer(known, start=robust)
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
    assert np.array_equal(warm.policy.probabilities, again.policy.probabilities)
    assert robust._warm.policies.shape == robust._warm.occupancies.shape
    assert pickle.loads(pickle.dumps(robust))._warm is None


def test_answers_from_private_numbers_start_nothing():
    """What a curator solves from the truth must not steer what is published."""
    model, theta = grid(6)
    secret = answer(model.at(theta))
    assert secret._warm is None
    whole = model.envelope.uncertainty
    fresh = ParametricCMDP.from_document(model.document())
    assert np.array_equal(
        fresh.answer(whole, start=secret).policy.probabilities,
        model.answer(whole).policy.probabilities,
    )


def test_an_answer_is_saved_and_proved_again(tmp_path):
    model = private_way()
    found = model.answer(model.envelope.uncertainty)
    loaded: Any = type(found).load(found.save(tmp_path / "answer"))
    assert loaded.policy == found.policy
    assert loaded.value == pytest.approx(found.value)
    assert loaded.certificate.verified
    careless = replace(found, decision=dp.Policy.deterministic([0, 0, 0], 2))
    with pytest.raises(dp.errors.InvalidArgumentError, match="prove"):
        type(found).load(careless.save(tmp_path / "careless"))


def test_a_saved_model_answers_the_same(tmp_path):
    model, theta = grid(6)
    path = model.save(tmp_path / "model.npz")
    again = dp.ParametricCMDP.load(path)
    known = sums_around(theta, np.random.default_rng(0))
    assert again.envelope == model.envelope
    assert again.answer(known).policy == model.answer(known).policy
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(dp.errors.InvalidArgumentError):
        dp.ParametricCMDP.load(path)
