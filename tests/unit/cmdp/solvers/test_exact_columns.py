"""What is found in whole numbers holds exactly, where doubles decide nothing."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.fuzz.check import check, small_faults
from benchmarks.fuzz.exact_model import exact_optimum
from benchmarks.fuzz.problem import problem
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.exact_columns import (
    STATES,
    Worth,
    exact_solution,
    refined_bound,
)  # fmt: skip
from dp_cmdp.cmdp.solvers.fractions_simplex import best_mixture
from dp_cmdp.cmdp.solvers.whole_numbers import WholeModel, exactly, rounded, whole
from dp_cmdp.errors import InfeasibleError

GAMMA = 1 - 2.0**-10
#: Problems on which doubles, or HiGHS after them, once gave no answer or a false one.
HARD = (
    "small/ring/2 small/grid/1 small/grid/35 large/ring/114 small/rough/132 small/maze/135 "
    "small/maze/193 small/rooms/227 large/rooms/259 small/grid/313 small/maze/335 "
    "small/deterministic/336 small/queues/666 large/grid/1529 large/queues/2674"
)
NOBODY = np.zeros((0, 2), np.int32)


def two_states(seed, *, f0=1.0):
    """Two states, two actions; the rows of T sum to 1 exactly."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 257, 4) / 256
    T = np.stack([first, 1 - first], axis=1).reshape(2, 2, 2)
    r, f = rng.random((2, 2)), rng.random((1, 2, 2))
    return CMDP(T, r, f=f, f0=[f0], mu=[1.0, 0.0], gamma=GAMMA)


def worths(cmdp, tables):
    """Per policy the discounted sums of each table from state 0, in fractions: by elimination."""
    T, g = cmdp.T.toarray(), Fraction(cmdp.gamma)
    for policy in itertools.product(range(2), repeat=2):
        rows = [[Fraction(float(p)) for p in T[2 * s + a]] for s, a in enumerate(policy)]
        a, b = 1 - g * rows[0][0], -g * rows[0][1]
        c, d = -g * rows[1][0], 1 - g * rows[1][1]
        gains = [[Fraction(float(table[s, own])) for s, own in enumerate(policy)]
                 for table in tables]  # fmt: skip
        yield policy, [(d * one - b * two) / (a * d - b * c) for one, two in gains]


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_never_below_the_best_policy_and_next_to_it_at_huge_multipliers(seed):
    cmdp = two_states(seed)
    rng = np.random.default_rng(seed)
    dual, f0 = np.array([10.0 ** rng.integers(0, 16)]), rng.random(1) / (1 - GAMMA)
    best = max(r - Fraction(dual[0]) * f for _, (r, f) in worths(cmdp, [cmdp.r, cmdp.f[0]]))
    exact = best + Fraction(dual[0]) * Fraction(f0[0])
    bound = refined_bound(cmdp, dual, policy=np.zeros(2, np.int32), f0=f0)
    assert Fraction(bound) >= exact
    assert Fraction(bound) - exact <= abs(exact) * Fraction(2.0**-50)


def test_worths_are_exact_to_fifty_digits():
    cmdp = two_states(3)
    for policy, (value, cost) in worths(cmdp, [cmdp.r, cmdp.f[0]]):
        own = Worth.of(WholeModel(cmdp), np.array(policy, np.int32))
        assert abs(own.value - value) < Fraction(1, 10**50)
        assert abs(own.costs[0] - cost) < Fraction(1, 10**50)


def test_whole_numbers_keep_every_double_of_usual_size():
    numbers = np.array([0.0, -0.1, 1e300, 1e-40, -3.5, np.nextafter(1.0, 2.0)])
    assert rounded(whole(numbers)).tolist() == numbers.tolist()
    assert [exactly(own) for own in whole(numbers)] == [Fraction(own) for own in numbers]
    assert 0 <= Fraction(1e-290) - exactly(whole(1e-290)[0]) < Fraction(1, 2**256)


