"""Vectors and matrices that are affine in the entries of a database.

    v_i(θ) = v0_i + Σ_k h_ik θ_k          M_ij(θ) = M0_ij + Σ_k g_kij θ_k

Only the structure is stored: constants and coefficients, all public. Which positions are sensitive
follows from it (some coefficient is non-zero), never from realised values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError

IntArray = NDArray[np.int64]

#: Four times what one product of floats that underflows can miss.
UNDERFLOW = 2.0**-1073


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """An affine vector or matrix.

    Parameters
    ----------
    shape : int, (m,) or (m, n)
    constant : array_like or sparse, optional
        The public part; zero by default.
    at : int array (vector) or pair of int arrays (matrix), optional
        Positions that read the database.
    entry : int array, optional
        The database entry each position reads (see :meth:`dp_cmdp.data.envelope.Envelope.index`).
    coefficient : array_like
        Its public coefficient.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    A right-hand side 5 beside one that is twice the first entry of the database:

    >>> import numpy as np
    >>> from dp_cmdp import Affine
    >>> b = Affine(2, constant=[5.0, 0.0], at=[1], entry=[0], coefficient=2.0)
    >>> b.at(np.array([3.0]))
    array([5., 6.])
    """

    shape: tuple[int, ...]
    constant: Any  # FloatArray for a vector, csr_array for a matrix
    row: IntArray
    col: IntArray
    entry: IntArray
    coefficient: FloatArray
    _places: tuple[IntArray, IntArray, IntArray] = field(init=False, repr=False)

    @door
    def __init__(
        self,
        shape: int | tuple[int, ...],
        *,
        constant: Any = None,
        at: Any = (),
        entry: ArrayLike = (),
        coefficient: ArrayLike = 1.0,
    ) -> None:
        single = _check.is_integer(shape)
        sizes = (shape,) if single else _check.items("shape", shape, most=_check.SHOWN)
        full = tuple(_check.size("shape", size) for size in sizes)  # sparse: any product will do
        if len(full) not in (1, 2):
            raise InvalidArgumentError(f"shape must be (m,) or (m, n), got {len(full)} sizes")
        row, col, entries, factors = _terms(full, at, entry, coefficient)
        object.__setattr__(self, "shape", full)
        object.__setattr__(self, "constant", _constant(full, constant))
        _store_terms(self, row, col, entries, factors)

    @property
    def is_public(self) -> bool:
        """True when no position reads the database."""
        return self.entry.size == 0

    def at(self, values: FloatArray) -> Any:
        """The vector, or the CSR matrix, at the given database values.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Affine
        >>> A = Affine((1, 2), constant=[[1.0, 0.0]], at=([0], [1]), entry=[0])
        >>> A.at(np.array([0.5])).toarray()
        array([[1. , 0.5]])
        """
        values = _check.vector("values", values, private=True)
        if self.entry.size and values.size <= self.entry.max():
            raise InvalidArgumentError("values must hold every entry that is read")
        terms = self.coefficient * values[self.entry]
        if len(self.shape) == 1:
            return self.constant + np.bincount(self.row, weights=terms, minlength=self.shape[0])
        height, width = self.shape
        moved = sparse.csr_array((terms, (self.row, self.col)), shape=(height, width))
        return self.constant + moved

    def sensitive(self) -> tuple[IntArray, IntArray, IntArray]:
        """(row, col) of every sensitive position, and the position number of every term."""
        return self._places

    def bounds(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value of every sensitive position over a box of databases.

        Rounded outwards where the sum is inexact: they enclose the real-number extremes.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Affine
        >>> b = Affine(3, constant=[5.0, 0.0, 7.0], at=[1], entry=[0], coefficient=-1.0)
        >>> b.bounds(np.array([2.0]), np.array([3.0]))  # of the one that reads it
        (array([-3.]), array([-2.]))
        """
        row, col, position = self.sensitive()
        ends = self.coefficient * lower[self.entry], self.coefficient * upper[self.entry]
        base = self.base(row, col)
        low, high = (
            np.bincount(position, weights=terms, minlength=row.size)
            for terms in (np.minimum(*ends), np.maximum(*ends))
        )
        error = self._rounding(lower, upper, position=position, base=base)
        return base + low - error, base + high + error

    def extremes(self, lower: FloatArray, upper: FloatArray) -> tuple[Any, Any]:
        """The whole vector or matrix with every sensitive position at its smallest and largest.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Affine
        >>> b = Affine(2, constant=[5.0, 0.0], at=[1], entry=[0], coefficient=-1.0)
        >>> b.extremes(np.array([2.0]), np.array([3.0]))
        (array([ 5., -3.]), array([ 5., -2.]))
        """
        low, high = self.bounds(lower, upper)
        return self.filled(low), self.filled(high)

    def filled(self, numbers: FloatArray | float) -> Any:
        """The whole vector or CSR matrix with the given numbers at the sensitive positions."""
        row, col, _ = self.sensitive()
        if len(self.shape) == 1:
            vector = np.array(self.constant)
            vector[row] = numbers
            return vector
        height, width = self.shape
        at_row = np.repeat(np.arange(height), np.diff(self.constant.indptr))
        fixed = ~np.isin(at_row * width + self.constant.indices, row * width + col)
        public = self.constant.copy()
        public.data *= fixed
        places = np.broadcast_to(numbers, row.size), (row, col)
        return public + sparse.csr_array(places, shape=(height, width))

    def dense(self, numbers: FloatArray | float) -> FloatArray:
        """:meth:`filled` as a dense array."""
        row, col, _ = self.sensitive()
        whole = self.constant.toarray() if len(self.shape) == 2 else np.array(self.constant)
        whole[(row, col)[: len(self.shape)]] = numbers
        return whole

    def rounding(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Bound on |float sum − real value| of every sensitive position, over a box of databases.

        Zero where the position is a single entry with coefficient ±1, which floats hold exactly,
        and where every entry read is 0.

        Notes
        -----
        Of n terms and a constant, each passes at most n + 1 roundings of 2^−53 (relative), and
        products that underflow err by at most 2^−1075 more. The bound is four times that, which
        covers its own rounding. **Privacy.** *Public*.
        """
        row, col, position = self.sensitive()
        return self._rounding(lower, upper, position=position, base=self.base(row, col))

    def _rounding(
        self, lower: FloatArray, upper: FloatArray, *, position: IntArray, base: FloatArray
    ) -> FloatArray:
        weights = np.abs(self.coefficient)
        if position.size == base.size and not base.any() and (weights == 1.0).all():
            return np.zeros(base.size)  # single entries, all of them
        base = np.abs(base)
        largest = np.maximum(np.abs(lower), np.abs(upper))[self.entry]
        size, weight, live, count = (
            np.bincount(position, weights=terms, minlength=base.size)
            for terms in (
                weights * largest,
                weights,
                largest > 0.0,
                None,
            )
        )
        is_exact = ((count == 1) & (base == 0.0) & (weight == 1.0)) | (live == 0)
        error = (count + 1) * 2.0**-51 * (base + size) + live * UNDERFLOW
        return np.where(is_exact, 0.0, error)

    def base(self, row: IntArray, col: IntArray) -> FloatArray:
        """Constants at the given positions."""
        return self.constant[row] if len(self.shape) == 1 else _entries(self.constant, row, col)

    def sensitivity(self, radius: FloatArray, records: IntArray) -> float:
        """Largest entrywise ℓ1 change when one record moves, each entry by at most its radius.

        An exact sum, rounded up.

        Notes
        -----
        **Paper.** ``def:l11_sens``, ``def:l1_sens``. **Privacy.** *Public*.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Affine
        >>> A = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1], coefficient=[1.0, 2.0])
        >>> radius = np.array([0.25, 0.25])
        >>> A.sensitivity(radius, np.array([0, 1]))  # each entry is its own record
        0.5
        >>> A.sensitivity(radius, np.array([0, 0]))  # both belong to one person
        0.75
        """
        if self.is_public:
            return 0.0
        owner = records[self.entry]
        factors = [np.abs(self.coefficient), radius[self.entry]]
        return float(exact.row_sums_up(owner, factors, num_rows=int(owner.max()) + 1).max())


def _constant(shape: tuple[int, ...], constant: Any) -> Any:
    if len(shape) == 1:
        return _check.vector("constant", 0.0 if constant is None else constant, size=shape[0])
    matrix = _check.matrix(
        "constant", sparse.csr_array(shape) if constant is None else constant, columns=shape[1]
    )
    if matrix.shape != shape:
        raise InvalidArgumentError(f"constant must have shape {shape}, got {matrix.shape}")
    return matrix


def _terms(
    shape: tuple[int, ...], at: Any, entry: ArrayLike, coefficient: ArrayLike
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    if len(shape) == 2 and not (isinstance(at, tuple) and len(at) in (0, 2)):
        raise InvalidArgumentError("at must be a pair (rows, columns) for a matrix")
    rows, cols = (at or ((), ())) if len(shape) == 2 else (at, 0)
    try:
        parts = np.broadcast_arrays(
            *(_integers(name, part) for name, part in (("at", rows), ("at", cols))),
            _integers("entry", entry),
            _check.array("coefficient", coefficient),
        )
    except (ValueError, TypeError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError("at, entry and coefficient must broadcast together") from None
    row, col, entries, factors = (part.ravel() for part in parts)
    limits = (shape[0], shape[1] if len(shape) == 2 else 1)
    for index, limit in zip((row, col), limits, strict=True):
        if index.size and (index.min() < 0 or index.max() >= limit):
            raise InvalidArgumentError(f"at must index inside the shape {shape}")
    if entries.size and entries.min() < 0:
        raise InvalidArgumentError("entry must hold non-negative database positions")
    _check.reject_non_finite("coefficient", factors)
    return row, col, entries, factors


def _integers(name: str, value: ArrayLike) -> IntArray:
    return _check.integers(name, value, low=np.iinfo(np.int64).min)


def _store_terms(
    affine: Affine, row: IntArray, col: IntArray, entry: IntArray, coefficient: FloatArray
) -> None:
    """Sort the terms, add up exactly those that meet, drop those that cancel; freeze the arrays.

    A sum that is not a float stays as several terms of one sign, so nothing is rounded.
    """
    order = np.lexsort((entry, col, row))
    place = np.stack([row[order], col[order], entry[order]])
    new = np.ones(row.size, dtype=bool)
    new[1:] = (np.diff(place, axis=1) != 0).any(axis=0)
    start = np.flatnonzero(new)
    count = np.diff(np.append(start, row.size))
    factors = coefficient[order]
    single = start[(count == 1) & (factors[start] != 0.0)]
    where, pieces = [single], [factors[single]]
    for first, size in zip(start[count > 1], count[count > 1], strict=True):
        try:
            total = exact.expansion(factors[first : first + size].tolist())
        except OverflowError:
            raise InvalidArgumentError(
                "coefficient must have finite sums: repeated terms add up beyond the floats"
            ) from None
        where.append(np.full(len(total), first))
        pieces.append(np.array(total))
    index = np.concatenate(where)
    sort = np.argsort(index, kind="stable")
    for name, part in zip(("row", "col", "entry"), place[:, index[sort]], strict=True):
        object.__setattr__(affine, name, _check.frozen(np.array(part)))
    object.__setattr__(affine, "coefficient", _check.frozen(np.concatenate(pieces)[sort]))
    rows, cols = affine.row, affine.col
    new = np.ones(rows.size, dtype=bool)  # terms are sorted by position
    new[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    places = (_check.frozen(part) for part in (rows[new], cols[new], np.cumsum(new) - 1))
    object.__setattr__(affine, "_places", tuple(places))


def _entries(matrix: sparse.csr_array, row: IntArray, col: IntArray) -> FloatArray:
    if not (row.size and matrix.nnz):
        return np.zeros(row.size)
    return np.asarray(matrix[row, col], dtype=np.float64).ravel()
