"""Occupancy measures and the safest policy."""

import numpy as np
import pytest

from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix, occupancy_of, policy_from_occupancy
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import optimal_actions, safest_policy
from dp_cmdp.errors import InvalidArgumentError
from tests.problems import scipy_optimum


def random_model(seed, *, num_states=15, num_actions=3, gamma=0.9):
    rng = np.random.default_rng(seed)
    pairs = (num_states, num_actions)
    return CMDP(
        rng.dirichlet(np.full(num_states, 0.2), size=pairs),
        rng.random(pairs),
        f=rng.random((2, *pairs)),
        f0=[3.0, 5.0],
        mu=rng.dirichlet(np.ones(num_states)),
        gamma=gamma,
    )


def crossroads():
    """0 → 1 (action 0) or 2 (action 1), forever after there.

    State 1 costs nothing; state 2 costs 1 with action 0, 2 with action 1; state 3 is unreachable:
    its actions cost 0, 0 and 1 and earn 1, 2 and 100.
    """
    T = np.zeros((4, 3, 4))
    T[0, 0, 1] = T[0, 1, 2] = T[0, 2, 2] = T[1, :, 1] = T[2, :, 2] = T[3, :, 3] = 1.0
    r, f = np.zeros((4, 3)), np.zeros((4, 3))
    f[2], f[3], r[3] = [1, 2, 2], [0, 0, 1], [1, 2, 100]
    return CMDP(T, r, f=f, f0=[1.0], mu=[1, 0, 0, 0], gamma=0.5)


def test_the_flow_equations_hold_for_the_occupancy_of_any_policy():
    cmdp = random_model(0)
    policy = Policy(np.random.default_rng(1).dirichlet(np.ones(3), size=15))
    flow = flow_matrix(cmdp)
    assert flow.shape == (15, 45)
    assert flow.format == "csr"
    # backward error of 15 unknowns and a product of 45, on visits that add up to 10
    error = (15 + 45) * np.finfo(float).eps * 10
    assert flow @ occupancy_of(cmdp, policy).ravel() == pytest.approx(cmdp.mu, abs=error)


def test_columns_of_the_flow_matrix_sum_to_one_minus_gamma():
    assert flow_matrix(random_model(0)).sum(axis=0) == pytest.approx(np.full(45, 0.1), abs=1e-14)


def test_a_policy_survives_the_way_through_its_occupancy():
    cmdp = random_model(2)
    policy = Policy(np.random.default_rng(3).dirichlet(np.ones(3), size=15))
    x = occupancy_of(cmdp, policy)
    for form in (x, x.ravel(), x.tolist()):
        assert policy_from_occupancy(cmdp, form).probs == pytest.approx(policy.probs, abs=1e-12)


def test_the_linear_programs_solution_gives_a_policy_of_the_same_value_and_costs():
    for seed in range(5):
        cmdp = random_model(seed)
        least = evaluate(cmdp, safest_policy(cmdp)).costs * 1.05
        solution = scipy_optimum(
            -cmdp.r.ravel(),
            A_ub=cmdp.f.reshape(2, -1),
            b_ub=least,
            A_eq=flow_matrix(cmdp),
            b_eq=cmdp.mu,
        )
        result = evaluate(cmdp, policy_from_occupancy(cmdp, solution.x))
        assert result.value == pytest.approx(-solution.fun, rel=1e-8)
        assert (result.costs <= least + 1e-8).all()


def test_states_without_occupancy_take_the_safest_action_and_noise_does_not_matter():
    cmdp = crossroads()
    x = np.zeros((4, 3))
    x[0, 1], x[2, 1] = 1.0, 1.0  # a costly policy that never sees states 1 and 3
    clean = policy_from_occupancy(cmdp, x)
    assert clean.probs[0].tolist() == clean.probs[2].tolist() == [0, 1, 0]
    assert clean.probs[3].tolist() == [0, 1, 0]  # cost before reward, reward among equals
    noisy = x + np.random.default_rng(0).normal(scale=1e-14, size=x.shape)
    noisy[3, 2] = 1e-13
    quiet = policy_from_occupancy(cmdp, noisy)
    assert quiet.probs[[0, 2, 3]] == pytest.approx(clean.probs[[0, 2, 3]], abs=0)


def test_the_safest_policy_avoids_cost_before_it_seeks_reward():
    policy = safest_policy(crossroads())
    actions = policy.probs.argmax(axis=1)
    assert actions[0] == 0
    assert actions[2] == 0
    assert actions[3] == 1


@pytest.mark.usefixtures("both_ways")
def test_the_safest_policy_attains_the_least_total_cost_of_the_linear_program():
    for seed in range(5):
        cmdp = random_model(seed)
        total = (cmdp.f / cmdp.f0[:, None, None]).sum(axis=0)
        least = scipy_optimum(total.ravel(), A_eq=flow_matrix(cmdp), b_eq=cmdp.mu).fun
        assert evaluate(cmdp, safest_policy(cmdp)).costs @ (1 / cmdp.f0) == pytest.approx(least)


@pytest.mark.parametrize("f0", [0.0, -1.0, 1e-300, 5e-324])
def test_a_tolerance_that_is_no_scale_does_no_harm(f0):
    cmdp = crossroads()
    assert safest_policy(cmdp.with_constraints(cmdp.f, [f0])) == safest_policy(cmdp)
    free = cmdp.with_constraints(np.zeros_like(cmdp.f), [f0])
    assert safest_policy(free).probs[3].tolist() == [0, 0, 1]


def test_without_constraints_policy_iteration_equals_value_iteration():
    cmdp = random_model(7, gamma=0.95)
    values = np.zeros(15)
    for _ in range(1500):
        values = (cmdp.r + 0.95 * (cmdp.T @ values).reshape(15, 3)).max(axis=1)
    actions, best = optimal_actions(cmdp, cmdp.r, allowed=np.ones((15, 3), dtype=bool))
    assert best == pytest.approx(values, rel=1e-12)
    policy = Policy.deterministic(actions, 3)
    assert evaluate(cmdp, policy).value_function == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    "x", [np.zeros((15, 3)), -np.ones(45), np.ones(44), np.full((15, 3), np.nan), np.ones((3, 15))]
)
def test_what_is_no_occupancy_is_refused(x):
    with pytest.raises(InvalidArgumentError, match="x must"):
        policy_from_occupancy(random_model(0), x)