@pytest.mark.parametrize("seed", range(30))
def test_mixtures_in_fractions_are_those_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    count, K = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    values, costs, b = rng.integers(0, 9, count), rng.integers(0, 9, (count, K)), [4] * K
    found = best_mixture(
        [(Fraction(int(v)), [Fraction(int(c)) for c in own])
         for v, own in zip(values, costs, strict=True)],
        [Fraction(own) for own in b], [Fraction(1)] * K,
    )  # fmt: skip
    over = linprog([0] * count + [1] * K, A_ub=np.hstack([costs.T, -np.eye(K)]), b_ub=b,
                   A_eq=[[1] * count + [0] * K], b_eq=[1])  # fmt: skip
    assert float(found.excess) == pytest.approx(over.fun, abs=1e-9)
    assert sum(found.weights.values()) == 1
    assert min(found.weights.values()) >= 0
    if found.excess == 0:
        best: Any = linprog(-values, A_ub=costs.T, b_ub=b, A_eq=[[1] * count], b_eq=[1])
        value = sum(weight * int(values[j]) for j, weight in found.weights.items())
        assert float(value) == pytest.approx(-best.fun)


def exact_least(cmdp):
    return min(cost for _, (cost,) in worths(cmdp, [cmdp.f[0]]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("beside", [0.0, 1e-14, 1e-9, 0.1])
def test_from_nothing_the_optimum_is_found_at_any_distance_from_the_least_cost(seed, beside):
    least = float(exact_least(two_states(seed)))
    cmdp = two_states(seed, f0=least * (1.0 + beside))
    answer = exact_solution(cmdp, NOBODY, gap=1e-12)
    assert answer is not None
    assert not small_faults(cmdp, answer, gap=1e-12)


def test_the_excess_that_proves_infeasibility_is_exact():
    least = exact_least(two_states(1))
    cmdp = two_states(1, f0=float(least) * 0.99)
    error = exact_solution(cmdp, NOBODY, gap=1e-8)
    assert isinstance(error, InfeasibleError)
    assert error.ray is not None
    assert error.violation is not None
    excess = Fraction(float(error.ray[0])) * (least - Fraction(float(cmdp.f0[0])))
    assert 0 < Fraction(error.violation) <= excess
    assert float(excess) == pytest.approx(error.violation)


def test_large_models_are_left_to_others():
    n = STATES + 1
    T = sparse.eye_array(n, format="csr")
    cmdp = CMDP(T, np.zeros((n, 1)), f=np.zeros((n, 1)), f0=[1.0], mu=np.eye(n)[0], gamma=0.9)
    nothing, policy = np.zeros(1), np.zeros(n, np.int32)
    assert refined_bound(cmdp, nothing, policy=policy, f0=nothing) == np.inf
    assert exact_solution(cmdp, policy[None], gap=1e-8) is None


@pytest.mark.parametrize("engine", ["policies", "lp"])
def test_value_and_costs_are_those_of_the_policy_that_is_returned(engine):
    for key in ("small/ring/2", "small/maze/193", "small/maze/335", "small/grid/313"):
        own = problem(key)
        try:
            answer = solve_cmdp(own.model, engine=engine, gap=1e-6)
        except InfeasibleError:
            continue
        assert not [fault for fault in small_faults(own.model, answer, gap=1e-6)
                    if "worth" in fault or "bound" in fault]  # fmt: skip


def test_a_thin_room_below_the_tolerance_is_kept_to():
    """Half the value lies in an excess of 3e-11 of the largest cost: no price of it is right."""
    own = problem("small/ring/2")
    answer = solve_cmdp(own.model, engine="policies", gap=own.gap)
    optimum = exact_optimum(own.model)
    assert optimum is not None
    assert answer.value == pytest.approx(float(optimum), rel=1e-9)
    wider = own.model.with_constraints(own.model.f, own.model.f0 + 1e-8)
    assert solve_cmdp(wider, gap=own.gap).value > 1.4 * answer.value


@pytest.mark.parametrize("key", HARD.split())
def test_hard_problems_have_true_answers(key):
    assert check(key).faults == []
