"""Robust counterparts of cvxpy models, beside RSOME's of the same models stated by hand."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import cvxpy as cp
import numpy as np
import pytest

from dp_cmdp.frontends.cvxpy import PrivateParameter, check

pytestmark = pytest.mark.oracle


def private(shape, lower, upper, name):
    return PrivateParameter(shape, lower=lower, upper=upper, name=name)


def theirs(state):
    """The optimal value of a model that `state` builds in RSOME."""
    engine = pytest.importorskip("rsome.lpg_solver")
    model = pytest.importorskip("rsome.ro").Model()
    state(model)
    model.solve(engine, display=False)
    return model.get()


def test_free_variables_agree():
    a, b = private(3, -1, 1, "a"), private((), 1, 2, "b")
    x = cp.Variable(3)
    ours = check(cp.Problem(cp.Maximize(cp.sum(x) + x[0]), [a @ x <= b, x >= -2, x <= 5]))

    def state(model):
        x, a, b = model.dvar(3), model.rvar(3), model.rvar()
        model.max(x.sum() + x[0])
        model.st((a @ x <= b).forall(a >= -1, a <= 1, b >= 1, b <= 2), x >= -2, x <= 5)

    assert ours.value == pytest.approx(theirs(state), abs=1e-6)


def test_a_parameter_several_times_in_a_row_agrees():
    p, q = private(3, 0, 1, "p"), private((), 1, 2, "q")
    x, y = cp.Variable(3, nonneg=True), cp.Variable()
    row = p @ x + 0.5 * p[0] - p[1] * y <= q + 0.5 * p[2]
    ours = check(cp.Problem(cp.Maximize(cp.sum(x) + y), [row, y <= q, y >= -q, x <= 2]))

    def state(model):
        x, y, p, q = model.dvar(3), model.dvar(), model.rvar(3), model.rvar()
        box = (p >= 0, p <= 1, q >= 1, q <= 2)
        model.max(x.sum() + y)
        model.st((p @ x + 0.5 * p[0] - p[1] * y <= q + 0.5 * p[2]).forall(*box))
        model.st((y <= q).forall(*box), (y >= -q).forall(*box), x <= 2, x >= 0)

    assert ours.value == pytest.approx(theirs(state), abs=1e-6)


def test_sums_over_time_agree():
    low, high = np.array([3.0, 4, 5, 1]), np.array([5.0, 8, 9, 4])
    d = private(4, low, high, "d")
    x, extra = cp.Variable(4, bounds=[0, 5]), cp.Variable(4, nonneg=True)
    cost = 4 * cp.sum(x) + cp.sum(cp.multiply([5, 6, 7, 8], extra))
    ours = check(cp.Problem(cp.Minimize(cost), [1 + cp.cumsum(x + extra) >= cp.cumsum(d)]))

    def state(model):
        x, extra, d = model.dvar(4), model.dvar(4), model.rvar(4)
        model.min(4 * x.sum() + np.array([5, 6, 7, 8]) @ extra)
        box = (d >= low, d <= high)
        for k in range(4):
            rows = 1 + x[: k + 1].sum() + extra[: k + 1].sum() >= d[: k + 1].sum()
            model.st(rows.forall(*box))
        model.st(x >= 0, x <= 5, extra >= 0)

    assert ours.value == pytest.approx(theirs(state), abs=1e-6)


def test_the_worst_of_several_rows_and_absolute_values_agree():
    loss = private((4, 3), -1, 1, "loss")
    centre = np.linspace(-0.5, 0.5, 12).reshape(4, 3)
    x = cp.Variable(3)
    worst = cp.max((loss / 4 + centre) @ x) + 0.1 * cp.norm1(x)
    ours = check(cp.Problem(cp.Minimize(worst), [cp.sum(x) == 1, cp.abs(x) <= 2]))

    def state(model):
        x, t, loss = model.dvar(3), model.dvar(), model.rvar((4, 3))
        size = model.dvar(3)
        model.min(t + 0.1 * size.sum())
        for k in range(4):
            model.st(((0.25 * loss[k] + centre[k]) @ x <= t).forall(loss >= -1, loss <= 1))
        model.st(x.sum() == 1, x <= 2, x >= -2, x <= size, -x <= size)

    assert ours.value == pytest.approx(theirs(state), abs=1e-6)
