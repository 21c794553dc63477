"""Verdicts on several costs at once, and at the tolerance itself."""

import numpy as np
import pytest

from dp_cmdp.cmdp.certificate import PolicyCertificate, certify_policy
from dp_cmdp.cmdp.exact_costs import verify_exact
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy


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
