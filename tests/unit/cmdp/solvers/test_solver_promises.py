"""Small promises of the solvers of constrained MDPs, one by one."""

import numpy as np
import pytest

from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.safest import optimal_actions
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.lp_engine import lagrangian_bound
from dp_cmdp.cmdp.solvers.newton import mix


def mixed(costs, b):
    """What `mix` says of two policies of one state that earn 1 and 2, and cost `costs`."""
    policies = np.array([[0], [1]], dtype=np.int32)
    earned, occupancies = np.array([1.0, 2.0]), np.ones((2, 1))
    _, weight, _, paid = mix(earned, np.array(costs), b, policies, occupancies, 0.0)
    return weight, paid


@pytest.mark.parametrize("costs", [(2.0, 3.0), (3.0, 2.0), (2.0, 2.0)])
def test_policies_that_both_cost_too_much_are_not_mixed(costs):
    assert mixed(costs, 1.0)[0] == -1.0


@pytest.mark.parametrize("costs", [(0.0, 4.0), (4.0, 0.0)])
def test_a_mixture_costs_exactly_its_tolerance(costs):
    weight, paid = mixed(costs, 1.0)
    assert paid == pytest.approx(1.0)
    assert weight == pytest.approx(0.75 if costs[0] == 0.0 else 0.25)


def test_a_policy_within_its_tolerance_is_taken_alone():
    assert mixed((0.5, 0.7), 1.0) == (1.0, 0.5)


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
            assert lagrangian_bound(cmdp, dual, v=v) >= cmdp.mu @ values - 1e-9


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
