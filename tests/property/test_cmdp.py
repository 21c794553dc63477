"""Properties of policies, occupancies and certificates on generated models."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.exact_costs import exact_costs, verify_exact
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix, policy_from_occupancy
from dp_cmdp.cmdp.policy import Policy


def distributions(rows, columns):
    """Tables of distributions with zeros and very small entries."""
    entry = st.one_of(st.just(0.0), st.floats(1e-30, 1.0))
    tables = hnp.arrays(np.float64, (rows, columns), elements=entry)

    def normalised(table):
        table[table.sum(axis=1) < 1e-3, 0] = 1.0
        return table / table.sum(axis=1, keepdims=True)

    return tables.map(normalised)


@st.composite
def cases(draw):
    num_states, num_actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    pairs = (num_states, num_actions)
    cost = st.one_of(st.just(0.0), st.floats(-1e3, 1e3))
    cmdp = CMDP(
        draw(distributions(num_states * num_actions, num_states)).reshape(*pairs, num_states),
        draw(hnp.arrays(np.float64, pairs, elements=st.floats(-1.0, 1.0))),
        f=draw(hnp.arrays(np.float64, (1, *pairs), elements=cost)),
        f0=[draw(st.floats(-10.0, 10.0))],
        mu=draw(distributions(1, num_states))[0],
        gamma=draw(st.one_of(st.sampled_from([0.0, 0.5, 0.999]), st.floats(0.0, 0.9999))),
    )
    return cmdp, Policy(draw(distributions(num_states, num_actions)))


@settings(max_examples=150)
@given(cases())
def test_a_verified_policy_is_safe_in_exact_arithmetic(case):
    cmdp, policy = case
    certificate = certify_policy(cmdp, policy)
    assert Fraction(float(certificate.worst_case_cost[0])) >= exact_costs(cmdp, policy)[0]
    assert not certificate.verified or verify_exact(cmdp, policy)
    assert certificate.verified == bool((certificate.slack >= 0).all())


@settings(max_examples=100)
@given(cases())
def test_the_occupancy_solves_the_flow_equations_and_returns_the_value(case):
    cmdp, policy = case
    result = evaluate(cmdp, policy)
    scale = 1 / (1 - cmdp.gamma)
    assert (result.occupancy >= 0).all()
    assert flow_matrix(cmdp) @ result.occupancy.ravel() == pytest.approx(cmdp.mu, abs=1e-13 * scale)
    assert (result.occupancy * cmdp.r).sum() == pytest.approx(result.value, abs=1e-12 * scale)
    again = evaluate(cmdp, policy_from_occupancy(cmdp, result.occupancy))
    assert again.value == pytest.approx(result.value, abs=1e-9 * scale**2)


@settings(max_examples=60)
@given(distributions(3, 4), st.integers(0, 2**32))
def test_every_drawn_action_has_positive_probability(probs, seed):
    policy = Policy(probs)
    states = np.repeat(np.arange(3), 50)
    actions = policy.sample(states, np.random.default_rng(seed))
    assert (policy.probs[states, actions] > 0).all()
