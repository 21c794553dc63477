"""Sums of products of floats, evaluated exactly.

Every finite float is a rational number. A product of two floats splits without error into two
floats, a·b = p + e (Dekker's product with Veltkamp's splitting), and :func:`math.fsum` returns the
correctly rounded value of an exact sum of floats. So the numbers returned here are the exact
rational results rounded once: in particular their *sign* is exact, which is all a certificate of
feasibility needs. Dekker's product is error-free only away from overflow and underflow; where that
is not certain the sum is made in :class:`fractions.Fraction` instead.

Where a plain sum of floats and the bound on its error decide (:func:`sum_bounds`), nothing more is
computed: :func:`row_signs` and :func:`tight_sums` are exact only where they must be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dp_cmdp._src.base.validation import FloatArray

    Factors = Sequence[FloatArray] | FloatArray

_SPLITTER = 134217729.0  # 2**27 + 1
_LARGE = 2.0**480  # products of two such numbers stay far from overflow
_SMALL = 2.0**-420  # products of two such numbers have error terms far from underflow
#: Sums that may be below this share of Σ|terms| are tight: rounding x moves a row by far less.
TIGHT = 2.0**-48


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(p, e) with p + e = a·b exactly and p = fl(a·b), for operands in the safe range."""
    p = a * b
    big = _SPLITTER * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = _SPLITTER * b
    b_high = big - (big - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def row_sums(rows: NDArray[np.intp], factors: Factors, *, num_rows: int) -> FloatArray:
    """Σ of products of one to three factors, row by row: exact, then rounded once.

    `rows` says to which row each term belongs; the signs of the sums are the exact ones.
    """
    table = np.array(factors, dtype=np.float64)
    used = np.flatnonzero((table != 0.0).all(axis=0))
    order = used[np.argsort(rows[used], kind="stable")]
    parts = table[:, order]
    count = np.bincount(rows[order], minlength=num_rows)
    end = np.cumsum(count)
    sums = np.zeros(num_rows)
    pieces = None if np.any(_outside(parts)) else _expand(parts)
    todo = count > 0
    if pieces is not None and len(parts) <= 2:
        # a lone product is its own leading piece: it is already rounded once
        lone = count == 1
        sums[lone] = pieces[0, end[lone] - 1]
        todo &= ~lone
    left = np.flatnonzero(todo)
    spans = zip((end - count)[left].tolist(), end[left].tolist(), strict=True)
    if pieces is None:
        for row, (i, j) in zip(left.tolist(), spans, strict=True):
            sums[row] = _rounded(_fraction_sum(parts[:, i:j]))
        return sums
    many, flat = pieces.shape[0], pieces.T.ravel().tolist()
    for row, (i, j) in zip(left.tolist(), spans, strict=True):
        sums[row] = math.fsum(flat[many * i : many * j])
    return sums


def some_sums(chosen: NDArray[np.bool_], rows: NDArray[np.intp], factors: Factors) -> FloatArray:
    """:func:`row_sums` of the chosen rows."""
    number = np.cumsum(chosen) - 1
    kept = np.flatnonzero(chosen[rows])
    parts = np.array(factors, dtype=np.float64)[:, kept]
    return row_sums(number[rows[kept]], parts, num_rows=int(chosen.sum()))


def sum_bounds(
    rows: NDArray[np.intp], factors: Factors, *, num_rows: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Plain sums of floats, how far the exact ones may be from them, and Σ|terms|.

    A sum of n products of up to three floats, in any order, is off by at most γ_(n+2) Σ|terms|,
    γ_k = k u/(1 − k u), u = 2^-53 (Higham 2002, section 3.1). Twice that is returned, which covers
    the rounding of Σ|terms| and of the bound; infinity for rows with factors that could overflow.
    A product that underflows is off by 2^-1075 more, times the factor that follows: four times
    that is added where a factor is so small.
    """
    terms = np.array(factors[0], dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for factor in factors[1:]:
            terms *= factor
        count = np.bincount(rows, minlength=num_rows)
        plain = np.bincount(rows, weights=terms, minlength=num_rows).astype(np.float64)
        size = np.bincount(rows, weights=np.abs(terms), minlength=num_rows).astype(np.float64)
        error = (count + 4) * 2.0**-52 * size
    small, large = _outside(factors)
    np.add.at(error, rows[small], 2.0**-1073 * (1.0 + np.abs(factors[-1][small])))
    error[rows[large]] = np.inf
    return plain, error, size


def row_signs(rows: NDArray[np.intp], factors: Factors, *, num_rows: int) -> FloatArray:
    """Signs of Σ of products, row by row, exactly."""
    plain, error, size = sum_bounds(rows, factors, num_rows=num_rows)
    signs = np.sign(plain)
    unclear = ~(np.abs(plain) > error) & ~((size == 0.0) & (error == 0.0))
    if unclear.any():
        signs[unclear] = np.sign(some_sums(unclear, rows, factors))
    return signs


def tight_sums(rows: NDArray[np.intp], factors: Factors, *, num_rows: int) -> FloatArray:
    """Σ of products, exact and rounded once where it matters, elsewhere a certain lower bound.

    Exact are the sums that may be negative or no more than :data:`TIGHT` of their Σ|terms|, and
    those that may be the smallest of all: signs and minimum are those of :func:`row_sums`.
    """
    plain, error, size = sum_bounds(rows, factors, num_rows=num_rows)
    with np.errstate(invalid="ignore"):
        sums = plain - error
        least = np.min(plain + error, initial=np.inf, where=np.isfinite(error))
        clear = (sums > TIGHT * size) & (sums > least)
    if not clear.all():
        sums[~clear] = some_sums(~clear, rows, factors)
    return sums


def row_sums_up(rows: NDArray[np.intp], factors: Factors, *, num_rows: int) -> FloatArray:
    """Σ of products, row by row: the least floats that are not below the exact sums."""
    nearest = row_sums(rows, factors, num_rows=num_rows)
    return np.where(
        residual_signs(nearest, rows, factors) > 0, np.nextafter(nearest, np.inf), nearest
    )


def residual_signs(claimed: FloatArray, rows: NDArray[np.intp], factors: Factors) -> FloatArray:
    """Signs of (exact sum − claimed), row by row; 0 where `claimed` is infinite."""
    finite = np.where(np.isfinite(claimed), claimed, 0.0)
    own = np.ones((len(factors), claimed.size))  # one term more per row, −claimed
    own[0] = -finite
    parts = np.hstack([np.array(factors, dtype=np.float64), own])
    rest = row_sums(np.concatenate([rows, np.arange(claimed.size)]), parts, num_rows=claimed.size)
    return np.where(np.isfinite(claimed), np.sign(rest), 0.0)


def expansion(terms: Sequence[float]) -> tuple[float, ...]:
    """The exact sum of `terms` as floats of one sign, the largest first; none for 0.

    OverflowError says that the sum is beyond the floats.
    """
    rest = sum(map(Fraction, terms), Fraction(0))
    pieces = []
    while rest:
        piece = float(rest)
        if abs(Fraction(piece)) > abs(rest):
            piece = math.nextafter(piece, 0.0)
        pieces.append(piece)
        rest -= Fraction(piece)
    return tuple(pieces)


def float_above(value: Fraction) -> float:
    """The least float that is not below a fraction in the range of the floats."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The greatest float that is not above a fraction in the range of the floats."""
    return -float_above(-value)


def _outside(factors: Factors) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which terms may have a (partial) product below, and which above, the error-free range."""
    size = np.abs(np.array(factors, dtype=np.float64))
    power = 1.0 if len(factors) < 3 else 0.5
    small = (size < _SMALL**power) & (size != 0.0)
    return small.any(axis=0), (size > _LARGE**power).any(axis=0)


def _expand(factors: Factors) -> FloatArray:
    """Stack of 2^(len−1) arrays whose sum is, term by term, exactly the product."""
    pieces = [factors[0]]
    for factor in factors[1:]:
        halves = []
        for piece in pieces:
            halves += two_product(piece, factor)
        pieces = halves
    return np.stack(pieces)


def _fraction_sum(factors: Factors) -> Fraction:
    total = Fraction(0)
    for term in zip(*(factor.tolist() for factor in factors), strict=True):
        product = Fraction(1)
        for factor in term:
            product *= Fraction(factor)
        total += product
    return total


def _rounded(value: Fraction) -> float:
    """Nearest float, but never 0 for a non-zero value and never an overflow error."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if nearest == 0.0 and value:
        return 5e-324 if value > 0 else -5e-324
    return nearest
