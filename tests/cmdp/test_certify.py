"""Certificates over sets of databases, against every vertex of them in fractions."""

import operator
from fractions import Fraction

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.cmdp.certificate import excess_of, occupancy_within
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.program.rows import RobustRows
from tests.cmdp.models import (
    exact_occupancy,
    highest_costs,
    known_set,
    private_way,
    random_model,
    random_set,
    worst_excess,
)

pytestmark = pytest.mark.usefixtures("both_ways")


def proved(model, policy, known):
    return [-Fraction(slack) for slack in model.certify(policy, known).slack.tolist()]


CRITERIA = pytest.mark.parametrize("criterion", ["discounted", "horizon", "total"])


@CRITERIA
@pytest.mark.parametrize("kind", ["polytope", "box", "point"])
@pytest.mark.parametrize("crooked", [False, True])
def test_the_bound_holds_and_is_tight_at_every_vertex(kind, crooked, criterion):
    rng = np.random.default_rng(1 + crooked)
    for _ in range(25):
        model, policy = random_model(rng, crooked=crooked, criterion=criterion)
        known = random_set(rng, rows={"polytope": 2}.get(kind, 0))
        if kind == "point":
            known = known_set(known.lower, known.lower)
        found = proved(model, policy, known)
        for bound, worst in zip(found, worst_excess(model, policy, known), strict=True):
            assert bound >= worst
            assert bound - worst <= (1e-4 if crooked else 1e-9)  # rows of T miss 1 by 9e-10


@CRITERIA
def test_the_bound_holds_whatever_the_multipliers(criterion):
    rng = np.random.default_rng(2)
    for _ in range(15):
        model, policy = random_model(rng, criterion=criterion)
        known = random_set(rng)
        rows, chain = RobustRows(model.rows, known), chain_of(model.mdp, policy)
        links = 3 * rng.random(rows.links)
        found = excess_of(model.mdp, rows, policy, links=links, chain=chain)
        for bound, worst in zip(found, worst_excess(model, policy, known), strict=True):
            assert Fraction(bound) >= worst


@CRITERIA
def test_the_occupancy_is_as_close_to_the_exact_one_as_is_said(criterion):
    rng = np.random.default_rng(4)
    for number in range(60):
        model, policy = random_model(rng, crooked=number % 2 == 0, criterion=criterion)
        x, error = occupancy_within(model.mdp, policy, chain_of(model.mdp, policy))
        x = x * (model.mdp.ending is None or ~model.mdp.ending.ended[:, None])
        pairs = zip(x.ravel().tolist(), exact_visits(model, policy), strict=True)
        off = [abs(Fraction(found) - true) for found, true in pairs]
        if isinstance(error, np.ndarray):
            assert all(map(operator.le, off, map(Fraction, error.ravel().tolist())))
        else:
            assert sum(off) <= Fraction(error)
        assert np.max(error) <= 1e-13 * model.mdp.steps**2


def exact_visits(model, policy):
    """x(s, a) before the end of an episode."""
    ended = np.zeros(model.r.shape, bool)
    if model.mdp.ending is not None:
        ended[model.mdp.ending.ended] = True
    return [0 if over else x for x, over in
            zip(exact_occupancy(model, policy), ended.ravel(), strict=True)]  # fmt: skip


def test_the_chain_of_another_policy_costs_tightness_but_not_rigour():
    rng = np.random.default_rng(5)
    for _ in range(10):
        model, policy = random_model(rng)
        known = random_set(rng)
        rows = RobustRows(model.rows, known)
        other = chain_of(model.mdp, dp.Policy.uniform(*model.r.shape))
        found = excess_of(model.mdp, rows, policy, links=np.ones(rows.links), chain=other)
        for bound, worst in zip(found, worst_excess(model, policy, known), strict=True):
            assert bound == np.inf or Fraction(bound) >= worst


@CRITERIA
def test_in_fractions_the_bound_is_exact(criterion):
    rng = np.random.default_rng(6)
    for _ in range(15):
        model, policy = random_model(rng, criterion=criterion)
        known = random_set(rng, rows=0)
        rows, chain = RobustRows(model.rows, known), chain_of(model.mdp, policy)
        found = excess_of(model.mdp, rows, policy, links=np.zeros(0), chain=chain, exactly=True)
        for bound, worst in zip(found, worst_excess(model, policy, known), strict=True):
            assert 0 <= Fraction(bound) - worst <= 1e-12


def one_candidate(limit: dp.Envelope, gamma: float = 0.9) -> dp.ParametricCMDP:
    """Stay in state 0, or go to state 1 for ever, which costs."""
    T = np.zeros((2, 2, 2))
    T[0, 0, 0] = T[0, 1, 1] = T[1, :, 1] = 1.0
    cost = dp.PrivateCost(states=[1], cost=dp.Envelope(0.0, 1.0), limit=limit)
    return dp.ParametricCMDP(T, np.zeros((2, 2)), gamma=gamma, costs=cost)


