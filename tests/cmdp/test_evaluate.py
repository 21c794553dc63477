"""Evaluation and chains, against closed forms, other algorithms and large models."""

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import CMDP, Policy, evaluate
from dp_cmdp._src.cmdp.chain import chain_of, choice_matrix
from dp_cmdp._src.cmdp.safest import optimal_actions, safest_policy
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix
from dp_cmdp._src.cmdp.synthesis import policy_of
from tests.cmdp.models import occupancy_lp


def two_states(gamma=0.9):
    """State 0 earns 1 when it stays (action 0, cost 1) and nothing when it leaves to state 1."""
    T = np.zeros((2, 2, 2))
    T[0, 0, 0] = T[0, 1, 1] = T[1, :, 1] = 1.0
    r = [[1.0, 0.0], [0.0, 0.0]]
    return CMDP(T, r, cost=[[1.0, 0.0], [0.25, 0.25]], limit=4.0, gamma=gamma)


def random_model(rng, *, states=12, actions=3, K=2, gamma=0.9):
    pairs = (states, actions)
    return CMDP(
        rng.dirichlet(np.full(states, 0.3), size=pairs),
        rng.normal(size=pairs),
        cost=rng.random((K, *pairs)),
        limit=3.0 + 2.0 * np.arange(K),
        start=rng.dirichlet(np.ones(states)),
        gamma=gamma,
    )


@pytest.mark.parametrize("stay", [0.0, 0.3, 1.0])
def test_the_two_state_model_has_its_closed_form(stay):
    gamma = 0.9
    result = evaluate(two_states(gamma), Policy([[stay, 1 - stay], [1.0, 0.0]]))
    visits = 1 / (1 - gamma * stay)  # geometric number of visits of state 0
    value = stay * visits
    cost = stay * visits + 0.25 * gamma * (1 - stay) * visits / (1 - gamma)
    # backward error of two unknowns (4 eps) times the condition (1 + γ)/(1 - γ) of I - γP, and the
    # few roundings of the closed forms
    rel = 8 * np.finfo(float).eps * (1 + gamma) / (1 - gamma)
    assert result.value == pytest.approx(value, rel=rel)
    assert result.costs[0] == pytest.approx(cost, rel=rel)
    assert result.slack[0] == pytest.approx(4.0 - cost, abs=rel * (4.0 + cost))
    assert result.value_function.tolist() == pytest.approx([value, 0.0], rel=rel)
    assert result.cost_functions[0, 1] == pytest.approx(0.25 / (1 - gamma), rel=rel)
    assert result.occupancy.sum() == pytest.approx(1 / (1 - gamma), rel=rel)
    assert result.occupancy[0].tolist() == pytest.approx([stay * visits, (1 - stay) * visits])


def test_values_agree_with_the_power_series_and_are_linear_in_the_occupancy():
    rng = np.random.default_rng(3)
    cmdp = random_model(rng)
    policy = Policy(rng.dirichlet(np.ones(3), size=12))
    P = (choice_matrix(policy) @ cmdp.T).toarray()
    weight, value = cmdp.start.copy(), 0.0
    for _ in range(400):
        value += weight @ (policy.probabilities * cmdp.r).sum(axis=1)
        weight = cmdp.gamma * weight @ P
    result = evaluate(cmdp, policy)
    assert result.value == pytest.approx(value, rel=1e-12)
    assert (result.occupancy * cmdp.r).sum() == pytest.approx(value, rel=1e-12)
    costs = np.einsum("sa,ksa->k", result.occupancy, cmdp.cost)
    assert costs == pytest.approx(result.costs, rel=1e-12)


def test_a_large_chain_that_mixes_slowly_is_solved():
    size = 5_001
    T = sparse.eye_array(size, k=1, format="lil")
    T[size - 1, 0] = 1.0
    reward = np.zeros((size, 1))
    reward[-1] = 1.0
    cmdp = CMDP(T, reward, cost=reward, limit=1.0, gamma=0.9999)
    expected = 0.9999 ** (size - 1) / (1 - 0.9999**size)
    assert evaluate(cmdp, Policy(np.ones((size, 1)))).value == pytest.approx(expected, rel=1e-10)


# ------------------------------------------------------------------------- occupancies and policies


def crossroads():
    """0 → 1 (action 0) or 2 (action 1), forever after there.

    State 1 costs nothing; state 2 costs 1 with action 0, 2 with action 1; state 3 is unreachable:
    its actions cost 0, 0 and 1 and earn 1, 2 and 100.
    """
    T = np.zeros((4, 3, 4))
    T[0, 0, 1] = T[0, 1, 2] = T[0, 2, 2] = T[1, :, 1] = T[2, :, 2] = T[3, :, 3] = 1.0
    r, cost = np.zeros((4, 3)), np.zeros((4, 3))
    cost[2], cost[3], r[3] = [1, 2, 2], [0, 0, 1], [1, 2, 100]
    return CMDP(T, r, cost=cost, limit=1.0, gamma=0.5)


def test_the_flow_equations_hold_for_the_occupancy_of_any_policy():
    rng = np.random.default_rng(1)
    cmdp = random_model(rng)
    policy, flow = Policy(rng.dirichlet(np.ones(3), size=12)), flow_matrix(cmdp)
    assert flow.shape == (12, 36)
    assert flow @ chain_of(cmdp, policy).occupancy().ravel() == pytest.approx(cmdp.start, abs=1e-13)
    assert flow.sum(axis=0) == pytest.approx(np.full(36, 0.1), abs=1e-14)


def test_states_without_occupancy_take_the_safest_action_and_noise_does_not_matter():
    cmdp = crossroads()
    x = np.zeros((4, 3))
    x[0, 1], x[2, 1] = 1.0, 1.0  # a costly policy that never sees states 1 and 3
    clean = policy_of(cmdp, x).probabilities
    assert clean[0].tolist() == clean[2].tolist() == [0, 1, 0]
    assert clean[3].tolist() == [0, 1, 0]  # cost before reward, reward among equals
    noisy = x + np.random.default_rng(0).normal(scale=1e-14, size=x.shape)
    noisy[3, 2] = 1e-13
    quiet = policy_of(cmdp, noisy).probabilities
    assert quiet[[0, 2, 3]] == pytest.approx(clean[[0, 2, 3]], abs=0)


@pytest.mark.usefixtures("both_ways")
def test_the_safest_policy_attains_the_least_total_cost():
    assert safest_policy(crossroads()).probabilities.argmax(axis=1)[[0, 2, 3]].tolist() == [0, 0, 1]
    for seed in range(5):
        cmdp = random_model(np.random.default_rng(seed))
        total = (cmdp.cost / cmdp.limit[:, None, None]).sum(axis=0)
        least = -occupancy_lp(cmdp, -total)
        found = evaluate(cmdp, safest_policy(cmdp)).costs @ (1 / cmdp.limit)
        assert found == pytest.approx(least)


def test_without_constraints_policy_iteration_equals_value_iteration():
    cmdp = random_model(np.random.default_rng(7), gamma=0.95)
    values = np.zeros(12)
    for _ in range(1500):
        values = (cmdp.r + 0.95 * (cmdp.T @ values).reshape(12, 3)).max(axis=1)
    actions, best = optimal_actions(cmdp, cmdp.r, allowed=np.ones((12, 3), dtype=bool))
    assert best == pytest.approx(values, rel=1e-12)
    found = evaluate(cmdp, Policy.deterministic(actions, 3)).value_function
    assert found == pytest.approx(values, rel=1e-12)
