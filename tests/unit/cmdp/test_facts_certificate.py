"""Certificates over a polytope of databases, against every vertex of it in fractions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import Envelope
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.exact_costs import exact_costs
from dp_cmdp.cmdp.facts_certificate import certify_over, occupancy_within
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InvalidArgumentError

ENTRIES, ROWS = 3, 2


def random_model(rng, *, crooked=False):
    """A tiny model: entries in several pairs, in both constraints, in costs and tolerances."""
    num_states, num_actions = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    pairs = num_states * num_actions
    T = rng.dirichlet(np.full(num_states, 0.5), size=(num_states, num_actions))
    if crooked:
        T *= 1 + 9e-10 * rng.uniform(-1, 1, size=(num_states, num_actions, 1))
    terms = 6
    model = ParametricCMDP(
        Envelope(-1.0, 1.0, shape=ENTRIES, name="entries"),
        T=T,
        r=rng.normal(size=(num_states, num_actions)),
        mu=rng.dirichlet(np.full(num_states, 0.5)),
        gamma=float(rng.choice([0.0, 0.5, 0.9, 0.99])),
        cost=Affine(
            (ROWS, pairs),
            constant=rng.normal(size=(ROWS, pairs)),
            at=(rng.integers(0, ROWS, terms), rng.integers(0, pairs, terms)),
            entry=rng.integers(0, ENTRIES, terms),
            coefficient=rng.normal(size=terms),
        ),
        tolerance=Affine(ROWS, constant=rng.normal(size=ROWS), at=[0, 1], entry=[0, 2]),
    )
    return model, Policy(rng.dirichlet(np.full(num_actions, 0.4), size=num_states))


def random_polytope(rng):
    """Boxes and two facts that cut them, around a common point."""
    middle = rng.uniform(-0.8, 0.8, ENTRIES)
    lower = np.maximum(middle - rng.uniform(0, 0.5, ENTRIES), -1)
    upper = np.minimum(middle + rng.uniform(0, 0.5, ENTRIES), 1)
    W = rng.normal(size=(2, ENTRIES)) * (rng.random((2, ENTRIES)) < 0.8)
    return Polytope(lower, upper, W=W, q=W @ middle + rng.uniform(0, 0.2, 2))


def solved(rows, right):
    """A system of fractions by elimination; None if it is singular."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(len(table)):
            if i != k and table[i][k]:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


def vertices(polytope):
    """Every vertex, in fractions."""
    n = polytope.num_entries
    unit = [[Fraction(int(i == k)) for i in range(n)] for k in range(n)]
    faces = [(row, Fraction(high)) for row, high in zip(unit, polytope.upper, strict=True)]
    faces += [([-a for a in row], -Fraction(low)) for row, low in zip(unit, polytope.lower, strict=True)]  # fmt: skip  # noqa: E501
    faces += [
        ([Fraction(a) for a in row], Fraction(q))
        for row, q in zip(polytope.W.toarray(), polytope.q, strict=True)
    ]
    for chosen in itertools.combinations(faces, n):
        point = solved(*zip(*chosen, strict=True))
        if point is not None and all(
            sum(a * b for a, b in zip(row, point, strict=True)) <= q for row, q in faces
        ):
            yield point


def exact_occupancy(model, policy):
    """x(s, a) in fractions: the cost of a table that is 1 in one pair."""
    pairs = model.public.r.size
    each = np.eye(pairs).reshape(pairs, *model.public.r.shape)
    return exact_costs(model.public.with_constraints(each, np.zeros(pairs)), policy)


def exact_excess(model, x, theta, i):
    """cost_i(θ)ᵀx − tolerance_i(θ), in fractions."""
    total = sum(Fraction(c) * y for c, y in zip(model.cost.constant.toarray()[i], x, strict=True))
    total -= Fraction(model.tolerance.constant[i])
    for part, sign in ((model.cost, 1), (model.tolerance, -1)):
        for k in np.flatnonzero(part.row == i):
            visits = x[part.col[k]] if sign > 0 else 1
            total += sign * Fraction(part.coefficient[k]) * theta[part.entry[k]] * visits
    return total


def worst_excess(model, policy, polytope):
    x = exact_occupancy(model, policy)
    corners = list(vertices(polytope))
    assert corners
    return [max(exact_excess(model, x, theta, i) for theta in corners) for i in range(ROWS)]


def assert_sound_and_tight(model, policy, polytope):
    """The excess of a broken constraint, the cost of a kept one, or the tolerance if that is less.

    No claim about differences is looser than it must be, and none about costs is untrue.
    """
    certificate = certify_over(model, policy, polytope)
    free = ParametricCMDP(
        model.envelope,
        T=model.public.T,
        r=model.public.r,
        mu=model.public.mu,
        gamma=model.public.gamma,
        cost=model.cost,
        tolerance=Affine(ROWS),
    )
    costs = worst_excess(free, policy, polytope)
    for i, worst in enumerate(worst_excess(model, policy, polytope)):
        assert proved(certificate, i) >= worst
        assert certificate.joint is not None
        assert abs(Fraction(certificate.joint[i]) - worst) <= 1e-9
        assert 0 <= Fraction(certificate.worst_case_cost[i]) - costs[i] <= 1e-9


