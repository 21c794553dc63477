"""Exact evaluation, against closed forms, other algorithms and large chains."""

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp.cmdp import chain as chains
from dp_cmdp.cmdp.chain import DiscountedChain, choice_matrix
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError


def two_states(gamma=0.9):
    """State 0 earns 1 when it stays (action 0, cost 1) and nothing when it leaves to state 1."""
    T = np.zeros((2, 2, 2))
    T[0, 0, 0] = T[0, 1, 1] = T[1, :, 1] = 1.0
    r = [[1.0, 0.0], [0.0, 0.0]]
    return CMDP(T, r, f=[[[1.0, 0.0], [0.25, 0.25]]], f0=[4.0], mu=[1.0, 0.0], gamma=gamma)


def random_model(rng, *, num_states=12, num_actions=3, num_constraints=2, gamma=0.9):
    pairs = (num_states, num_actions)
    return CMDP(
        rng.dirichlet(np.full(num_states, 0.3), size=pairs),
        rng.normal(size=pairs),
        f=rng.normal(size=(num_constraints, *pairs)),
        f0=np.zeros(num_constraints),
        mu=rng.dirichlet(np.ones(num_states)),
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


def test_values_agree_with_the_power_series():
    rng = np.random.default_rng(3)
    cmdp = random_model(rng)
    policy = Policy(rng.dirichlet(np.ones(3), size=12))
    P = (choice_matrix(policy) @ cmdp.T).toarray()
    weight, value = cmdp.mu.copy(), 0.0
    for _ in range(400):
        value += weight @ (policy.probs * cmdp.r).sum(axis=1)
        weight = cmdp.gamma * weight @ P
    assert evaluate(cmdp, policy).value == pytest.approx(value, rel=1e-12)


def test_value_and_costs_are_linear_in_the_occupancy():
    rng = np.random.default_rng(4)
    cmdp = random_model(rng)
    result = evaluate(cmdp, Policy(rng.dirichlet(np.ones(3), size=12)))
    assert (result.occupancy * cmdp.r).sum() == pytest.approx(result.value, rel=1e-12)
    assert np.einsum("sa,ksa->k", result.occupancy, cmdp.f) == pytest.approx(
        result.costs, rel=1e-12
    )


def test_gamma_zero_sees_one_step():
    rng = np.random.default_rng(5)
    cmdp = random_model(rng, gamma=0.0)
    policy = Policy(rng.dirichlet(np.ones(3), size=12))
    assert evaluate(cmdp, policy).value == pytest.approx(
        cmdp.mu @ (policy.probs * cmdp.r).sum(axis=1)
    )


def test_results_are_read_only_and_short_to_print():
    result = evaluate(two_states(), Policy.uniform(2, 2))
    with pytest.raises(ValueError, match="read-only"):
        result.occupancy[0, 0] = 1.0
    assert repr(result).startswith("Evaluation(value=")


def test_a_policy_of_another_shape_is_refused():
    with pytest.raises(InvalidArgumentError, match="policy must have probs of shape"):
        evaluate(two_states(), Policy.uniform(3, 2))


def well_mixed_chain(num_states):
    rng = np.random.default_rng(6)
    rows = np.repeat(np.arange(num_states), 5)
    T = sparse.csr_array(
        (np.full(rows.size, 0.2), (rows, rng.integers(num_states, size=rows.size))),
        shape=(num_states, num_states),
    )
    ones = np.ones((num_states, 1))
    mu = np.full(num_states, 1 / num_states)
    cmdp = CMDP(T, rng.random((num_states, 1)), f=ones[None], f0=[1.0], mu=mu, gamma=0.99)
    return DiscountedChain(cmdp, Policy(ones)), cmdp


def test_a_large_well_mixed_chain_is_solved_without_factorisation(monkeypatch):
    chain, cmdp = well_mixed_chain(chains.DIRECT_LIMIT + 1)
    monkeypatch.setattr(chains, "splu", None)
    values, visits = chain.values(cmdp.r[:, 0]), chain.visits(cmdp.mu)
    assert np.abs(chain.matrix @ values - cmdp.r[:, 0]).max() < 1e-13
    assert visits @ cmdp.r[:, 0] == pytest.approx(cmdp.mu @ values, rel=1e-12)
    assert not chain.values(np.zeros(cmdp.num_states)).any()


def test_a_large_chain_that_mixes_slowly_is_factorised():
    size = chains.DIRECT_LIMIT + 1
    T = sparse.eye_array(size, k=1, format="lil")
    T[size - 1, 0] = 1.0
    reward = np.zeros((size, 1))
    reward[-1] = 1.0
    mu = np.eye(1, size).ravel()
    cmdp = CMDP(T, reward, f=reward[None], f0=[1.0], mu=mu, gamma=0.9999)
    expected = 0.9999 ** (size - 1) / (1 - 0.9999**size)
    assert evaluate(cmdp, Policy(np.ones((size, 1)))).value == pytest.approx(expected, rel=1e-10)
