"""Bounds on the costs of a policy: sound against rational arithmetic, and tight."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import CMDP, Policy, evaluate
from dp_cmdp._src.cmdp.exact_costs import exact_costs
from tests.cmdp.models import bounds

pytestmark = pytest.mark.usefixtures("both_ways")

#: Excess over the exact cost, in units of Σ|f|·occupancy and of that over 1 − γ.
TIGHTNESS = (1e-13, 3e-15)


def random_case(rng):
    num_states, num_actions = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    pairs = (num_states, num_actions)
    T = rng.dirichlet(np.full(num_states, 0.3), size=pairs)
    T[T < 0.02] = 0.0
    T /= T.sum(axis=2, keepdims=True)
    scale = 10.0 ** rng.integers(-12, 13)
    f = scale * rng.normal(size=(2, *pairs)) * (rng.random((2, num_states, 1)) < 0.6)
    mu = rng.dirichlet(np.full(num_states, 0.3))
    cmdp = CMDP(
        T,
        rng.normal(size=pairs),
        cost=np.abs(f) if rng.random() < 0.5 else f,
        limit=[0.0, 0.0],
        start=mu,
        gamma=float(rng.choice([0.0, 0.3, 0.9, 0.99, 0.999])),
    )
    return cmdp, Policy(rng.dirichlet(np.full(num_actions, 0.4), size=num_states))


def chain_with_cost(cost=1.0, *, gamma=0.5, limit=0.0):
    """0 → 1 → 1 …; state 1 is free, state 0 charges `cost` under action 1 only; 2 is apart."""
    T = np.zeros((3, 2, 3))
    T[0, :, 1] = T[1, :, 1] = T[2, :, 2] = 1.0
    f = np.zeros((3, 2))
    f[0, 1], f[2] = cost, 1e6
    return CMDP(T, np.zeros((3, 2)), cost=f, limit=[limit], start=[1, 0, 0], gamma=gamma)


def test_the_bound_holds_and_is_tight_against_rational_arithmetic_on_200_random_models():
    rng = np.random.default_rng(20)
    for _ in range(200):
        cmdp, policy = random_case(rng)
        found = bounds(cmdp, policy)
        magnitude = np.einsum("sa,ksa->k", evaluate(cmdp, policy).occupancy, np.abs(cmdp.cost))
        for bound, cost, size in zip(found, exact_costs(cmdp, policy), magnitude, strict=True):
            excess = Fraction(float(bound)) - cost
            assert excess >= 0
            assert excess <= size * (TIGHTNESS[0] + TIGHTNESS[1] / (1 - cmdp.gamma))


def test_the_bound_holds_for_distributions_that_miss_one():
    rng = np.random.default_rng(21)
    for _ in range(50):
        cmdp, policy = random_case(rng)
        crooked = CMDP(
            cmdp.T * (1 + 9e-10 * rng.uniform(-1, 1, size=(cmdp.T.shape[0], 1))),
            cmdp.r,
            cost=cmdp.cost,
            limit=cmdp.limit,
            start=cmdp.start * (1 + 9e-10 * rng.uniform(-1, 1)),
            gamma=cmdp.gamma,
        )
        found = bounds(crooked, policy)
        for bound, cost in zip(found, exact_costs(crooked, policy), strict=True):
            assert Fraction(float(bound)) >= cost


def test_a_successor_of_the_least_probability_is_reached():
    T = np.array([[[1.0, 5e-324], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    cmdp = CMDP(T, np.zeros((2, 2)), cost=[[0, 0], [1, 0]], limit=[0.0], start=[1, 0], gamma=0.5)
    policy = Policy.deterministic([0, 0], 2)
    (exact,) = exact_costs(cmdp, policy)
    assert 0 < exact <= Fraction(float(bounds(cmdp, policy)[0]))


def test_the_exact_costs_of_the_textbook_chain_are_its_fractions():
    policy = Policy([[0.75, 0.25], [1.0, 0.0], [1.0, 0.0]])
    assert exact_costs(chain_with_cost(3.0), policy) == (Fraction(3, 4),)
    loop = CMDP(np.ones((1, 1, 1)), [[0.0]], cost=[[[1.0]]], limit=[1.0], start=[1.0], gamma=0.75)
    assert exact_costs(loop, Policy([[1.0]])) == (Fraction(4),)


@pytest.mark.parametrize("probability", [1e-17, 1e-300, 5e-324])
def test_the_smallest_probability_of_cost_is_seen(probability):
    risky = Policy([[1.0, probability], [1.0, 0.0], [1.0, 0.0]])
    assert bounds(chain_with_cost(1e-300), risky)[0] > 0.0


def test_states_that_are_never_reached_do_not_loosen_the_bound():
    (bound,) = bounds(chain_with_cost(), Policy.deterministic([1, 0, 0], 2))
    assert 1.0 <= bound <= 1.0 + 1e-13


def test_negative_costs_are_credits():
    (bound,) = bounds(chain_with_cost(-3.0), Policy.deterministic([1, 0, 0], 2))
    assert -3.0 <= bound <= -3.0 + 1e-13


def test_products_that_all_underflow_are_counted():
    actions, cost = 200, 80 * 5e-324  # each of the products is 0.4 of the least float
    f = np.full((1, 1, actions), cost)
    cmdp = CMDP(
        np.ones((1, actions, 1)),
        np.zeros((1, actions)),
        cost=f,
        limit=[0.0],
        start=[1.0],
        gamma=0.5,
    )
    policy = Policy.uniform(1, actions)
    (exact,) = exact_costs(cmdp, policy)
    assert exact > Fraction(100 * 5e-324)
    assert Fraction(float(bounds(cmdp, policy)[0])) >= exact


def chain(costs, *, gamma) -> CMDP:
    """0 → 1 → 1 …, and a state of its own behind them."""
    T = np.zeros((3, 1, 3))
    T[[0, 1, 2], 0, [1, 1, 2]] = 1.0
    f = np.array(costs)[None, :, None]
    free = CMDP(T, np.zeros((3, 1)), cost=0 * f, limit=1.0, gamma=gamma)
    return free._with_costs(f, np.ones(1))  # beyond what CMDP takes


def test_what_overflows_where_the_policy_never_comes_does_not_enter_the_bound():
    (bound,) = bounds(chain([0.5, 0.0, 1e308], gamma=0.99), Policy(np.ones((3, 1))))
    assert bound == pytest.approx(0.5)


@pytest.mark.parametrize("costs", [[-1.7e308, 1.7e308, 0.0], [1.7e308, -0.8e308, 0.0]])
def test_a_residual_that_is_infinite_or_no_number_yields_the_bound_infinity(costs):
    """The second overflows downwards, −∞ + ∞, in one state, and stays finite elsewhere."""
    cmdp = chain(costs, gamma=1e-300)
    assert bounds(cmdp, Policy(np.ones((3, 1))))[0] == np.inf
