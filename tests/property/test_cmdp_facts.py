"""Policies from facts: safe at whatever database the facts allow, on generated models."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp import Envelope
from dp_cmdp.cmdp.exact_costs import verify_exact
from dp_cmdp.cmdp.facts_synthesis import policy_over
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InfeasibleError


def generated(seed, *, rows):
    """A small random model, a database, and facts that hold for it."""
    rng = np.random.default_rng(seed)
    states, actions, entries, terms = 4, 3, 5, 12
    model = ParametricCMDP(
        Envelope(-1.0, 1.0, shape=entries, name="entries"),
        T=rng.dirichlet(np.full(states, 0.5), size=(states, actions)),
        r=rng.normal(size=(states, actions)),
        mu=rng.dirichlet(np.ones(states)),
        gamma=float(rng.choice([0.5, 0.9])),
        cost=Affine(
            (rows, states * actions),
            at=(rng.integers(0, rows, terms), rng.integers(0, states * actions, terms)),
            entry=rng.integers(0, entries, terms),
            coefficient=rng.normal(size=terms),
        ),
        tolerance=Affine(rows, constant=np.full(rows, 0.8), at=[0], entry=[0], coefficient=0.3),
    )
    theta = rng.uniform(-0.8, 0.8, entries)
    W = rng.normal(size=(2, entries))
    q = W @ theta + rng.uniform(0.001, 0.3, 2)
    return model, theta, Polytope(theta - 0.2, theta + 0.2, W=W, q=q), rng


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 2))
def test_a_policy_over_facts_is_safe_at_every_database_they_allow(seed, rows):
    model, theta, polytope, rng = generated(seed, rows=rows)
    try:
        found = policy_over(model, polytope)
    except InfeasibleError:
        return
    assert found.certificate.verified
    assert found.value <= found.upper_bound
    assert verify_exact(model.at(theta), found.policy)
    for point in rng.uniform(polytope.lower, polytope.upper, size=(20, theta.size)):
        if polytope.contains(point):
            assert verify_exact(model.at(point), found.policy)
