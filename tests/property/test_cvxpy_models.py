"""The compiled map is cvxpy's problem: at any values of the parameters, in every spelling."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import warnings

import cvxpy as cp
import numpy as np
import pytest

from dp_cmdp import solve
from dp_cmdp.frontends.cvxpy import PrivateParameter, compile
from dp_cmdp.frontends.cvxpy import solve as solve_privately
from tests.cvxpy_models import MODELS, plain
from tests.exact_cvxpy import fractions, shortfall


def private(name, shape, lower, upper):
    return PrivateParameter(shape, lower=lower, upper=upper, name=name)


def drawn(envelope, rng):
    """Values of every group: anywhere, or at one end of its interval."""
    share = rng.random(envelope.num_entries)
    share = np.where(rng.random(share.size) < 0.3, np.round(share), share)
    flat = envelope.lower + share * (envelope.upper - envelope.lower)
    return {name: flat[envelope.index(name)] for name, _ in envelope.groups}


def twin(name, values):
    """cvxpy's own problem, with plain parameters at the values."""
    problem = MODELS[name](plain)
    for parameter in problem.parameters():
        if parameter.name() in values:
            parameter.value = np.clip(values[parameter.name()], -10, 10)
    return problem


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", MODELS)
def test_the_compiled_program_has_the_value_that_cvxpy_finds(name, seed):
    compiled = compile(MODELS[name](private))
    values = drawn(compiled.envelope, np.random.default_rng(seed))
    theirs = twin(name, values)
    with warnings.catch_warnings():  # cvxpy's own, about its bounds
        warnings.simplefilter("ignore")
        theirs.solve(solver=cp.CLARABEL, ignore_dpp=True)
    theta = compiled.database(values).values
    ours = solve(compiled.program.at(theta))
    assert theirs.status == "optimal"
    # Clarabel stops at 1e-8 (relative or absolute) in gap and rows; prices multiply the latter
    assert compiled.user_value(ours.x, theta) == pytest.approx(theirs.value, rel=1e-6, abs=1e-6)


def corners(release, rng, count):
    """Databases at corners of the released box."""
    for _ in range(count):
        top = rng.random(release.envelope.num_entries) < 0.5
        yield np.where(top, release.upper, release.lower)


@pytest.mark.parametrize("name", MODELS)
def test_the_users_own_constraints_hold_in_fractions_for_the_truth_and_all_that_is_released(name):
    problem = MODELS[name](private)
    compiled = compile(problem)
    rng = np.random.default_rng(5)
    truth = drawn(compiled.envelope, rng)
    answer = solve_privately(
        compiled, truth, epsilon=4, delta="1/100", rng=np.random.default_rng(1), plan="database"
    )
    assert answer.certificate.verified
    assert problem.status == "optimal"
    true = compiled.database(truth).values
    for theta in (true, *corners(answer.release, rng, 8)):
        data = {
            n: fractions(theta[compiled.envelope.index(n)]) for n, _ in compiled.envelope.groups
        }
        assert shortfall(problem, data) <= 0


def test_the_evaluation_in_fractions_sees_a_violation_of_one_bit():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(0), [cp.norm1(x) <= 1])
    x.value = [0.5, 0.5]
    assert shortfall(problem, {}) == 0
    x.value = [0.5, np.nextafter(0.5, 1)]
    assert 0 < shortfall(problem, {}) < 1e-15
