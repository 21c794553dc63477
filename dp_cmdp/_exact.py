"""Sums of products of floats, evaluated exactly.

Every finite float is a rational number. A product of two floats splits without error into two
floats, a·b = p + e (Dekker's product with Veltkamp's splitting), and :func:`math.fsum` returns the
correctly rounded value of an exact sum of floats. So the numbers returned here are the exact
rational results rounded once: in particular their *sign* is exact, which is all a certificate of
feasibility needs. Dekker's product is error-free only away from overflow and underflow; where that
is not certain the sum is made in :class:`fractions.Fraction` instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dp_cmdp._check import FloatArray

_SPLITTER = 134217729.0  # 2**27 + 1
_LARGE = 2.0**480  # products of two such numbers stay far from overflow
_SMALL = 2.0**-420  # products of two such numbers have error terms far from underflow


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


def row_sums(rows: NDArray[np.intp], factors: Sequence[FloatArray], *, num_rows: int) -> FloatArray:
    """Σ of products, row by row: exact, then rounded once.

    Parameters
    ----------
    rows : (terms,) int array
        The row each term belongs to.
    factors : one to three (terms,) float arrays
        The term is their product.
    num_rows : int

    Returns
    -------
    FloatArray
        One correctly rounded sum per row; its sign is the exact sign.
    """
    order = np.argsort(rows, kind="stable")
    parts = [np.asarray(factor, dtype=np.float64)[order] for factor in factors]
    count = np.bincount(rows, minlength=num_rows)
    end = np.cumsum(count)
    sums = np.zeros(num_rows)
    pieces = _expand(parts) if _is_safe(parts) else None
    todo = count > 0
    if pieces is not None and len(parts) <= 2:
        # a lone product is its own leading piece: it is already rounded once
        lone = count == 1
        sums[lone] = pieces[0, end[lone] - 1]
        todo &= ~lone
    for row in np.flatnonzero(todo):
        span = slice(end[row] - count[row], end[row])
        if pieces is not None:
            sums[row] = math.fsum(pieces[:, span].ravel().tolist())
        else:
            sums[row] = _rounded(_fraction_sum([part[span] for part in parts]))
    return sums


def row_sums_up(
    rows: NDArray[np.intp], factors: Sequence[FloatArray], *, num_rows: int
) -> FloatArray:
    """Σ of products, row by row: the least floats that are not below the exact sums."""
    nearest = row_sums(rows, factors, num_rows=num_rows)
    return np.where(
        residual_signs(nearest, rows, factors) > 0, np.nextafter(nearest, np.inf), nearest
    )


def residual_signs(
    claimed: FloatArray, rows: NDArray[np.intp], factors: Sequence[FloatArray]
) -> FloatArray:
    """Signs of (exact sum − claimed), row by row; 0 where `claimed` is infinite."""
    finite = np.where(np.isfinite(claimed), claimed, 0.0)
    one = np.ones(claimed.size)
    first, *others = factors
    parts = [np.concatenate([first, -finite]), *(np.concatenate([part, one]) for part in others)]
    rest = row_sums(np.concatenate([rows, np.arange(claimed.size)]), parts, num_rows=claimed.size)
    return np.where(np.isfinite(claimed), np.sign(rest), 0.0)


def expansion(terms: Sequence[float]) -> tuple[float, ...]:
    """The exact sum of `terms` as floats of one sign, the largest first; none for 0.

    Raises
    ------
    OverflowError
        If the sum is beyond the floats.
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


def rounded_up(value: Fraction) -> float:
    """The least float that is not below a fraction in the range of the floats."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _is_safe(factors: Sequence[FloatArray]) -> bool:
    """Whether every (partial) product of the factors is in the error-free range."""
    smallest = _SMALL if len(factors) < 3 else _SMALL**0.5
    largest = _LARGE if len(factors) < 3 else _LARGE**0.5
    for factor in factors:
        size = np.abs(factor[factor != 0])
        if size.size and (size.min() < smallest or size.max() > largest):
            return False
    return True


def _expand(factors: Sequence[FloatArray]) -> FloatArray:
    """Stack of 2^(len−1) arrays whose sum is, term by term, exactly the product."""
    pieces = [factors[0]]
    for factor in factors[1:]:
        pieces = [half for piece in pieces for half in two_product(piece, factor)]
    return np.stack(pieces)


def _fraction_sum(factors: Sequence[FloatArray]) -> Fraction:
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
