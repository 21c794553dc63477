"""Engines: known answers, bounds, proofs of infeasibility, pools; they agree with each other."""

import numpy as np
import pytest

from dp_cmdp import CMDP
from dp_cmdp._src.cmdp.safest import optimal_actions
from dp_cmdp._src.cmdp.solvers.compiled import INFEASIBLE, SOLVED
from dp_cmdp._src.cmdp.solvers.occupancy_lp import FEASIBILITY, flow_matrix
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp._src.cmdp.solvers.whole_lp import lagrangian_bound, solve_lp
from dp_cmdp.errors import InfeasibleError, SolverError
from tests.cmdp.families import FAMILIES, corridor, family, garnet
from tests.cmdp.models import best_of

ENGINES = [pytest.param("policies", marks=pytest.mark.kernels), "lp"]
kernels = pytest.mark.kernels


def solve(cmdp, engine="policies", **options):
    if engine == "lp":
        return solve_lp(cmdp, cmdp.cost, cmdp.limit)
    return PolicyPool(cmdp).solve(cmdp.cost, cmdp.limit, **options)


def paid(cmdp, solution):
    """Discounted costs of an occupancy."""
    return np.einsum("sa,ksa->k", solution.occupancy, cmdp.cost)


def one_state(limit, *, gamma=0.5):
    """One state; action 1 earns 1 and costs 1, action 0 nothing."""
    table = [[0.0, 1.0]]
    return CMDP(np.ones((1, 2, 1)), table, cost=table, limit=limit, gamma=gamma)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_state_mixes_its_two_actions_by_hand(engine):
    solution = solve(one_state(0.5), engine)
    np.testing.assert_allclose(solution.occupancy, [[1.5, 0.5]], atol=1e-9)
    assert solution.value == pytest.approx(0.5, abs=1e-9)
    assert solution.dual == pytest.approx([1.0], abs=1e-9)
    assert solution.bound == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("name", FAMILIES)
def test_values_bounds_and_costs_are_those_of_an_independent_program(name, K, engine):
    cmdp = family(name, size=36, gamma=0.95, K=K)
    solution = solve(cmdp, engine)
    best = best_of(cmdp)
    assert solution.value == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert solution.bound >= best - 1e-9 * (1 + abs(best))
    assert solution.gap <= 1e-7
    assert (paid(cmdp, solution) <= cmdp.limit * (1 + 1e-9)).all()
    residual = flow_matrix(cmdp) @ solution.occupancy.ravel() - cmdp.start
    assert np.abs(residual).sum() < 1e-9


@pytest.mark.parametrize("engine", ENGINES)
def test_infeasibility_comes_with_a_ray_and_the_least_excess(engine):
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], cost=[[3.0, 1.0]], limit=1.5, gamma=0.5)
    with pytest.raises(InfeasibleError) as caught:
        solve(cmdp, engine)
    assert caught.value.ray is not None
    assert caught.value.violation / caught.value.ray.sum() == pytest.approx(0.5)
    assert "1.5" not in str(caught.value)


@kernels
def test_a_limit_that_only_the_safest_policy_meets_is_feasible():
    solution = solve(corridor(30, limit=0.0))
    np.testing.assert_allclose(solution.occupancy[:-1, 0], 0.0, atol=1e-9)


@kernels
def test_the_bound_of_a_loose_gap_still_holds():
    exact, loose = (solve(corridor(200, limit=20.0), gap=gap) for gap in (1e-11, 1e-2))
    assert loose.gap <= 1e-2
    assert loose.value <= exact.bound + 1e-9
    assert loose.bound >= exact.value - 1e-9


@kernels
def test_a_pool_answers_every_draw_as_a_fresh_solve_does():
    cmdp = corridor(80, limit=10.0)
    pool, rng = PolicyPool(cmdp, capacity=8), np.random.default_rng(1)
    for _ in range(40):
        cost = cmdp.cost * rng.uniform(0.5, 1.5, cmdp.cost.shape)
        limit = np.array([rng.uniform(3.0, 12.0)])
        fresh, pooled = solve(cmdp._with_costs(cost, limit)), pool.solve(cost, limit)
        assert pooled.value == pytest.approx(fresh.value, rel=3e-8)
        assert pooled.gap <= 1e-8
        assert paid(cmdp._with_costs(cost, limit), pooled)[0] <= limit[0] + 1e-9


