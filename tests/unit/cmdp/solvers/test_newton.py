"""Newton's method and column generation: they agree with each other and with HiGHS."""

import numpy as np
import pytest

from benchmarks.families import FAMILIES
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.compiled import INFEASIBLE, SOLVED
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.errors import ConvergenceError, InfeasibleError


def random_cmdp(seed, *, num_states=30, num_actions=3, gamma=0.95, share=0.5, K=1):
    """Sparse random dynamics; f0 is a `share` of the way from the indifferent to the safest."""
    rng = np.random.default_rng(seed)
    T = np.zeros((num_states, num_actions, num_states))
    for state in range(num_states):
        for action in range(num_actions):
            nearby = rng.choice(num_states, 4, replace=False)
            T[state, action, nearby] = rng.dirichlet(np.ones(4))
    r, f = rng.normal(size=(num_states, num_actions)), rng.random((K, num_states, num_actions))
    free = CMDP(T, r, f=f, f0=np.full(K, 1e6), mu=np.eye(num_states)[0], gamma=gamma)
    most = solve_cmdp(free, engine="lp").costs
    safest = CMDP(T, -f.sum(axis=0), f=f, f0=np.full(K, 1e6), mu=free.mu, gamma=gamma)
    least = solve_cmdp(safest, engine="lp").costs
    return free.with_constraints(f, most - share * (most - least))


def solved_by(cmdp, *, newton_steps):
    """One solve from nothing, with so many steps of Newton's method before column generation."""
    library = PolicyPool(cmdp).library
    assert library is not None
    x = np.zeros((cmdp.num_states, cmdp.num_constraints + 1))
    table = cmdp.f.reshape(cmdp.num_constraints, -1)
    return library.workspace.solve(
        table, cmdp.f0, gap=1e-8, given=library.given(table), x=x, newton_steps=newton_steps
    )


@pytest.mark.parametrize("K", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("seed", range(6))
def test_newton_and_column_generation_and_highs_agree(seed, share, K):
    cmdp = random_cmdp(seed, share=share, K=K)
    highs = solve_cmdp(cmdp, engine="lp")
    for steps in (0, 40):
        found = solved_by(cmdp, newton_steps=steps)
        assert found.status == SOLVED
        scale = max(np.abs(cmdp.r).max(), abs(highs.value))  # of both gaps, 1e-8 each
        assert found.value == pytest.approx(highs.value, abs=2e-8 * scale)
        # weak duality, but for what HiGHS's costs exceed
        excess = found.multiplier @ np.maximum(highs.costs - cmdp.f0, 0.0)
        assert found.bound >= highs.value - excess - 1e-9 * scale
        assert (found.costs <= cmdp.f0 + 1e-11 * (1.0 + abs(cmdp.f0))).all()


def test_newton_takes_fewer_steps_than_column_generation():
    models = [random_cmdp(seed, num_states=120, K=2) for seed in range(6)]
    newton = [solved_by(cmdp, newton_steps=40).steps for cmdp in models]
    columns = [solved_by(cmdp, newton_steps=0).steps for cmdp in models]
    assert np.median(newton) < 0.7 * np.median(columns)


def test_the_answer_mixes_two_policies_that_differ_in_one_state():
    cmdp = random_cmdp(1)
    solution = PolicyPool(cmdp).solve(cmdp.f, cmdp.f0)
    assert solution.weights is not None
    assert solution.policies is not None
    assert solution.weights.sum() == pytest.approx(1.0)
    assert np.count_nonzero(solution.policies[0] != solution.policies[1]) == 1


@pytest.mark.parametrize("steps", [0, 40])
def test_an_infeasible_draw_is_proved_to_be_one(steps):
    cmdp = random_cmdp(2, share=1.2)
    assert solved_by(cmdp, newton_steps=steps).status == INFEASIBLE
    with pytest.raises(InfeasibleError) as error:
        PolicyPool(cmdp).solve(cmdp.f, cmdp.f0)
    assert error.value.violation is not None
    assert error.value.violation > 0.0


def test_a_gap_that_rounding_forbids_is_not_claimed(monkeypatch):
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.pool.LP_LIMIT", 0)
    cmdp = random_cmdp(3)
    with pytest.raises(ConvergenceError, match="relative gap"):
        PolicyPool(cmdp).solve(cmdp.f, cmdp.f0, gap=1e-19)


def test_a_free_draw_is_answered_by_one_policy():
    cmdp = random_cmdp(4)
    solution = PolicyPool(cmdp).solve(cmdp.f, 1e6)
    assert solution.dual[0] == 0.0
    assert solution.weights is not None
    assert solution.weights.size == 1
    free = solve_cmdp(cmdp.with_constraints(cmdp.f, 1e6), engine="lp")
    assert solution.value == pytest.approx(free.value)


@pytest.mark.parametrize("family", ["grid", "rooms"])
def test_bounds_of_large_models_that_sweeps_have_mended_hold(family):
    structure = FAMILIES[family](12_000, 1, np.random.default_rng(0))
    T, r, f = structure.T, structure.r, structure.f
    mu = np.full(len(r), 1 / len(r))
    free = CMDP(T, r - 1e-3 * f[0], f=f, f0=[1e9], mu=mu, gamma=0.99)  # ties go to low costs
    bold = solve_cmdp(free, engine="policies", gap=1e-6).costs
    model = CMDP(T, r, f=f, f0=0.9 * bold, mu=mu, gamma=0.99)
    exact, rough = (solve_cmdp(model, engine="policies", gap=gap) for gap in (1e-9, 1e-5))
    assert exact.dual.max() > 0.0
    assert rough.value <= exact.upper_bound
    assert exact.value <= rough.upper_bound
    assert exact.value - rough.value <= 1.001e-5 * abs(exact.value)
    assert (rough.costs <= model.f0 + 1e-11 * (1.0 + model.f0)).all()
