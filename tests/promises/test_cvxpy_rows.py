"""A certified answer keeps every row of a cvxpy problem, in exact arithmetic."""

# pyright: reportArgumentType=false

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from tests.promises.adapter import Answer, errors, private_parameter, solve_cvxpy

SIZE = 3


def shortfall(left: Any, right: Any, x: Any) -> Fraction:
    """By how much the worst of the rows left·x ≤ right fails: exactly, ≤ 0 if none does."""
    rows = zip(np.atleast_2d(left).tolist(), np.ravel(right).tolist(), strict=True)
    terms = [Fraction(number) for number in np.asarray(x).tolist()]
    return max(
        sum(Fraction(a) * z for a, z in zip(row, terms, strict=True)) - Fraction(b)
        for row, b in rows
    )


def solved(x: Any, rows: list[Any], *, maximize: Any, seed: int) -> Answer:
    """`x` under public rows, and below private caps that are far away."""
    cap = private_parameter(SIZE, lower=50, upper=60, radius=0.1, name="cap")
    problem = cp.Problem(cp.Maximize(maximize @ x), [x <= cap, *rows])
    answer = solve_cvxpy(problem, {"cap": [55.0] * SIZE}, epsilon=1, delta="1/1000", simulated=seed)
    assert answer.certificate.verified
    return answer


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_multiple_of_one_variable_keeps_its_limit(seed: int, side: str) -> None:
    """b/a is no float in general: a limit on x that is rounded to one may break the row."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.1, 9, SIZE), rng.uniform(1, 9, SIZE)
    x = cp.Variable(SIZE)
    row = cp.multiply(a, x)
    if side == "above":
        solved(x, [row <= b, x >= -1], maximize=np.ones(SIZE), seed=seed)
        assert shortfall(np.diag(a), b, x.value) <= 0
    else:
        solved(x, [row >= b], maximize=-np.ones(SIZE), seed=seed)
        assert shortfall(-np.diag(a), -b, x.value) <= 0


@pytest.mark.parametrize("exponent", [-1013, -1020])
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_limit_among_the_smallest_floats_is_kept(side: str, exponent: int) -> None:
    """b/a is rounded there, or becomes 0, although a is a power of two."""
    sign = 1.0 if side == "above" else -1.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = sign * np.full(SIZE, 2.0**60), sign * 2.0**exponent * rng.uniform(1, 2, SIZE)
        x = cp.Variable(SIZE)
        solved(x, [cp.multiply(a, x) <= b, x >= -1], maximize=sign * np.ones(SIZE), seed=seed)
        assert shortfall(np.diag(a), b, x.value) <= 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("side", ["above", "below"])
def test_of_several_limits_on_one_variable_all_are_kept(order: tuple[int, ...], side: str) -> None:
    """In whatever order they are written; multiples with which no limit is rounded."""
    x, limits = cp.Variable(SIZE), [(1.0, 5.0), (2.0, 6.0), (0.5, 2.0)]
    rows = []
    for k in order:
        a, b = limits[k]
        rows.append(a * x <= b if side == "above" else a * x >= b)
    sign = 1.0 if side == "above" else -1.0
    solved(x, [*rows, x >= -1], maximize=sign * np.ones(SIZE), seed=0)
    for a, b in limits:
        assert shortfall(sign * a * np.eye(SIZE), sign * np.full(SIZE, b), x.value) <= 0


BOUNDS = [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (-2.0, -1.0), (1.0, 2.0)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_private_price_of_an_absolute_value_has_the_sign_that_its_bounds_allow(
    low: float, high: float, side: str
) -> None:
    """A row that is not convex for every price within the bounds is refused; others are kept."""
    price = private_parameter(lower=low, upper=high, name="price")
    x, sign = cp.Variable(), 1.0 if side == "above" else -1.0
    rows = [sign * price * cp.abs(x) <= 1.5, x >= -10, x <= 10]
    problem = cp.Problem(cp.Maximize(x), rows)
    is_convex = low >= 0 if side == "above" else high <= 0
    if not is_convex:
        with pytest.raises(errors.InvalidArgumentError, match="convex"):
            solve_cvxpy(problem, {"price": high}, epsilon=1, delta="1/1000", simulated=0)
        return
    answer = solve_cvxpy(problem, {"price": high}, epsilon=1, delta="1/1000", simulated=0)
    assert answer.certificate.verified
    true = Fraction(high)
    assert int(sign) * true * abs(Fraction(float(x.value))) <= Fraction(3, 2)