def _given(pool, cmdp):
    return pool.given(cmdp.cost.reshape(1, -1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("below", [0.0, 1e-14, 1e-13])
def test_a_limit_that_misses_the_least_cost_by_rounding_is_not_called_infeasible(engine, below):
    rng = np.random.default_rng(1)
    for _ in range(5):
        T, r, cost = (
            rng.dirichlet(np.ones(4), size=(4, 3)),
            rng.normal(size=(4, 3)),
            rng.uniform(size=(4, 3)),
        )
        cmdp = CMDP(T, r, cost=cost, limit=3.0, start=rng.dirichlet(np.ones(4)), gamma=0.8)
        everything = np.ones((4, 3), dtype=bool)
        _, costs = optimal_actions(cmdp, -cmdp.cost[0], allowed=everything)
        least = float(-cmdp.start @ costs)
        own = cmdp._with_costs(cmdp.cost, np.array([least * (1 - below)]))
        assert paid(own, solve(own, engine))[0] == pytest.approx(least)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("K", [1, 2])  # with more, a row is missed by less than HiGHS notices
def test_both_engines_draw_the_line_of_feasibility_at_the_sum_of_the_excesses(engine, K):
    def verdict(share):
        short = share * FEASIBILITY * 2.0  # in units of max|cost|/(1 - gamma)
        cost, limit = np.ones((K, 1, 1)), np.full(K, 2.0 - short)
        try:
            solve(CMDP([[[1.0]]], [[1.0]], cost=cost, limit=limit, gamma=0.5), engine)
        except SolverError as error:
            return type(error).__name__
        return "answered"

    assert verdict(0.9 / K) == "answered"
    assert verdict(1.1 / K) == "InfeasibleError"


def test_the_lagrangian_bound_holds_for_any_values_and_multipliers():
    rng = np.random.default_rng(0)
    for _ in range(20):
        T, r, cost = (
            rng.dirichlet(np.ones(4), size=(4, 3)),
            rng.normal(size=(4, 3)),
            rng.uniform(size=(4, 3)),
        )
        cmdp = CMDP(T, r, cost=cost, limit=3.0, start=rng.dirichlet(np.ones(4)), gamma=0.8)
        dual, everything = rng.uniform(0.0, 3.0, 1), np.ones((4, 3), dtype=bool)
        _, values = optimal_actions(cmdp, cmdp.r - dual[0] * cmdp.cost[0], allowed=everything)
        for v in (values, np.zeros(4), values - 5.0, values + rng.normal(size=4)):
            bound = lagrangian_bound(cmdp, cmdp.cost, dual, v=v, limit=np.zeros(1))
            assert bound >= cmdp.start @ values


def test_a_bound_in_extended_precision_allows_for_rows_that_do_not_sum_to_one():
    """The exact optimum is 1.807e-3: (1 − γ · 0.9999999999999999) is not 1 − γ."""
    cost = [[-5.031219605801506e-13, -1.216248133341406e-12, 8.349715884065845e-13]]
    cmdp = CMDP(
        [[[0.9999999999999999], [1.0], [1.0]]],
        [[1e6, 0.0, 0.0]],
        cost=cost,
        limit=-1.2162481339815851e-05,
        gamma=0.9999999,
    )
    try:
        found = solve(cmdp)
    except SolverError:
        return  # which claims nothing
    assert found.bound >= 1.807e-3


# ------------------------------------------------------------------------ Newton, column generation


def random_cmdp(seed, *, states=30, gamma=0.95, share=0.5, K=1):
    """Sparse random dynamics; limits a `share` of the way from the indifferent to the safest."""
    rng = np.random.default_rng(seed)
    T, r, start, cost = garnet(rng, size=states, K=K)
    free = CMDP(T, r, cost=cost, limit=np.full(K, 1e6), gamma=gamma, start=start)
    most = paid(free, solve_lp(free, cost, free.limit))
    safe = CMDP(T, -cost.sum(axis=0), cost=cost, limit=np.full(K, 1e6), gamma=gamma, start=start)
    least = paid(free, solve_lp(safe, cost, safe.limit))
    return free._with_costs(cost, most - share * (most - least))


def outcome_of(cmdp, *, newton_steps):
    """One solve from nothing, with so many steps of Newton's method before column generation."""
    pool, K = PolicyPool(cmdp), cmdp.num_constraints
    assert pool.workspace is not None
    x, table = np.zeros((cmdp.num_states, K + 1)), cmdp.cost.reshape(K, -1)
    return pool.workspace.solve(
        table, cmdp.limit, gap=1e-8, given=_given(pool, cmdp), x=x, newton_steps=newton_steps
    )


@kernels
@pytest.mark.parametrize("K", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("seed", range(3))
def test_newton_and_column_generation_and_highs_agree(seed, share, K):
    cmdp = random_cmdp(seed, share=share, K=K)
    highs = solve(cmdp, "lp")
    for steps in (0, 40):
        found = outcome_of(cmdp, newton_steps=steps)
        assert found.status == SOLVED
        scale = max(np.abs(cmdp.r).max(), abs(highs.value))  # of both gaps, 1e-8 each
        assert found.value == pytest.approx(highs.value, abs=2e-8 * scale)
        # weak duality, but for what HiGHS's costs exceed
        excess = found.multiplier @ np.maximum(paid(cmdp, highs) - cmdp.limit, 0.0)
        assert found.bound >= highs.value - excess - 1e-9 * scale
        assert (found.costs <= cmdp.limit + 1e-11 * (1.0 + abs(cmdp.limit))).all()


@kernels
@pytest.mark.parametrize("steps", [0, 40])
def test_an_infeasible_draw_is_proved_to_be_one(steps):
    cmdp = random_cmdp(2, share=1.2)
    assert outcome_of(cmdp, newton_steps=steps).status == INFEASIBLE
    with pytest.raises(InfeasibleError) as caught:
        solve(cmdp)
    assert caught.value.violation is not None
    assert caught.value.violation > 0.0
