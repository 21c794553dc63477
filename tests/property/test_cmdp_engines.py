"""Both CMDP engines agree on random models, and so do their verdicts of infeasibility."""

import numpy as np
import pytest

from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import optimal_actions
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.errors import InfeasibleError


def random_cmdp(seed):
    """Dense, sparse or degenerate (small integers), with absorbing states and K = 1 … 5."""
    rng = np.random.default_rng(seed)
    num_states, num_actions = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    K, gamma = int(rng.integers(1, 6)), float(rng.choice([0.0, 0.5, 0.9, 0.99, 0.999]))
    kind = rng.choice(["dense", "sparse", "degenerate"])
    T = np.zeros((num_states * num_actions, num_states))
    for pair in range(len(T)):
        size = num_states if kind == "dense" else int(rng.integers(1, min(num_states, 4) + 1))
        T[pair, rng.choice(num_states, size, replace=False)] = rng.dirichlet(np.ones(size))
    for state in np.flatnonzero(rng.random(num_states) < 0.1):
        T[state * num_actions : (state + 1) * num_actions] = np.eye(num_states)[state]
    shape = (num_states, num_actions)
    if kind == "degenerate":
        r, f = rng.integers(-1, 2, shape), rng.integers(0, 2, (K, *shape))
    else:
        r, f = rng.normal(size=shape), rng.normal(size=(K, *shape))
        f = f * 10.0 ** rng.uniform(-2, 2, (K, 1, 1))
    mu = rng.dirichlet(np.ones(num_states))
    if rng.random() < 0.5:
        mu = np.eye(num_states)[rng.integers(num_states)]
    cost = cost_of_random_policy(T, f, mu=mu, gamma=gamma, rng=rng)
    f0 = cost + rng.choice([-0.3, 0.0, 0.1, 0.5]) * np.abs(cost) * rng.random(K)
    return CMDP(T.reshape(*shape, num_states), r, f=f, f0=f0, mu=mu, gamma=gamma)


def cost_of_random_policy(T, f, *, mu, gamma, rng):
    _, num_states, num_actions = f.shape
    chance = rng.dirichlet(np.ones(num_actions), size=num_states)
    chain = np.einsum("sa,sat->st", chance, T.reshape(num_states, num_actions, num_states))
    visits = np.linalg.solve((np.eye(num_states) - gamma * chain).T, mu)
    return np.einsum("ksa,sa,s->k", f, chance, visits)


def verdict(cmdp, engine):
    try:
        return solve_cmdp(cmdp, engine=engine)
    except InfeasibleError as error:
        return error


def check(seed):
    cmdp = random_cmdp(seed)
    ours, theirs = verdict(cmdp, "policies"), verdict(cmdp, "lp")
    if isinstance(ours, InfeasibleError) or isinstance(theirs, InfeasibleError):
        assert isinstance(ours, InfeasibleError)
        assert isinstance(theirs, InfeasibleError)
        check_ray(cmdp, ours)
        return
    scale = max(1.0, abs(theirs.value))
    assert abs(ours.value - theirs.value) <= 1e-7 * scale
    assert ours.gap <= 1e-8
    assert ours.upper_bound >= theirs.value - 1e-7 * scale
    assert (ours.dual >= 0.0).all()
    horizon = 1.0 / (1.0 - cmdp.gamma)
    room = 1e-9 * np.abs(cmdp.f).max(axis=(1, 2)) * horizon
    assert (ours.costs <= cmdp.f0 + room).all()
    x = ours.occupancy.ravel()
    assert np.abs(flow_matrix(cmdp) @ x - cmdp.mu).sum() <= 1e-12 * horizon
    np.testing.assert_allclose(cmdp.f.reshape(len(cmdp.f0), -1) @ x, ours.costs, atol=room.max())


def check_ray(cmdp, error):
    """The ray's cost, minimised over all policies, exceeds its tolerance by the violation."""
    combined = np.tensordot(error.ray, cmdp.f, axes=1)
    free = CMDP(cmdp.T, -combined, f=combined, f0=1e18, mu=cmdp.mu, gamma=cmdp.gamma)
    least = -solve_cmdp(free, engine="lp").value
    excess = least - float(error.ray @ cmdp.f0)
    assert (error.ray >= 0.0).all()
    assert error.violation > 0.0
    assert excess >= error.violation * (1 - 1e-6) - 1e-7 * max(1.0, abs(least))


def flat_cmdp(seed):
    """A cost that is the same everywhere, at its tolerance: no policy can miss it or gain by it."""
    rng = np.random.default_rng(seed)
    num_states, num_actions, K = (int(n) for n in rng.integers((2, 1, 1), (13, 5, 4)))
    gamma = float(rng.choice([0.0, 0.3, 0.9, 0.99, 0.999]))
    shape = (num_states, num_actions)
    T = rng.dirichlet(np.full(num_states, 0.3), shape)
    r = [np.zeros(shape), -rng.random(shape), rng.normal(size=shape), rng.random(shape)][seed % 4]
    f = rng.random((K, *shape))
    f[0] = 10.0 ** rng.integers(-3, 4)
    f0 = np.full(K, 2.0 / (1.0 - gamma))
    f0[0] = f[0, 0, 0] / (1.0 - gamma)
    mu = rng.dirichlet(np.ones(num_states))
    return CMDP(T, r, f=f, f0=f0, mu=mu, gamma=gamma)


def check_flat(seed):
    cmdp = flat_cmdp(seed)
    free = np.ones(cmdp.r.shape, dtype=bool)
    best = float(cmdp.mu @ optimal_actions(cmdp, cmdp.r, allowed=free)[1])
    answer = solve_cmdp(cmdp, engine="policies")
    assert answer.value == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert answer.occupancy.sum() == pytest.approx(1.0 / (1.0 - cmdp.gamma))


def check_brink(seed):
    """Tolerances at the least cost there is: solved, feasible, no worse than the safest policy."""
    model = random_cmdp(seed)
    free = np.ones(model.r.shape, dtype=bool)
    actions, v = optimal_actions(model, -model.f[0], allowed=free)
    cmdp = model.with_constraints(model.f[:1], [-float(model.mu @ v)])
    answer = solve_cmdp(cmdp, engine="policies")
    safest = evaluate(cmdp, Policy.deterministic(actions, model.num_actions)).value
    horizon = 1.0 / (1.0 - cmdp.gamma)
    assert answer.gap <= 1e-8
    assert answer.costs[0] <= cmdp.f0[0] + 1e-9 * np.abs(cmdp.f).max() * horizon
    assert answer.value >= safest - 1e-7 * max(1.0, abs(safest))


@pytest.mark.parametrize("seed", range(60))
def test_the_engines_agree(seed):
    check(seed)


def test_a_cost_that_is_the_same_everywhere_does_no_harm():
    for seed in range(200):
        check_flat(seed)


def test_tolerances_at_the_least_cost_there_is_are_solved():
    for seed in range(200):
        check_brink(seed)


@pytest.mark.long
def test_degenerate_models_are_solved_by_the_thousand():
    for seed in range(1000, 4000):
        check_flat(seed)
        check_brink(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1800))
def test_the_engines_agree_on_hundreds_of_models(seed):
    check(seed)