@pytest.mark.parametrize("inequalities", [False, True])
def test_a_policy_that_avoids_all_cost_is_certified_at_exactly_zero(inequalities):
    model = one_candidate(dp.Envelope(0.0, 1.0))
    stay, leave = (dp.Policy.deterministic([action, 0], 2) for action in (0, 1))
    W, q = ([[1.0, 1.0]], [1.5]) if inequalities else (None, ())
    known = known_set([0, 0], [1, 1], W, q)
    certificate = model.certify(stay, known)
    assert certificate.verified
    assert certificate.slack.tolist() == [0.0]
    assert not model.certify(leave, known)


def test_an_inequality_about_cost_and_limit_together_proves_what_no_interval_can():
    """Staying in the candidate costs 2θ; the inequality says 2θ ≤ limit."""
    cost = dp.PrivateCost(states=[0], cost=dp.Envelope(0.0, 1.0), limit=dp.Envelope(0.0, 2.0))
    model = dp.ParametricCMDP(np.ones((1, 1, 1)), [[1.0]], gamma=0.5, costs=cost)
    policy = dp.Policy.uniform(1, 1)
    below = known_set([0, 0], [1, 2], [[2.0, -1.0]], [-1e-6])
    assert model.certify(policy, below).verified
    assert not model.certify(policy, known_set([0, 0], [1, 2])).verified
    barely = known_set([0, 0], [1, 2], [[2.0, -1.0]], [1e-12])
    assert not model.certify(policy, barely).verified
    assert highest_costs(model, policy, below)[0] == pytest.approx(2.0)
    assert model.worst(below).limit[0] == 0.0


def test_one_number_in_cost_and_limit_is_taken_at_the_same_value():
    """Cost θ per step is 2θ in all, the limit 2.5θ: safe for every θ, yet 2·1 > 2.5·0.5."""
    theta = dp.Envelope([0.5], [1.0])
    cost = dp.PrivateCost(theta[:].reshape(1, 1), 2.5 * theta[0])
    model = dp.ParametricCMDP(np.ones((1, 1, 1)), [[1.0]], gamma=0.5, costs=cost)
    known = model.envelope.uncertainty
    certificate = model.certify(dp.Policy.uniform(1, 1), known)
    assert certificate.verified
    assert certificate.slack[0] == pytest.approx(0.25, abs=1e-12)
    assert model.answer(known).certificate.verified


def test_a_limit_just_below_the_cost_is_not_verified_and_one_just_above_is():
    model = private_way()
    policy = dp.Policy.deterministic([0, 0, 0], 2)  # 0, 1, 0, 1, …: 0.9/(1 − 0.81) visits of 1
    cost = 0.9 / (1 - 0.81)
    for factor, kept in ((1 - 1e-12, False), (1 + 1e-11, True)):
        at = known_set([0.5, 0.5 * cost * factor], [0.5, 0.5 * cost * factor])
        assert model.certify(policy, at).verified is kept


def test_sums_beyond_the_floats_are_never_certified():
    theta = dp.Envelope([0.0], [1e300], radius=1e290)
    cost = dp.PrivateCost(theta[:].reshape(1, 1), 1e308)
    model = dp.ParametricCMDP(np.ones((1, 1, 1)), [[1.0]], gamma=1 - 1e-12, costs=cost)
    assert not model.certify(dp.Policy.uniform(1, 1), model.envelope.uncertainty)


@pytest.mark.parametrize("chance", [1e-100, 1e-219, 1e-300, 5e-324])
def test_a_move_of_the_least_chance_that_is_charged_is_no_obstacle(chance):
    """State 1 is entered every other time, state 2 with a chance whose products underflow."""
    T = np.zeros((3, 1, 3))
    T[0, 0, 1], T[0, 0, 2], T[1:, 0, 0] = 1.0, chance, 1.0
    cost = dp.PrivateCost(states=[1, 2], cost=dp.Envelope(0.0, 1.0), limit=3.0, on="entering")
    model = dp.ParametricCMDP(T, np.zeros((3, 1)), gamma=0.9, costs=cost)
    known = known_set(np.zeros(2), np.ones(2), [[1.0, 1.0]], [0.5])
    slack = model.certify(dp.Policy(np.ones((3, 1))), known).slack[0]
    assert slack == pytest.approx(3.0 - 0.5 / (1 - 0.81), abs=1e-9)


def test_visits_that_underflow_are_no_obstacle():
    """State k of a line is visited γ^k times: 2^-599 in the end, far below what products take."""
    n = 600
    T = np.zeros((n, 1, n))
    T[np.arange(n), 0, np.minimum(np.arange(n) + 1, n - 1)] = 1.0
    states = [1, 2, 590, 599]
    cost = dp.PrivateCost(states=states, cost=dp.Envelope(0.0, 1.0), limit=0.5)
    model = dp.ParametricCMDP(T, np.zeros((n, 1)), gamma=0.5, costs=cost)
    only = dp.Policy(np.ones((n, 1)))
    known = known_set(np.zeros(4), np.ones(4), [[1.0, 1.0, 1.0, 1.0]], [0.9])
    certificate = model.certify(only, known)
    assert certificate.verified
    assert certificate.slack[0] == pytest.approx(0.5 - 0.9 / 2)
    assert not model.certify(only, known_set(np.zeros(4), np.ones(4)))
