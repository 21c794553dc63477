"""The user's own rows hold exactly, also where cvxpy would define a number by an equality."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import cvxpy as cp
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.cvxpy import PrivateParameter, load
from dp_cmdp.errors import InvalidArgumentError
from tests.frontends.exact_cvxpy import fractions, shortfall
from tests.frontends.test_cvxpy import simulated

N = 6


def private_caps(rng):
    """Running sums under private caps that are as low as their bounds allow."""
    low = np.cumsum(rng.uniform(1, 8, N))
    cap = PrivateParameter(N, lower=low, upper=low + 9, radius=0.1, name="cap")
    x = cp.Variable(N, nonneg=True)
    rows = [x <= rng.uniform(3, 8, N), cp.cumsum(x) <= cap]
    return cp.Problem(cp.Maximize(rng.uniform(1, 3, N) @ x), rows), {"cap": low}


def public_caps(rng):
    """Running sums under public caps."""
    d = PrivateParameter(N, lower=0, upper=10, radius=0.3, name="d")
    x = cp.Variable(N, nonneg=True)
    rows = [cp.cumsum(x) <= np.cumsum(rng.uniform(1, 8, N)), x <= d]
    return cp.Problem(cp.Maximize(rng.uniform(1, 3, N) @ x), rows), {"d": rng.uniform(3, 8, N)}


def private_weights(rng):
    """Running sums of private multiples."""
    low = rng.uniform(0, 1, N)
    b = PrivateParameter(N, lower=low, upper=low + 1, radius=0.05, name="b")
    x = cp.Variable(N, nonneg=True)
    rows = [cp.cumsum(cp.multiply(b, x)) <= 9, x <= rng.uniform(3, 8, N)]
    return cp.Problem(cp.Maximize(rng.uniform(1, 3, N) @ x), rows), {"b": low + 1}


def inside_an_atom(rng):
    """Running sums inside a sum of absolute values, and beside one in the objective."""
    low = rng.uniform(5, 9)
    cap = PrivateParameter((), lower=low, upper=low + 9, radius=0.1, name="cap")
    x = cp.Variable((2, 3))
    sums = cp.cumsum(x, axis=1)
    rows = [cp.norm1(sums) <= cap, x >= -3, x <= 3]
    gain = cp.sum(cp.multiply(rng.uniform(1, 3, (2, 3)), x))
    return cp.Problem(cp.Maximize(gain - cp.max(cp.abs(sums)) / 8), rows), {"cap": low}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("model", [private_caps, public_caps, private_weights, inside_an_atom])
def test_running_sums_keep_their_caps_in_fractions(model, seed):
    problem, truth = model(np.random.default_rng(seed))
    assert simulated(problem, truth, seed=seed).certificate.verified
    assert shortfall(problem, {name: fractions(value) for name, value in truth.items()}) <= 0


@pytest.mark.parametrize(
    ("shape", "axis"),
    [(4, 0), (4, -1), (1, 0), (4, None), ((2, 3), 0), ((2, 3), 1), ((2, 3), None), ((2, 3, 2), 1)],
)
def test_a_running_sum_is_that_of_numpy_along_every_axis(shape, axis):
    point = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    top = PrivateParameter((), lower=0, upper=1, name="top")
    x, y = cp.Variable(shape), cp.Variable(np.cumsum(point, axis=axis).shape)
    problem = cp.Problem(
        cp.Maximize(cp.sum(y) + top), [y <= cp.cumsum(x, axis=axis), x <= point, top >= 0]
    )
    found = dp.answer(problem)
    assert found.values[y] == pytest.approx(np.cumsum(point, axis=axis), rel=1e-12)


def test_a_curved_objective_of_running_sums_leaves_the_rows_exact():
    rng = np.random.default_rng(0)
    problem, truth = private_caps(rng)
    (x,) = problem.variables()
    curved = cp.Problem(cp.Minimize(cp.sum_squares(cp.cumsum(x) - 40)), problem.constraints)
    simulated(curved, truth)
    assert shortfall(curved, {"cap": fractions(truth["cap"])}) <= 0


def _support(y):
    v = cp.Variable(3)
    return cp.suppfunc(v, [cp.norm1(v) <= 1])(y)


def test_a_constraint_that_cvxpy_states_by_equalities_of_its_own_is_refused_by_name():
    p = PrivateParameter(3, lower=0, upper=1, name="p")
    x, s = cp.Variable(3, name="x"), cp.Variable(nonneg=True)
    atoms = [_support(x), cp.perspective(cp.abs(x[0]), s)]
    for atom in atoms:
        for objective in (cp.Maximize(p @ x), cp.Minimize(atom + p @ x)):
            rows = [x >= -1, x <= 2, s >= 1, s <= 2, (atom <= 1).set_label("reach")]
            with pytest.raises(InvalidArgumentError, match=r"reach has an atom.*rounding"):
                load(cp.Problem(objective, rows))
            dp.answer(cp.Problem(objective, rows[:4]))


# ------------------------------------------------------------ rows of one variable, as bounds are


def below_caps(x, rows, *, maximize, seed):
    """The problem of `x` under public rows, and below private caps that are far away; answered."""
    cap = PrivateParameter(x.size, lower=50, upper=60, radius=0.1, name="cap")
    problem = cp.Problem(cp.Maximize(maximize @ x), [x <= cap, *rows])
    truth = {"cap": [55.0] * x.size}
    assert simulated(problem, truth, seed=seed).certificate.verified
    assert shortfall(problem, {"cap": fractions(truth["cap"])}) <= 0


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_multiple_of_one_variable_keeps_its_limit(seed, side):
    """b/a is no float in general: a limit on x that is rounded to one may break the row."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.uniform(0.1, 9, 3), rng.uniform(1, 9, 3), cp.Variable(3)
    row = cp.multiply(a, x)
    rows = [row <= b, x >= -1] if side == "above" else [row >= b]
    below_caps(x, rows, maximize=np.ones(3) if side == "above" else -np.ones(3), seed=seed)


