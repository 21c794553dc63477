"""Small promises of models with private costs, one by one."""

import numpy as np
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, release_blocks, release_database
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import InvalidArgumentError

BUDGET = PrivacyBudget(4, "1/1000")


def public(T=None, *, gamma=0.9, mu=(1.0, 0.0, 0.0), **facts) -> CMDP:
    """0 → 1 → 2 → 0, or stay; entering 2 may end the episode."""
    if T is None:
        T = np.zeros((3, 2, 3))
        T[[0, 1, 2], 0, [1, 2, 0]] = T[[0, 1, 2], 1, [0, 1, 2]] = 1.0
    zero = np.zeros((3, 2))
    return CMDP(T, zero, f=zero, f0=[0.0], mu=mu, gamma=gamma, **facts)


def model(*, low=0.0, high=1.0) -> ParametricCMDP:
    return ParametricCMDP.for_states(
        public(),
        [1, 2],
        severity=Envelope(low, high, radius=0.1 * (high - low), shape=2),
        tolerance=Envelope([9.0], [10.0], radius=0.1),
    )


@pytest.mark.parametrize("row", [[0.9, 0.0, 0.0], [1.2, -0.2, 0.0], [1.0, 1e-6, 0.0]])
def test_transitions_that_are_no_distributions_are_refused(row):
    T = np.zeros((3, 2, 3))
    T[:, :, 0] = 1.0
    T[1, 1] = row
    with pytest.raises(InvalidArgumentError, match="T must"):
        public(T)


@pytest.mark.parametrize("gamma", [1.0, 1.5, -0.1])
def test_a_discount_of_one_or_outside_the_unit_interval_is_refused(gamma):
    with pytest.raises(InvalidArgumentError, match="gamma must"):
        public(gamma=gamma)


def test_the_tightened_model_of_a_block_release_takes_every_interval_at_its_worse_end():
    target = model()
    database = Database([0.2, 0.4, 9.5], target.envelope)
    for seed in range(5):
        release = release_blocks(
            database,
            BUDGET,
            program=target.program(),
            alphas={"A": "1/2", "b": "1/2"},
            rng=np.random.default_rng(seed),
        )
        tightened = target.tightened(release)
        assert tightened.f[0, 1:].ravel().tolist() == release.group("A")["upper"].tolist()
        assert tightened.f0.tolist() == release.group("b")["lower"].tolist()


def test_the_tightened_model_of_a_database_release_takes_every_interval_at_its_worse_end():
    target = model()
    database = Database([0.2, 0.4, 9.5], target.envelope)
    release = release_database(database, BUDGET, rng=np.random.default_rng(0))
    tightened = target.tightened(release)
    assert tightened.f[0, 1:, 0].tolist() == release.group("severity")["upper"].tolist()
    assert tightened.f[0, 1:, 1].tolist() == release.group("severity")["upper"].tolist()
    assert tightened.f0.tolist() == release.group("tolerance")["lower"].tolist()


def test_a_release_that_leaves_the_bounds_of_a_model_does_not_fit_it():
    wide = model(high=5.0)
    release = release_database(Database([4.0, 4.5, 9.5], wide.envelope), BUDGET)
    with pytest.raises(InvalidArgumentError, match="leave the public bounds"):
        model().tightened(release)


@pytest.mark.parametrize("candidates", [[1, 2], [2, 1], [2]])
def test_one_candidate_in_which_episodes_end_is_enough_to_be_refused(candidates):
    T = np.zeros((3, 2, 3))
    T[[0, 1, 2], 0, [1, 0, 0]] = T[[0, 1, 2], 1, [0, 1, 2]] = 1.0
    arrivals = np.zeros((3, 2, 3))
    # action 0 in state 1 ends in 2
    arrivals.reshape(6, 3)[[0, 1, 2, 3, 4, 5], [1, 0, 2, 1, 0, 2]] = 1.0
    with pytest.raises(InvalidArgumentError, match="state 2"):
        ParametricCMDP.for_states(
            public(T, arrivals=arrivals),
            candidates,
            severity=Envelope(0.0, 1.0, shape=len(candidates)),
            tolerance=Envelope([9.0], [10.0]),
        )


def test_visits_that_would_be_infinite_are_refused():
    T = np.array([[[1.0]]]) * (1 + 9e-10)  # within the tolerance of row sums
    tables = {"r": [[1.0]], "f": [[1.0]], "f0": [1.0], "mu": [1.0]}
    with pytest.raises(InvalidArgumentError, match="gamma times every row sum of T"):
        CMDP(T, gamma=1 - 1e-10, **tables)
    assert CMDP(T, gamma=1 - 1e-8, **tables).gamma == 1 - 1e-8
