"""Random problems out of every kind of row: the compiled map is cvxpy's problem there too."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import warnings

import cvxpy as cp
import numpy as np
import pytest

from dp_cmdp import solve
from dp_cmdp.frontends.cvxpy import PrivateParameter, compile
from dp_cmdp.frontends.cvxpy import solve as solve_privately
from tests.exact_cvxpy import fractions, shortfall

#: Rows that x = 0, Z = 0 satisfies, whatever the parameters p (3), P (2×3) and q ≥ 1 are.
ROWS = (
    lambda x, Z, p, P, q, u: p @ x <= q,
    lambda x, Z, p, P, q, u: P @ x <= q + 1,
    lambda x, Z, p, P, q, u: -q - P[:, :1] @ np.ones((1, 2)) / 4 <= P @ Z,
    lambda x, Z, p, P, q, u: cp.norm1(cp.multiply(p, x) + Z[:, 0]) <= 2 * q,
    lambda x, Z, p, P, q, u: cp.max(P @ Z) <= q,
    lambda x, Z, p, P, q, u: cp.abs(P @ x) <= q,
    lambda x, Z, p, P, q, u: cp.sum_largest(P @ x + Z[:2, 1], 2) <= q,
    lambda x, Z, p, P, q, u: cp.norm_inf(x[::-1] - p[0] * Z[:, 1]) <= q,
    lambda x, Z, p, P, q, u: -q <= cp.minimum(p @ x, Z[0, 0] - Z[1, 1]),
    lambda x, Z, p, P, q, u: cp.cumsum(x) - cp.hstack([Z[0], x[2]]) <= q + p[2] + 1,
    lambda x, Z, p, P, q, u: cp.trace(P @ Z) + cp.sum(cp.diag(P @ Z)) <= q,
    lambda x, Z, p, P, q, u: cp.vec(P @ Z, order="C") <= q,
    lambda x, Z, p, P, q, u: u @ cp.pos(x) <= q,
    lambda x, Z, p, P, q, u: cp.multiply(u, p) @ x - cp.sum(Z) <= q,
    lambda x, Z, p, P, q, u: cp.sum(x) == Z[0, 0] + Z[2, 1],
    lambda x, Z, p, P, q, u: cp.reshape(Z, 6, order="F") <= cp.hstack([q, q, q, 2, 3, q]),
)
GOALS = (
    lambda x, Z, p, P, q: cp.sum(x) + cp.sum(Z),
    lambda x, Z, p, P, q: p @ x + 3 - q,
    lambda x, Z, p, P, q: cp.sum(P @ Z) - cp.norm1(x - 1),
    lambda x, Z, p, P, q: cp.min(P @ Z) + x[0],
    lambda x, Z, p, P, q: x[1] - 2 * cp.abs(Z[0, 0] - p[1]) + p[0],
)


def problem(seed, make):
    """A problem drawn by its seed, with parameters made by whoever asks."""
    rng = np.random.default_rng(seed)
    p, P, q = make("p", 3, -1, 1), make("P", (2, 3), 0, 1), make("q", (), 1, 2)
    u = cp.Parameter(3, nonneg=True, value=rng.random(3))
    x, Z = cp.Variable(3), cp.Variable((3, 2), bounds=[-4, 4])
    rows = [ROWS[k](x, Z, p, P, q, u) for k in rng.permutation(len(ROWS))[: rng.integers(2, 8)]]
    goal = GOALS[rng.integers(len(GOALS))](x, Z, p, P, q)
    sense = cp.Maximize(goal) if rng.random() < 0.5 else cp.Minimize(-goal)
    # every parameter has a place in every problem
    return cp.Problem(sense, [*rows, x >= -5, x <= 5, p[0] + P[0, 0] + q >= -9])


def private(name, shape, lower, upper):
    return PrivateParameter(shape, lower=lower, upper=upper, radius=0.01, name=name)


def plain(name, shape, lower, upper):
    return cp.Parameter(shape, name=name, nonneg=lower >= 0)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_problem_is_the_one_that_cvxpy_solves(seed):
    compiled = compile(problem(seed, private))
    facts = compiled.envelope
    rng = np.random.default_rng([seed, 1])
    theta = facts.lower + rng.random(facts.num_entries) * (facts.upper - facts.lower)
    theirs = problem(seed, plain)
    for parameter in theirs.parameters():
        if parameter.value is None:
            parameter.value = theta[facts.index(parameter.name())]
    with warnings.catch_warnings():  # cvxpy's own, about its bounds
        warnings.simplefilter("ignore")
        theirs.solve(solver=cp.CLARABEL, ignore_dpp=True)
    ours = solve(compiled.program.at(theta))
    assert compiled.user_value(ours.x, theta) == pytest.approx(theirs.value, abs=2e-6)


@pytest.mark.parametrize("seed", range(60))
def test_the_answer_to_a_random_problem_holds_in_fractions(seed):
    stated = problem(seed, private)
    compiled = compile(stated)
    facts = compiled.envelope
    rng = np.random.default_rng([seed, 2])
    truth = facts.lower + rng.random(facts.num_entries) * (facts.upper - facts.lower)
    values = {name: truth[facts.index(name)] for name, _ in facts.groups}
    answer = solve_privately(compiled, values, epsilon=1, delta="1/1000", rng=rng, plan="database")
    low, high = answer.release.lower, answer.release.upper
    for theta in (truth, low, high, np.where(rng.random(low.size) < 0.5, low, high)):
        data = {name: fractions(theta[facts.index(name)]) for name, _ in facts.groups}
        assert shortfall(stated, data) <= 0
