"""Small cvxpy models in every spelling, with parameters made by whoever asks.

A model is a function of a maker of parameters: ``make(name, shape, lower, upper)``. With
``cp.Parameter`` it is cvxpy's own problem, with ``PrivateParameter`` ours.
"""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp

Make = Callable[..., Any]
MODELS: dict[str, Callable[[Make], cp.Problem]] = {}


def model(build: Callable[[Make], cp.Problem]) -> Callable[[Make], cp.Problem]:
    MODELS[build.__name__] = build
    return build


@model
def rows_and_columns(make: Make) -> cp.Problem:
    price, budget = make("price", (4, 3), 0, 1), make("budget", 3, 1, 3)
    x = cp.Variable((4, 3), nonneg=True)
    rows = [cp.sum(x, axis=1) <= 2, cp.sum(cp.multiply(price, x), axis=0) <= budget]
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(price, x))), rows)


@model
def free_variables(make: Make) -> cp.Problem:
    a, b = make("a", 3, -1, 1), make("b", (), 1, 2)
    x = cp.Variable(3)
    return cp.Problem(cp.Maximize(cp.sum(x)), [a @ x <= b, x >= -2, x <= 5])


@model
def absolute_values(make: Make) -> cp.Problem:
    a, b = make("a", (2, 3), 0, 1), make("b", 2, 1, 2)
    x = cp.Variable(3)
    return cp.Problem(
        cp.Maximize(x[0] + x[1] - x[2]), [a @ cp.abs(x) <= b, cp.abs(x - 1) <= 3, x[2] >= b[0] - 4]
    )


@model
def norms(make: Make) -> cp.Problem:
    target, limit = make("target", 3, -1, 1), make("limit", (), 2, 3)
    x = cp.Variable(3)
    return cp.Problem(
        cp.Minimize(cp.norm1(x - target) + cp.norm_inf(x)),
        [cp.norm1(x) <= limit, cp.norm(x, "inf") <= 2 * limit, cp.sum(x) >= 1],
    )


@model
def largest(make: Make) -> cp.Problem:
    gain, cap = make("gain", 5, 0, 2), make("cap", (), 1, 2)
    x = cp.Variable(5)
    return cp.Problem(
        cp.Maximize(cp.min(cp.multiply([1, 2, 1, 3, 1], x)) + gain @ x),
        [cp.sum_largest(x, 2) <= cap, cp.max(x) <= 1, x >= -1, cp.maximum(x[0], x[1]) <= cap / 4],
    )


@model
def worst_of_private_rows(make: Make) -> cp.Problem:
    loss = make("loss", (4, 3), -1, 1)
    x = cp.Variable(3, nonneg=True)
    return cp.Problem(cp.Minimize(cp.max(loss @ x)), [cp.sum(x) == 1])


@model
def matrices(make: Make) -> cp.Problem:
    A, B = make("A", (2, 3), 0, 1), make("B", (2, 2), 1, 2)
    X = cp.Variable((3, 2))
    return cp.Problem(cp.Maximize(cp.trace(A @ X)), [A @ X <= B, X >= -1, X.T[0] <= 2, X <= 4])


@model
def twice_in_a_row(make: Make) -> cp.Problem:
    p, q = make("p", 3, 0, 1), make("q", (), 1, 2)
    x = cp.Variable(3, nonneg=True)
    y = cp.Variable()
    return cp.Problem(
        cp.Maximize(cp.sum(x) + y),
        [p @ x + 0.5 * p[0] - p[1] * y <= q + 0.5 * p[2], y <= q, y >= -q, x <= 2],
    )


@model
def private_bounds(make: Make) -> cp.Problem:
    low, high = make("low", 3, -1, 0), make("high", (), 1, 2)
    x = cp.Variable(3, bounds=[low, high])
    y = cp.Variable(bounds=[0, 10])
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply([1, -1, 2], x)) - y), [y <= 1 + x[0]])


@model
def symmetric_and_signed(make: Make) -> cp.Problem:
    p, u = make("p", (2, 2), 0, 1), make("u", (), 1, 2)
    S = cp.Variable((2, 2), symmetric=True)
    n = cp.Variable(2, nonpos=True)
    d = cp.Variable((2, 2), diag=True)
    return cp.Problem(
        cp.Maximize(cp.sum(cp.multiply(p, S)) + cp.sum(n) + cp.trace(d)),
        [
            cp.trace(S) == 1,
            S <= 2,
            S[0, 1] >= -1,
            S[0, 0] >= n[0] + p[0, 1],
            d <= u,
            -u <= cp.sum(n),
        ],
    )


@model
def stacked_and_shifted(make: Make) -> cp.Problem:
    d = make("d", 4, 0, 1)
    x, s = cp.Variable(4, nonneg=True), cp.Variable(5, nonneg=True)
    moved = cp.hstack([x, 0]) - cp.diff(cp.hstack([0, s]))
    return cp.Problem(
        cp.Minimize(cp.sum(cp.vstack([x, 2 * s[1:]])) + cp.sum(cp.cumsum(x)) / 8),
        [moved[:4] >= d, s[0] == 1, s <= 3],
    )


@model
def beside_public_parameters(make: Make) -> cp.Problem:
    p, q = make("p", 3, 0, 1), make("q", 3, 1, 2)
    u, v = cp.Parameter(3, nonneg=True), cp.Parameter((2, 2), symmetric=True)
    u.value, v.value = [1.0, 0.5, 2.0], [[1.0, 0.5], [0.5, 2.0]]
    x = cp.Variable(3, bounds=[-1, u])
    return cp.Problem(
        cp.Maximize(u @ x),
        [cp.multiply(p, u) @ x <= cp.sum(q), v @ x[:2] <= q[:2], v[0, 1] * x <= 3],
    )


@model
def cones_by_name(make: Make) -> cp.Problem:
    p, q = make("p", 3, 0, 1), make("q", (), 1, 2)
    x = cp.Variable(3)
    rows = [cp.NonNeg(q - p @ x), cp.NonNeg(x + 1), cp.Zero(x[0] - x[1]), cp.NonNeg(3 - cp.abs(x))]
    return cp.Problem(cp.Maximize(cp.sum(x) + x[2]), rows)


def plain(name: str, shape: Any, lower: Any, upper: Any) -> cp.Parameter:
    return cp.Parameter(shape, name=name, nonneg=lower >= 0)
