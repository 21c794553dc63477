"""Small promises of the solvers of constrained MDPs, one by one."""

import numpy as np
import pytest

from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.safest import optimal_actions
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.lp_engine import lagrangian_bound


def random_model(rng) -> CMDP:
    T = rng.dirichlet(np.ones(4), size=(4, 3))
    r, f = rng.normal(size=(4, 3)), rng.uniform(size=(4, 3))
    return CMDP(T, r, f=f, f0=[3.0], mu=rng.dirichlet(np.ones(4)), gamma=0.8)


def test_the_lagrangian_bound_holds_for_any_values_and_multipliers():
    rng = np.random.default_rng(0)
    for _ in range(20):
        cmdp, dual = random_model(rng), rng.uniform(0.0, 3.0, 1)
        everything = np.ones((4, 3), dtype=bool)
        _, values = optimal_actions(cmdp, cmdp.r - dual[0] * cmdp.f[0], allowed=everything)
        for v in (values, np.zeros(4), values - 5.0, values + rng.normal(size=4)):
            bound = lagrangian_bound(cmdp, dual, v=v, b=np.zeros(1))
            assert bound >= cmdp.mu @ values


@pytest.mark.parametrize("engine", ["policies", "lp"])
@pytest.mark.parametrize("below", [0.0, 1e-14, 1e-13])
def test_a_tolerance_that_misses_the_least_cost_by_rounding_is_not_called_infeasible(engine, below):
    rng = np.random.default_rng(1)
    for _ in range(5):
        cmdp = random_model(rng)
        everything = np.ones((4, 3), dtype=bool)
        _, costs = optimal_actions(cmdp, -cmdp.f[0], allowed=everything)
        least = float(-cmdp.mu @ costs)
        solution = solve_cmdp(cmdp.with_constraints(cmdp.f, [least * (1 - below)]), engine=engine)
        assert solution.costs[0] == pytest.approx(least)


@pytest.mark.parametrize("engine", ["policies", "lp"])
def test_where_discounting_magnifies_rounding_a_miss_of_that_size_is_not_called_infeasible(engine):
    rng = np.random.default_rng(1)
    T, f = rng.dirichlet(np.ones(4), size=(4, 3)), rng.uniform(size=(4, 3))
    cmdp = CMDP(T, rng.normal(size=(4, 3)), f=f, f0=[3.0], mu=np.full(4, 0.25), gamma=0.999)
    _, costs = optimal_actions(cmdp, -cmdp.f[0], allowed=np.ones((4, 3), dtype=bool))
    least = float(-cmdp.mu @ costs)
    solution = solve_cmdp(cmdp.with_constraints(cmdp.f, [least - 1e-8]), engine=engine)
    assert solution.costs[0] == pytest.approx(least)