@pytest.mark.parametrize("exponent", [-1013, -1020])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_limit_among_the_smallest_floats_is_kept(sign, exponent):
    """b/a is rounded there, or becomes 0, although a is a power of two."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = sign * np.full(3, 2.0**60), sign * 2.0**exponent * rng.uniform(1, 2, 3)
        x = cp.Variable(3)
        rows = [cp.multiply(a, x) <= b, x >= -1]
        below_caps(x, rows, maximize=sign * np.ones(3), seed=seed)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_of_several_limits_on_one_variable_all_are_kept(order, sign):
    """In whatever order they are written; multiples with which no limit is rounded."""
    x, limits = cp.Variable(3), [(1.0, 5.0), (2.0, 6.0), (0.5, 2.0)]
    rows = [sign * a * x <= sign * b for a, b in (limits[k] for k in order)]
    below_caps(x, [*rows, x >= -1], maximize=sign * np.ones(3), seed=0)


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (-2.0, -1.0), (1.0, 2.0)]
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_private_price_of_an_absolute_value_has_the_sign_that_its_bounds_allow(low, high, sign):
    """A row that is not convex for every price within the bounds is refused; others are kept."""
    price = PrivateParameter((), lower=low, upper=high, radius=(high - low) / 10, name="price")
    x = cp.Variable()
    rows = [sign * price * cp.abs(x) <= 1.5, x >= -10, x <= 10]
    problem = cp.Problem(cp.Maximize(x), rows)
    if sign * low < 0 or sign * high < 0:
        with pytest.raises(InvalidArgumentError, match="convex"):
            load(problem)
        return
    assert simulated(problem, {"price": high}).certificate.verified
    assert shortfall(problem, {"price": fractions(high)}) <= 0
