"""Certificates: sound against rational arithmetic, tight, and refusing what is unsafe."""

import json
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.cmdp.certificate import PolicyCertificate, certify_policy
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.exact_costs import exact_costs, verify_exact
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError

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
        f=np.abs(f) if rng.random() < 0.5 else f,
        f0=[0.0, 0.0],
        mu=mu,
        gamma=float(rng.choice([0.0, 0.3, 0.9, 0.99, 0.999])),
    )
    return cmdp, Policy(rng.dirichlet(np.full(num_actions, 0.4), size=num_states))


def chain_with_cost(cost=1.0, *, gamma=0.5, f0=0.0):
    """0 → 1 → 1 …; state 1 is free, state 0 charges `cost` under action 1 only; 2 is apart."""
    T = np.zeros((3, 2, 3))
    T[0, :, 1] = T[1, :, 1] = T[2, :, 2] = 1.0
    f = np.zeros((3, 2))
    f[0, 1], f[2] = cost, 1e6
    return CMDP(T, np.zeros((3, 2)), f=f, f0=[f0], mu=[1, 0, 0], gamma=gamma)


def test_the_bound_holds_and_is_tight_against_rational_arithmetic_on_200_random_models():
    rng = np.random.default_rng(20)
    for _ in range(200):
        cmdp, policy = random_case(rng)
        bounds = certify_policy(cmdp, policy).worst_case_cost
        magnitude = np.einsum("sa,ksa->k", evaluate(cmdp, policy).occupancy, np.abs(cmdp.f))
        for bound, cost, size in zip(bounds, exact_costs(cmdp, policy), magnitude, strict=True):
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
            f=cmdp.f,
            f0=cmdp.f0,
            mu=cmdp.mu * (1 + 9e-10 * rng.uniform(-1, 1)),
            gamma=cmdp.gamma,
        )
        bounds = certify_policy(crooked, policy).worst_case_cost
        for bound, cost in zip(bounds, exact_costs(crooked, policy), strict=True):
            assert Fraction(float(bound)) >= cost


def test_the_chain_of_another_policy_costs_tightness_but_not_rigour():
    rng = np.random.default_rng(23)
    for _ in range(50):
        cmdp, policy = random_case(rng)
        other = DiscountedChain(cmdp, Policy.uniform(*cmdp.r.shape))
        bounds = certify_policy(cmdp, policy, chain=other).worst_case_cost
        for bound, cost in zip(bounds, exact_costs(cmdp, policy), strict=True):
            assert bound == np.inf or Fraction(float(bound)) >= cost


def test_a_tolerance_just_below_the_cost_is_not_verified_and_one_just_above_is():
    rng = np.random.default_rng(22)
    for _ in range(50):
        cmdp, policy = random_case(rng)
        cmdp = cmdp.with_constraints(np.abs(cmdp.f[:1]), [0.0])
        cost = float(exact_costs(cmdp, policy)[0])
        if cost == 0.0:
            continue
        below = cmdp.with_constraints(cmdp.f, [cost * (1 - 1e-12)])
        above = cmdp.with_constraints(cmdp.f, [cost * (1 + 1e-11)])
        assert not certify_policy(below, policy).verified
        assert not verify_exact(below, policy)
        assert certify_policy(above, policy).verified
        assert verify_exact(above, policy)


def test_a_policy_that_avoids_all_cost_is_certified_at_exactly_zero():
    certificate = certify_policy(chain_with_cost(), Policy.deterministic([0, 1, 1], 2))
    assert certificate.worst_case_cost[0] == 0.0
    assert certificate.slack[0] == 0.0
    assert certificate.verified


def test_the_smallest_probability_of_cost_is_seen():
    for probability in (1e-17, 1e-300, 5e-324):
        risky = Policy([[1.0, probability], [1.0, 0.0], [1.0, 0.0]])
        certificate = certify_policy(chain_with_cost(1e-300), risky)
        assert certificate.worst_case_cost[0] > 0.0
        assert not certificate.verified


def test_states_that_are_never_reached_do_not_loosen_the_bound():
    certificate = certify_policy(chain_with_cost(f0=1.0), Policy.deterministic([1, 0, 0], 2))
    assert 1.0 <= certificate.worst_case_cost[0] <= 1.0 + 1e-13


def test_a_successor_of_the_least_probability_is_reached():
    T = np.array([[[1.0, 5e-324], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    cmdp = CMDP(T, np.zeros((2, 2)), f=[[0, 0], [1, 0]], f0=[0.0], mu=[1, 0], gamma=0.5)
    policy = Policy.deterministic([0, 0], 2)
    (exact,) = exact_costs(cmdp, policy)
    assert 0 < exact <= Fraction(float(certify_policy(cmdp, policy).worst_case_cost[0]))


def test_negative_costs_are_credits():
    certificate = certify_policy(chain_with_cost(-3.0), Policy.deterministic([1, 0, 0], 2))
    assert -3.0 <= certificate.worst_case_cost[0] <= -3.0 + 1e-13
    assert certificate.verified


def test_overflow_gives_an_infinite_bound_and_valid_json():
    T = np.ones((1, 1, 1))
    cmdp = CMDP(T, [[0.0]], f=[[[1e308]]], f0=[1.7e308], mu=[1.0], gamma=0.99)
    certificate = certify_policy(cmdp, Policy([[1.0]]))
    assert certificate.worst_case_cost[0] == np.inf
    assert not certificate.verified
    assert json.loads(certificate.to_json())["worst_case_cost"] == [None]


def test_the_json_holds_every_bit_of_the_bounds():
    certificate = certify_policy(chain_with_cost(1 / 3, f0=0.5), Policy.deterministic([1, 0, 0], 2))
    record = json.loads(certificate.to_json())
    assert record["verified"] is True
    assert record["worst_case_cost"] == certificate.worst_case_cost.tolist()
    assert record["tolerance"] == [0.5]


def test_the_slack_is_never_overstated():
    certificate = PolicyCertificate(np.array([0.1]), np.array([0.3]))
    assert Fraction(float(certificate.slack[0])) <= Fraction(0.3) - Fraction(0.1)


def test_the_exact_costs_of_the_textbook_chain_are_its_fractions():
    policy = Policy([[0.75, 0.25], [1.0, 0.0], [1.0, 0.0]])
    assert exact_costs(chain_with_cost(3.0), policy) == (Fraction(3, 4),)
    loop = CMDP(np.ones((1, 1, 1)), [[0.0]], f=[[[1.0]]], f0=[1.0], mu=[1.0], gamma=0.75)
    assert exact_costs(loop, Policy([[1.0]])) == (Fraction(4),)


def test_shapes_and_sizes_are_checked():
    cmdp = chain_with_cost()
    for check in (certify_policy, exact_costs):
        with pytest.raises(InvalidArgumentError, match="shape"):
            check(cmdp, Policy.uniform(2, 2))
    small = CMDP([[[1.0]]], [[0.0]], f=[[1.0]], f0=[1.0], mu=[1.0], gamma=0.5)
    elsewhere = DiscountedChain(small, Policy([[1.0]]))
    with pytest.raises(InvalidArgumentError, match="chain must have probs of shape"):
        certify_policy(cmdp, Policy.uniform(3, 2), chain=elsewhere)
    ones = np.ones((201, 1))
    large = CMDP(np.eye(201)[:, None], ones, f=ones, f0=[1.0], mu=np.eye(1, 201)[0], gamma=0.0)
    with pytest.raises(InvalidArgumentError, match="certify_policy"):
        exact_costs(large, Policy(ones))
