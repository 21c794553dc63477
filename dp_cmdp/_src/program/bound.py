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
    n, m = x.size, robust.rows.num_rows
    y, y_eq = raw.dual[:m].copy(), raw.dual_eq
    theta = _worst_databases(robust, y, raw.dual[m:], inside)
    if theta is None:
        return np.inf
    rows, A, A_eq = robust.rows, robust.rows.A, lp.A_eq
    at = np.repeat(np.arange(m), np.diff(A.constant.indptr))
    at_eq = np.repeat(np.arange(y_eq.size), np.diff(A_eq.indptr))
    ones = np.ones
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
    lower, upper = lp.lower[:n], lp.upper[:n]
    if not (
        np.isfinite(lower[reduced - off < 0]).all() and np.isfinite(upper[reduced + off > 0]).all()
    ):
        lower, upper = _implied_bounds(lp, robust, theta, lower, upper)
        reach = 2.0 * float(np.abs(x).max(initial=0.0)) + 1.0
        lower = np.where(np.isfinite(lower), lower, -reach)
        upper = np.where(np.isfinite(upper), upper, reach)
    else:  # of the bounds that are infinite none is used
        lower, upper = np.nan_to_num(lower, neginf=0.0), np.nan_to_num(upper, posinf=0.0)
    most = np.maximum.reduce(
        [side * end for side in (reduced - off, reduced + off) for end in (lower, upper)]
    )
    total, error = _sums(
        np.zeros(m + rows.b.row.size + y_eq.size, dtype=np.intp),
        [
            np.concatenate([y, y[rows.b.row], y_eq]),
            np.concatenate([rows.constant, rows.b.coefficient, lp.b_eq]),
            np.concatenate([ones(m), theta[rows.b_pair], ones(y_eq.size)]),
        ],
        num_rows=1,
    )
    rest = math.nextafter(math.fsum(np.nextafter(most, np.inf).tolist()), math.inf)
    return float(np.nextafter(np.nextafter(total[0] + error[0], np.inf) + rest, np.inf))


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
    if not robust.links:
        return theta
    target = inside[robust.entry]
    reached = np.maximum(_room(robust, target), 0.0)
    for attempt in range(MOVES):
        missing = np.where(y[robust.link_row] > 0.0, np.maximum(-_room(robust, theta), 0.0), 0.0)
        if not missing.any():
            return theta
        share = np.divide(missing, missing + reached, out=np.zeros_like(missing), where=missing > 0)
        step = np.zeros(y.size)
        np.maximum.at(step, robust.link_row, share)
        step = np.where(step > 0.0, np.minimum(step * 2.0**attempt + 2.0**-50, 1.0), 0.0)
        theta = np.clip(theta + step[robust.row] * (target - theta), low, high)
    return None


def _room(robust: RobustRows, theta: FloatArray) -> FloatArray:
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
    lp: LinearProgram,
    robust: RobustRows,
    theta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bounds of x that the rows at θ^i and the equality rows imply, rounded outwards."""
    A, b, m = robust.rows.A, robust.rows.b, robust.rows.num_rows
    terms = sparse.csr_array((A.coefficient * theta[robust.rows.A_pair], (A.row, A.col)), A.shape)
    right = robust.rows.constant + np.bincount(
        b.row, weights=b.coefficient * theta[robust.rows.b_pair], minlength=m
    )
    own = sparse.csr_array((lp.A_eq.data, lp.A_eq.indices, lp.A_eq.indptr), lp.A_eq.shape)[
        :, : lower.size
    ]
    matrix = sparse.csr_array(sparse.vstack([A.constant + terms, own, -own]))
    right = np.concatenate([right, lp.b_eq, -lp.b_eq])
    row = np.repeat(np.arange(right.size), np.diff(matrix.indptr))
    col, data = matrix.indices, matrix.data
    use = data != 0.0
    row, col, data = row[use], col[use], data[use]
    for _ in range(ROUNDS):
        end = np.where(data > 0.0, lower[col], upper[col])
        finite = np.isfinite(end)
        term = np.where(finite, data * np.where(finite, end, 0.0), 0.0)
        total = np.bincount(row, weights=term, minlength=right.size)
        size = np.bincount(row, weights=np.abs(term), minlength=right.size) + np.abs(right)
        missing = np.bincount(row, weights=~finite, minlength=right.size)
        others = missing[row] - ~finite
        with np.errstate(over="ignore", invalid="ignore"):
            most = (right[row] - (total[row] - term) + WIDER * size[row]) / data
        known = (others == 0) & np.isfinite(most)
        most = most + WIDER * np.abs(most)
        least = np.where(known, most - 2 * WIDER * np.abs(most), 0.0)
        rises, falls = known & (data > 0.0), known & (data < 0.0)
        new_upper, new_lower = upper.copy(), lower.copy()
        np.minimum.at(new_upper, col[rises], most[rises])
        np.maximum.at(new_lower, col[falls], least[falls])
        if np.array_equal(new_upper, upper) and np.array_equal(new_lower, lower):
            break
        lower, upper = new_lower, new_upper
    return lower, upper
