"""Dual bounds: no x that is safe for the set is worth more.

Let y ≥ 0 and θ^i in the set, for every row i. Whoever satisfies all rows for every θ of the set
satisfies Σ y_i A_i(θ^i)x ≤ Σ y_i b_i(θ^i), so that with r = c − Σ y_i A_i(θ^i) − A_eqᵀ y_eq

    cᵀx ≤ Σ y_i b_i(θ^i) + y_eqᵀ b_eq + Σ_j max{ r_j x_j : lower_j ≤ x_j ≤ upper_j }.

The multipliers of the solver say y and, by those of the hard pairs, θ^i. Every sum is rounded
outwards. Variables without bounds take those that the rows imply.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.program.linear import LinearProgram, RawSolution
from dp_cmdp._src.program.rows import RobustRows

#: Rounds in which rows imply bounds from those that other rows imply.
ROUNDS = 4
#: Implied bounds are widened by this share of the terms they are made of: far beyond rounding.
WIDER = 2.0**-30
#: Attempts to move a θ^i that the solver's accuracy leaves outside of the set into it.
MOVES = 8


def upper_bound(
    lp: LinearProgram, robust: RobustRows, raw: RawSolution, x: FloatArray, inside: FloatArray
) -> float:
    """The bound for a robust program, from a solver's multipliers and a database inside.

    A variable that nothing bounds is taken to be at most twice as large as any of x, plus 1: then
    the bound is as accurate as the solver's multipliers, and not a proof.
    """
    rows, n, m = robust.rows, x.size, robust.rows.num_rows
    A, b, A_eq, ones = rows.A, rows.b, lp.A_eq, np.ones
    y, y_eq = raw.dual[:m], raw.dual_eq
    theta = _worst_databases(robust, y, raw.dual[m:], inside)
    if theta is None:
        return np.inf
    at = np.repeat(np.arange(m), np.diff(A.constant.indptr))
    at_eq = np.repeat(np.arange(y_eq.size), np.diff(A_eq.indptr))
    columns = np.concatenate([np.arange(n), A.constant.indices, A.col, A_eq.indices])
    reduced, off = _sums(
        columns.astype(np.intp),
        [
            np.concatenate([lp.c[:n], -A.constant.data, -A.coefficient, -A_eq.data]),
            np.concatenate([ones(n), y[at], y[A.row], y_eq[at_eq]]),
            np.concatenate([ones(n + at.size), theta[rows.A_pair], ones(at_eq.size)]),
        ],
        num_rows=n,
    )
    least, most = reduced - off, reduced + off
    low, high = lp.lower[:n], lp.upper[:n]
    if (np.isinf(low) & (least < 0.0)).any() or (np.isinf(high) & (most > 0.0)).any():
        low, high = _implied_bounds(lp, robust, theta)
    reach = 2.0 * float(np.abs(x).max(initial=0.0)) + 1.0
    low = np.where(least < 0.0, np.where(np.isinf(low), -reach, low), np.maximum(low, -reach))
    high = np.where(most > 0.0, np.where(np.isinf(high), reach, high), np.minimum(high, reach))
    ends = [least * low, least * high, most * low, most * high]
    total, error = _sums(
        np.zeros(m + b.row.size + y_eq.size, dtype=np.intp),
        [
            np.concatenate([y, y[b.row], y_eq]),
            np.concatenate([rows.constant, b.coefficient, lp.b_eq]),
            np.concatenate([ones(m), theta[rows.b_pair], ones(y_eq.size)]),
        ],
        num_rows=1,
    )
    rest = math.fsum(np.nextafter(np.maximum.reduce(ends), np.inf).tolist())
    whole = np.nextafter(total[0] + error[0], np.inf) + np.nextafter(rest, np.inf)
    return float(np.nextafter(whole, np.inf))


def _sums(
    at: NDArray[np.intp], factors: list[FloatArray], *, num_rows: int
) -> tuple[FloatArray, FloatArray]:
    """Sums of products, and how far off they may be."""
    plain, error, _ = exact.sum_bounds(at, factors, num_rows=num_rows)
    wild = ~np.isfinite(error)
    if wild.any():
        plain[wild] = exact.some_sums(wild, at, factors)
        error[wild] = np.abs(plain[wild]) * 2.0**-52 + 5e-324
    return plain, error


def _worst_databases(
    robust: RobustRows, y: FloatArray, dual: FloatArray, inside: FloatArray
) -> FloatArray | None:
    """θ^i per pair, each in the set for certain; None where that cannot be had."""
    if not robust.complete:
        return None
    low, high, hard = robust.low, robust.high, robust.hard
    price = y[robust.row[hard]]
    share = np.divide(dual, price, out=np.zeros_like(dual), where=price > 0.0)
    theta = robust.base.copy()
    theta[hard] = np.clip(low[hard] + share, low[hard], high[hard])
    target, used = inside[robust.entry], y[robust.link_row] > 0.0
    reached = np.maximum(_left(robust, target), 0.0)
    for attempt in range(MOVES):
        missing = np.where(used, np.maximum(-_left(robust, theta), 0.0), 0.0)
        if not missing.any():
            return theta
        part = np.divide(missing, missing + reached, out=np.zeros_like(missing), where=missing > 0)
        step = np.zeros(y.size)
        np.maximum.at(step, robust.link_row, part)
        step = np.where(step > 0.0, np.minimum(step * 2.0**attempt + 2.0**-50, 1.0), 0.0)
        theta = np.clip(theta + step[robust.row] * (target - theta), low, high)
    return None


def _left(robust: RobustRows, theta: FloatArray) -> FloatArray:
    """q_j − W_jθ^i per link; its signs are exact."""
    meeting, link, weight = robust.pull
    return exact.tight_sums(
        np.concatenate([link, np.arange(robust.links)]),
        [
            np.concatenate([-weight, robust.known.q[robust.link_inequality]]),
            np.concatenate([theta[meeting], np.ones(robust.links)]),
        ],
        num_rows=robust.links,
    )


def _implied_bounds(
    lp: LinearProgram, robust: RobustRows, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of x that the rows at θ^i and the equality rows imply, rounded outwards."""
    rows, A, b = robust.rows, robust.rows.A, robust.rows.b
    n, m = A.shape[1], rows.num_rows
    moved = sparse.csr_array((A.coefficient * theta[rows.A_pair], (A.row, A.col)), shape=(m, n))
    shift = np.bincount(b.row, weights=b.coefficient * theta[rows.b_pair], minlength=m)
    equal = lp.A_eq[:, :n]
    right = np.concatenate([rows.constant + shift, lp.b_eq, -lp.b_eq])
    table = sparse.coo_array(sparse.vstack([A.constant + moved, equal, -equal]))
    used = table.data != 0.0
    row, col, data = table.coords[0][used], table.coords[1][used], table.data[used]
    lower, upper = lp.lower[:n].copy(), lp.upper[:n].copy()
    for _ in range(ROUNDS):
        end = np.where(data > 0.0, lower[col], upper[col])
        term = np.where(np.isfinite(end), data * np.nan_to_num(end, posinf=0.0, neginf=0.0), 0.0)
        total = np.bincount(row, term, right.size)
        size = np.bincount(row, np.abs(term), right.size)
        missing = np.bincount(row, np.isinf(end), right.size)
        alone = missing[row] == np.isinf(end)  # every other variable of the row is bounded
        left = right[row] - (total[row] - term)
        with np.errstate(over="ignore"):
            most = (left + WIDER * (size + np.abs(right))[row]) / data
            outer = most + np.sign(data) * WIDER * np.abs(most)
        rises, falls = alone & (data > 0.0), alone & (data < 0.0)
        np.minimum.at(upper, col[rises], outer[rises])
        np.maximum.at(lower, col[falls], outer[falls])
    return lower, upper
