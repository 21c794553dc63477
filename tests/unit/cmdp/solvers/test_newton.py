"""One cost row: the first-order model and its switch, Newton's steps, and what they leave alone."""

import numpy as np
import pytest

from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers import pool as pools
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.library import PolicyLibrary
from dp_cmdp.cmdp.solvers.newton import solve_one_row
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.cmdp.solvers.switch import Model, advantages, switch
from dp_cmdp.errors import InfeasibleError


def random_cmdp(seed, *, num_states=30, num_actions=3, gamma=0.95, share=0.5):
    """Sparse random dynamics; f0 is a `share` of the way from the indifferent to the safest."""
    rng = np.random.default_rng(seed)
    T = np.zeros((num_states, num_actions, num_states))
    for state in range(num_states):
        for action in range(num_actions):
            nearby = rng.choice(num_states, 4, replace=False)
            T[state, action, nearby] = rng.dirichlet(np.ones(4))
    r, f = rng.normal(size=(num_states, num_actions)), rng.random((num_states, num_actions))
    free = CMDP(T, r, f=f, f0=1e6, mu=np.eye(num_states)[0], gamma=gamma)
    most = solve_cmdp(free, engine="lp").costs[0]
    safest = CMDP(T, -f, f=f, f0=1e6, mu=free.mu, gamma=gamma)
    least = solve_cmdp(safest, engine="lp").costs[0]
    return free.with_constraints(f, most - share * (most - least))


def random_model(rng, *, num_states=12, num_actions=4):
    """Advantages of some policy, in which its own actions have none."""
    gain, extra = rng.normal(size=(2, num_states, num_actions))
    policy = rng.integers(num_actions, size=num_states).astype(np.int32)
    gain[np.arange(num_states), policy] = extra[np.arange(num_states), policy] = 0.0
    y = rng.exponential(size=num_states)
    return Model(gain.ravel(), extra.ravel(), y, policy, num_actions, 1e-13)


def dual_value(model, excess, multiplier):
    best = (model.gain - multiplier * model.extra).reshape(-1, model.num_actions).max(axis=1)
    return model.y @ best - multiplier * excess


def cost_of(model, policy):
    return model.y @ model.extra.reshape(-1, model.num_actions)[np.arange(policy.size), policy]


@pytest.mark.parametrize("seed", range(50))
def test_the_switch_is_the_least_value_of_the_model(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    left, right = model.policy.copy(), model.policy.copy()
    lowest = model.y @ model.extra.reshape(-1, model.num_actions).min(axis=1)
    excess = -rng.uniform(0.0, 1.0) * lowest
    guess = rng.uniform(1e-3, 10.0)
    found = switch(model, excess, guess, left, right)
    least = dual_value(model, excess, found)
    nearby = np.concatenate([found + np.linspace(-1e-3, 1e-3, 41), np.linspace(0.0, 20.0, 401)])
    assert all(least <= dual_value(model, excess, m) + 1e-12 for m in nearby if m >= 0.0)
    if found > 0.0:
        assert cost_of(model, right) + excess <= 0.0 < cost_of(model, left) + excess
        for policy in (left, right):  # both are greedy at the switch
            pairs = np.arange(policy.size) * model.num_actions + policy
            value = model.y @ (model.gain - found * model.extra)[pairs] - found * excess
            assert value == pytest.approx(least, abs=1e-12)


def test_a_model_without_excess_has_no_price():
    model = random_model(np.random.default_rng(0))
    left, right = model.policy.copy(), model.policy.copy()
    assert switch(model, -1e3, 1.0, left, right) == 0.0
    greedy = model.gain.reshape(-1, model.num_actions).argmax(axis=1)
    np.testing.assert_array_equal(left, greedy)
    np.testing.assert_array_equal(right, greedy)


def test_a_model_that_no_policy_can_serve_offers_the_cheapest_one():
    model = random_model(np.random.default_rng(0))
    left, right = model.policy.copy(), model.policy.copy()
    assert switch(model, 1e3, 1.0, left, right) == -1.0
    cheapest = model.extra.reshape(-1, model.num_actions).argmin(axis=1)
    np.testing.assert_array_equal(right, cheapest)


def test_advantages_of_the_own_actions_vanish():
    cmdp = random_cmdp(0)
    library = PolicyLibrary(cmdp)
    own = np.arange(cmdp.num_states) * cmdp.num_actions
    chain = cmdp.T.toarray()[own]
    v = np.linalg.solve(np.eye(cmdp.num_states) - cmdp.gamma * chain, cmdp.r[:, 0])
    out = np.empty(cmdp.r.size)
    advantages(library.dynamics, cmdp.r.ravel(), v, out)
    np.testing.assert_allclose(out[own], 0.0, atol=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("seed", range(8))
def test_newton_and_column_generation_and_highs_agree(seed, share, monkeypatch):
    cmdp = random_cmdp(seed, share=share)
    newton = PolicyPool(cmdp).solve(cmdp.f, cmdp.f0)
    monkeypatch.setattr(pools, "solve_one_row", lambda *_, **__: None)
    columns = PolicyPool(cmdp).solve(cmdp.f, cmdp.f0)
    highs = solve_cmdp(cmdp, engine="lp")
    assert newton.value == pytest.approx(highs.value, abs=2e-8 * max(1.0, abs(highs.value)))
    assert columns.value == pytest.approx(highs.value, abs=2e-8 * max(1.0, abs(highs.value)))
    assert newton.costs[0] <= cmdp.f0[0] * (1.0 + 1e-12)
    assert newton.gap <= 1e-8
    assert newton.iterations < columns.iterations


def test_the_answer_mixes_two_policies_that_differ_in_one_state():
    cmdp = random_cmdp(1)
    solution = PolicyPool(cmdp).solve(cmdp.f, cmdp.f0)
    assert solution.weights is not None
    assert solution.policies is not None
    assert solution.weights.sum() == pytest.approx(1.0)
    assert np.count_nonzero(solution.policies[0] != solution.policies[1]) == 1


def test_an_infeasible_draw_is_left_to_column_generation():
    cmdp = random_cmdp(2, share=1.2)
    pool = PolicyPool(cmdp)
    pool.library.prepare()
    assert solve_one_row(pool.library, cmdp.f.reshape(1, -1), cmdp.f0, gap=1e-8) is None
    with pytest.raises(InfeasibleError) as error:
        pool.solve(cmdp.f, cmdp.f0)
    assert error.value.violation is not None
    assert error.value.violation > 0.0


def test_a_gap_that_rounding_forbids_is_not_claimed():
    cmdp = random_cmdp(3)
    library = PolicyLibrary(cmdp)
    library.prepare()
    answer = solve_one_row(library, cmdp.f.reshape(1, -1), cmdp.f0, gap=1e-17)
    assert answer is None or answer.gap <= 1e-17


def test_a_free_draw_is_answered_by_one_policy():
    cmdp = random_cmdp(4)
    solution = PolicyPool(cmdp).solve(cmdp.f, 1e6)
    assert solution.dual[0] == 0.0
    assert solution.weights is not None
    assert solution.weights.size == 1
    assert solution.value == pytest.approx(solve_cmdp(cmdp.with_constraints(cmdp.f, 1e6)).value)