def proved(certificate, i):
    return -Fraction(certificate.slack[i])


def test_the_bound_holds_and_is_tight_at_every_vertex_of_random_polytopes():
    rng = np.random.default_rng(1)
    for _ in range(40):
        model, policy = random_model(rng)
        polytope = random_polytope(rng)
        assert_sound_and_tight(model, policy, polytope)


def test_the_bound_holds_whatever_the_multipliers():
    rng = np.random.default_rng(2)
    for _ in range(15):
        model, policy = random_model(rng)
        polytope = random_polytope(rng)
        count = model.program().polytope_rows(polytope).num_multipliers
        certificate = certify_over(model, policy, polytope, multipliers=3 * rng.random(count))
        for i, worst in enumerate(worst_excess(model, policy, polytope)):
            assert proved(certificate, i) >= worst


def test_the_bound_holds_for_distributions_that_miss_one():
    rng = np.random.default_rng(3)
    for _ in range(15):
        model, policy = random_model(rng, crooked=True)
        polytope = random_polytope(rng)
        assert_sound_and_tight(model, policy, polytope)


def test_the_occupancy_is_as_close_to_the_exact_one_as_is_said():
    rng = np.random.default_rng(4)
    for number in range(60):
        model, policy = random_model(rng, crooked=number % 2 == 0)
        chain = DiscountedChain(model.public, policy)
        x, error = occupancy_within(model.public, policy, chain=chain)
        pairs = zip(x.ravel().tolist(), exact_occupancy(model, policy), strict=True)
        distance = sum(abs(Fraction(found) - true) for found, true in pairs)
        assert distance <= Fraction(error)
        assert error <= 1e-13 / (1 - model.public.gamma) ** 2


def test_a_wrong_chain_costs_tightness_but_not_rigour():
    rng = np.random.default_rng(5)
    for _ in range(10):
        model, policy = random_model(rng)
        polytope = random_polytope(rng)
        other = DiscountedChain(model.public, Policy.uniform(*model.public.r.shape))
        certificate = certify_over(model, policy, polytope, chain=other)
        for i, worst in enumerate(worst_excess(model, policy, polytope)):
            assert proved(certificate, i) >= worst


def test_without_row_facts_the_box_decides_and_zero_cost_is_certified_at_zero():
    T = np.zeros((2, 2, 2))
    T[0, 0, 0] = T[0, 1, 1] = T[1, :, 1] = 1.0
    public = CMDP(T, np.zeros((2, 2)), f=np.zeros((2, 2)), f0=0.0, mu=[1.0, 0.0], gamma=0.9)
    model = ParametricCMDP.for_states(
        public, [1], severity=Envelope([0.0], [1.0]), tolerance=Envelope([0.0], [1.0])
    )
    stay = Policy.deterministic([0, 0], 2)
    polytope = Polytope([0.0, 0.0], [1.0, 1.0], W=[[1.0, 1.0]], q=[1.5])
    certificate = certify_over(model, stay, polytope)
    assert certificate.verified
    assert certificate.worst_case_cost.tolist() == [0.0]
    leave = Policy.deterministic([1, 0], 2)
    alone = Polytope([0.2, 0.5], [0.3, 0.9])
    found = certify_over(model, leave, alone)
    entrywise = certify_policy(model.robust(alone.lower, alone.upper), leave)
    assert found.worst_case_cost == pytest.approx(entrywise.worst_case_cost)
    assert found.tolerance.tolist() == [0.5]


def test_a_fact_about_cost_and_tolerance_together_proves_what_no_interval_can():
    """Staying in the candidate costs 2θ; the fact says 2θ ≤ tolerance."""
    public = CMDP(np.ones((1, 1, 1)), [[1.0]], f=[[0.0]], f0=1.0, mu=[1.0], gamma=0.5)
    model = ParametricCMDP.for_states(
        public, [0], severity=Envelope([0.0], [1.0]), tolerance=Envelope([0.0], [2.0])
    )
    policy = Policy.uniform(1, 1)
    fact = Polytope([0.0, 0.0], [1.0, 2.0], W=[[2.0, -1.0]], q=[-1e-6])
    assert certify_over(model, policy, fact).verified
    assert not certify_over(model, policy, Polytope([0.0, 0.0], [1.0, 2.0])).verified
    barely = Polytope([0.0, 0.0], [1.0, 2.0], W=[[2.0, -1.0]], q=[1e-12])
    assert not certify_over(model, policy, barely).verified


def test_negative_multipliers_are_refused():
    rng = np.random.default_rng(6)
    model, policy = random_model(rng)
    polytope = random_polytope(rng)
    count = model.program().polytope_rows(polytope).num_multipliers
    with pytest.raises(InvalidArgumentError, match="negative"):
        certify_over(model, policy, polytope, multipliers=np.full(count, -1.0))
