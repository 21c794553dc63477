"""Verdicts on several costs at once, and at the tolerance itself."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dp_cmdp.cmdp.certificate import PolicyCertificate, certify_policy
from dp_cmdp.cmdp.exact_costs import exact_costs, verify_exact
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.synthesis import safe_policy

pytestmark = pytest.mark.usefixtures("both_ways")


def loop(f0) -> CMDP:
    """One state; every cost is 1 per step, 2 in all, which floats hold exactly."""
    f = np.ones((len(f0), 1, 1))
    return CMDP(np.ones((1, 1, 1)), [[0.0]], f=f, f0=f0, mu=[1.0], gamma=0.5)


@pytest.mark.parametrize("f0", [[1.0, 3.0], [3.0, 1.0]])
def test_one_cost_above_its_tolerance_is_enough_to_fail(f0):
    policy = Policy([[1.0]])
    assert not certify_policy(loop(f0), policy).verified
    assert not verify_exact(loop(f0), policy)
    assert certify_policy(loop([3.0, 3.0]), policy).verified
    assert verify_exact(loop([3.0, 3.0]), policy)


def test_a_cost_that_equals_its_tolerance_is_within_it_and_one_a_hair_above_is_not():
    policy = Policy([[1.0]])
    assert verify_exact(loop([2.0]), policy)
    assert not verify_exact(loop([np.nextafter(2.0, 0.0)]), policy)
    assert PolicyCertificate(np.array([2.0]), np.array([2.0])).verified
    assert not PolicyCertificate(np.array([np.nextafter(2.0, 3.0)]), np.array([2.0])).verified
    dear, low = np.array([3.0]), np.array([2.0])
    assert PolicyCertificate(dear, low, joint=np.array([0.0])).verified
    assert not PolicyCertificate(dear, low, joint=np.array([5e-324])).verified
    assert not PolicyCertificate(np.full(2, 3.0), np.full(2, 2.0), np.array([-1.0, 0.1])).verified


def test_products_that_all_underflow_are_counted():
    actions, cost = 200, 80 * 5e-324  # each of the products is 0.4 of the least float
    f = np.full((1, 1, actions), cost)
    cmdp = CMDP(
        np.ones((1, actions, 1)), np.zeros((1, actions)), f=f, f0=[0.0], mu=[1.0], gamma=0.5
    )
    policy = Policy.uniform(1, actions)
    (exact,) = exact_costs(cmdp, policy)
    assert exact > Fraction(100 * 5e-324)
    assert Fraction(float(certify_policy(cmdp, policy).worst_case_cost[0])) >= exact


def chain(costs, *, gamma) -> CMDP:
    """0 → 1 → 1 …, and a state of its own behind them."""
    T = np.zeros((3, 1, 3))
    T[[0, 1, 2], 0, [1, 1, 2]] = 1.0
    f = np.array(costs)[None, :, None]
    return CMDP(T, np.zeros((3, 1)), f=f, f0=[1.0], mu=[1.0, 0.0, 0.0], gamma=gamma)


def test_what_overflows_where_the_policy_never_comes_does_not_enter_the_bound():
    (bound,) = certify_policy(chain([0.5, 0.0, 1e308], gamma=0.99), Policy(np.ones((3, 1)))).slack
    assert bound == pytest.approx(0.5)


@pytest.mark.parametrize("costs", [[-1.7e308, 1.7e308, 0.0], [1.7e308, -0.8e308, 0.0]])
def test_a_residual_that_is_infinite_or_no_number_yields_the_bound_infinity(costs):
    """The second overflows downwards, −∞ + ∞, in one state, and stays finite elsewhere."""
    cmdp = chain(costs, gamma=1e-300)
    assert certify_policy(cmdp, Policy(np.ones((3, 1)))).worst_case_cost[0] == np.inf


@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.7, 0.9])
@pytest.mark.parametrize("cost", [0.1, 0.3, 1.0])
def test_a_policy_without_room_is_certified_by_its_exact_cost_rounded_up(cost, gamma):
    alone = CMDP(np.ones((1, 1, 1)), [[1.0]], f=[[[cost]]], f0=[1.0], mu=[1.0], gamma=gamma)
    (exact,) = exact_costs(alone, Policy([[1.0]]))
    least = float(exact) if Fraction(float(exact)) >= exact else np.nextafter(float(exact), np.inf)
    certificate = safe_policy(alone.with_constraints(alone.f, [least])).certificate
    assert certificate.verified
    assert Fraction(float(certificate.worst_case_cost[0])) >= exact


def test_no_mixture_of_policies_earns_more_than_the_upper_bound():
    for seed in range(60):
        cmdp, points = small_model(np.random.default_rng(seed))
        assert Fraction(safe_policy(cmdp).upper_bound) >= best_mixture(points, Fraction(cmdp.f0[0]))


def small_model(rng) -> tuple[CMDP, list[tuple[Fraction, ...]]]:
    """A model and, in fractions, the (value, cost) of each of its deterministic policies."""
    pairs = (int(rng.integers(1, 4)), 2)
    T = rng.dirichlet(np.ones(pairs[0]), size=pairs)
    facts = {"mu": rng.dirichlet(np.ones(pairs[0])), "gamma": float(rng.choice([0.3, 0.9, 0.99]))}
    r, f = rng.normal(size=pairs), rng.uniform(size=pairs)
    both = CMDP(T, r, f=np.stack([r, f]), f0=[0.0, 0.0], **facts)
    choices = product(range(2), repeat=pairs[0])
    points = [exact_costs(both, Policy.deterministic(list(choice), 2)) for choice in choices]
    costs = sorted(float(cost) for _, cost in points)
    return CMDP(T, r, f=f, f0=[rng.uniform(costs[0], costs[-1])], **facts), points


def best_mixture(points, tolerance: Fraction) -> Fraction:
    found = [value for value, cost in points if cost <= tolerance]
    for (value, cost), (more, dear) in product(points, repeat=2):
        if cost <= tolerance < dear:
            found.append(value + (tolerance - cost) / (dear - cost) * (more - value))
    return max(found)


@pytest.mark.parametrize("gamma", [0.9, 0.999])
def test_costs_that_overflow_in_both_directions_are_not_certified(gamma):
    swap = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    cmdp = CMDP(swap, np.zeros((2, 1)), f=[[1e308], [-1e308]], f0=[0.0], mu=[0.5, 0.5], gamma=gamma)
    with np.errstate(all="ignore"):
        proof = certify_policy(cmdp, Policy([[1.0], [1.0]]))
    assert proof.worst_case_cost.tolist() == [np.inf]
    assert not proof.verified
