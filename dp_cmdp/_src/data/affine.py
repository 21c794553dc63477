"""Arrays that are affine in the entries of a database.

    v_p(θ) = v0_p + Σ_k g_pk θ_k

Only the structure is stored: constants and coefficients, all public. Which positions are sensitive
follows from it (some coefficient is non-zero), never from realised values. An array of any shape is
kept as a table of rows and columns: (n,) as (n, 1), () as (1, 1), (a, b, c) as (a·b, c).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.envelope import Envelope, Shape
from dp_cmdp._src.data.labels import flat_index, plain

IntArray = NDArray[np.int64]
TERMS = ("row", "col", "entry", "coefficient")
#: Arrays beyond this many positions are not broadcast, indexed or reshaped densely.
MOST_POSITIONS = 2**26


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Affine:
    """An array whose numbers are affine in the private entries of an envelope.

    Made by indexing an envelope: ``theta[0]``, ``theta[:]``, ``theta["price"]``. It computes as a
    numpy array does (``+ − * / @``, indices, ``reshape``, ``sum``, broadcasting), with numbers,
    arrays, sparse matrices, and other expressions of the same envelope. What would look at private
    numbers, comparing, ``float`` and ``bool``, is refused, and so are products of two expressions.

    Attributes
    ----------
    shape : tuple of int

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 8], [2, 12], radius=[0.1, 0.5])
    >>> 5 - 2 * theta[0]
    Affine(shape=(), reads 1 entry)
    """

    __array_ufunc__ = None
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    envelope: Envelope
    shape: Shape
    constant: sparse.csr_array
    row: IntArray
    col: IntArray
    entry: IntArray
    coefficient: FloatArray

    def __init__(self) -> None:
        raise InvalidTypeError(
            "an Affine is made by indexing an envelope, for example theta[0] or theta[:]; sparse "
            "arrays of many by Affine.sparse"
        )

    @classmethod
    def _of(
        cls,
        envelope: Envelope,
        shape: Shape,
        row: ArrayLike,
        col: ArrayLike,
        entry: ArrayLike,
        coefficient: ArrayLike,
        constant: Any = None,
    ) -> Affine:
        """An expression from its terms; those that meet are added exactly."""
        made = cls.__new__(cls)
        rows, cols = table_shape(shape)
        fixed: Any = sparse.csr_array((rows, cols) if constant is None else constant)
        if not np.isfinite(fixed.data).all():
            raise InvalidArgumentError("constants must be finite")
        terms = _merged(
            np.asarray(row, dtype=np.int64),
            np.asarray(col, dtype=np.int64),
            np.asarray(entry, dtype=np.int64),
            np.asarray(coefficient, dtype=np.float64),
        )
        made.__dict__.update(zip(TERMS, terms, strict=True), envelope=envelope, shape=shape)
        made.__dict__["constant"] = check.frozen_sparse(fixed.astype(np.float64))
        return made

    @classmethod
    def _entries(cls, envelope: Envelope, entry: IntArray, shape: Shape) -> Affine:
        """Entries of the database themselves, in this shape."""
        place, (_, cols) = np.arange(entry.size), table_shape(shape)
        row, col = np.divmod(place, max(cols, 1))
        return cls._of(envelope, shape, row, col, entry, np.ones(entry.size))

    @classmethod
    def _public(cls, envelope: Envelope, numbers: Any) -> Affine:
        """Numbers that read nothing."""
        shape, table = getattr(numbers, "shape", ()), numbers
        if not check.is_sparse(numbers):
            dense = check.array("the constant", numbers)
            check.reject_non_finite("the constant", dense.ravel())
            shape, table = dense.shape, dense.reshape(table_shape(dense.shape))
        none = np.zeros(0, dtype=np.int64)
        return cls._of(envelope, shape, none, none, none, np.zeros(0), table)

    @classmethod
    def of(cls, x: Any, envelope: Envelope | None = None) -> Affine:
        """Numbers, expressions, or nested lists of both as one expression.

        Parameters
        ----------
        x : number, array_like, sparse matrix or Affine
            Also nested lists that mix them.
        envelope : Envelope, optional
            That of the result; by default the one found in `x`.

        Returns
        -------
        Affine
            Everything in one array.

        Raises
        ------
        InvalidArgumentError
            If `x` mixes envelopes.
        """
        found = _envelope_in(x, envelope)
        if isinstance(x, Affine):
            return x
        if check.is_sparse(x) or not _holds_affine(x):
            return cls._public(found, x)
        return _stacked([cls.of(part, found) for part in x], found)

    @classmethod
    @validated
    def sparse(
        cls, terms: Affine, at: tuple[Any, ...], shape: tuple[int, ...], *, constant: Any = 0
    ) -> Affine:
        """A matrix with these terms at these places, as :class:`scipy.sparse.coo_array` has.

        Parameters
        ----------
        terms : Affine
            A vector. Terms at one place add up.
        at : pair of int arrays
            Rows and columns of the terms.
        shape : pair of int
            Rows and columns of the matrix.
        constant : number, array or sparse matrix
            The public part.

        Returns
        -------
        Affine

        Raises
        ------
        InvalidArgumentError
            Places outside the shape, or another number of them than of terms.
        """
        if len(at) != 2 or len(shape) != 2 or len(terms.shape) != 1:
            raise InvalidArgumentError(
                "terms must be a vector, at a pair (rows, columns) and shape a pair of sizes"
            )
        sizes = check.size("shape", shape[0]), check.size("shape", shape[1])
        places = [
            check.integers(f"{name} of at", part, high=size) if size else np.zeros(0, np.int64)
            for name, part, size in zip(("rows", "columns"), map(_listed, at), sizes, strict=True)
        ]
        if any(part.shape != terms.shape for part in places):
            raise InvalidArgumentError(
                f"rows and columns of at must be vectors of {terms.shape[0]} places, as terms are"
            )
        fixed = terms.constant.tocoo()
        where = tuple(part[fixed.coords[0]] for part in places)
        moved = check.matrix("terms", sparse.coo_array((fixed.data, where), shape=sizes))
        row, col = (part[terms.row] for part in places)
        made = cls._of(terms.envelope, sizes, row, col, terms.entry, terms.coefficient, moved)
        return made if check.is_real(constant) and constant == 0 else made + constant

    def _document(self) -> dict[str, Any]:
        """The content of a file."""
        terms = {name: getattr(self, name) for name in TERMS}
        return {"shape": list(self.shape), "constant": self.constant, **terms}

    @classmethod
    def _from(cls, said: Mapping[str, Any], envelope: Envelope) -> Affine:
        """What :meth:`_document` wrote about entries of this envelope, checked again."""
        shape = tuple(check.size("shape", size) for size in said["shape"])
        rows, columns = shape if len(shape) == 2 else (*shape, 1)
        limits = {"row": rows, "col": columns, "entry": envelope.size}
        count = len(said["coefficient"])
        row, col, entry = (
            check.integers(name, said[name], high=limit) if count else np.zeros(0, dtype=np.int64)
            for name, limit in limits.items()
        )
        factors = check.vector("coefficient", said["coefficient"], size=count)
        if any(part.shape != (count,) for part in (row, col, entry)):
            raise InvalidArgumentError("terms must have one place and entry each")
        constant = check.matrix("constant", said["constant"], columns=columns)
        if constant.shape[0] != rows:
            raise InvalidArgumentError("constant must have the shape of its part")
        return cls._of(envelope, shape, row, col, entry, factors, constant)

    @property
    def size(self) -> int:
        """Number of positions."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def is_public(self) -> bool:
        """Whether no position reads the database."""
        return self.entry.size == 0

    def at(self, values: FloatArray) -> Any:
        """The array at a database: a csr matrix if it has two axes, else a numpy array.

        Parameters
        ----------
        values : float array
            One number per entry of the envelope.

        Returns
        -------
        csr_array or float array
            The numbers, in the shape of the expression.
        """
        terms = self.coefficient * np.asarray(values)[self.entry]
        moved = sparse.csr_array((terms, (self.row, self.col)), shape=self.constant.shape)
        table = sparse.csr_array(self.constant + moved)
        return table if len(self.shape) == 2 else table.toarray().reshape(self.shape)

    def __add__(self, other: Any) -> Affine:
        mine, yours = self._with(other)
        row, col, entry, coefficient = (
            np.concatenate([getattr(mine, name), getattr(yours, name)]) for name in TERMS
        )
        constant = mine.constant + yours.constant
        return Affine._of(mine.envelope, mine.shape, row, col, entry, coefficient, constant)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Affine:
        return self + -(other if isinstance(other, Affine) else Affine.of(other, self.envelope))

    def __rsub__(self, other: Any) -> Affine:
        return -self + other

    def __neg__(self) -> Affine:
        return self._scaled(-1.0)

    def __mul__(self, other: Any) -> Affine:
        table = self._numbers(other)
        if table.ndim == 0:
            return self._scaled(float(table))
        shape = _joint_shape(self.shape, table.shape)
        wide = self._broadcast(shape)
        if not check.is_sparse(table):
            table = np.broadcast_to(table, shape).reshape(table_shape(shape))
        coefficient = wide.coefficient * values_at(table, wide.row, wide.col)
        constant = wide.constant.multiply(table)
        terms = wide.row, wide.col, wide.entry, coefficient
        return Affine._of(wide.envelope, shape, *terms, constant)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Affine:
        divisor = self._numbers(other)
        if check.is_sparse(divisor) or (divisor == 0).any():
            raise InvalidArgumentError("an Affine must be divided by numbers that are not 0")
        if divisor.ndim:
            return self * (1.0 / divisor)
        terms = self.row, self.col, self.entry, self.coefficient / divisor  # rounded once
        constant = self.constant / float(divisor)
        return Affine._of(self.envelope, self.shape, *terms, constant)

    def __matmul__(self, other: Any) -> Affine:
        right = self._numbers(other)
        product = self.T.__rmatmul__(right if right.ndim == 1 else right.T)
        return product.T if product.ndim == 2 else product

    def __rmatmul__(self, other: Any) -> Affine:
        left = self._numbers(other)
        flat = left.ndim == 1
        matrix = sparse.csr_array(left.reshape(1, -1) if flat else left)
        if self.ndim not in (1, 2) or matrix.shape[1] != self.shape[0]:
            raise InvalidArgumentError(
                f"matrices must fit to be multiplied, got {left.shape} @ {self.shape}"
            )
        shape = (() if flat else (matrix.shape[0],)) + self.shape[1:]
        column = sparse.csc_array(matrix)
        term, at = spans(column.indptr[self.row], np.diff(column.indptr)[self.row])
        row, col = column.indices[at], self.col[term]
        product = sparse.csr_array(matrix @ self.constant)
        if flat and self.ndim == 2:  # one row of the table becomes a vector
            row, col, product = col, row, sparse.csr_array(product.T)
        coefficient = self.coefficient[term] * column.data[at]
        return Affine._of(self.envelope, shape, row, col, self.entry[term], coefficient, product)

    @property
    def T(self) -> Affine:
        """The transposed matrix; a vector is its own.

        Raises
        ------
        InvalidArgumentError
            If the expression has more than two axes.
        """
        if self.ndim < 2:
            return self
        if self.ndim > 2:
            raise InvalidArgumentError("T must be taken of a vector or a matrix")
        turned = sparse.csr_array(self.constant.T)
        terms = self.col, self.row, self.entry, self.coefficient
        return Affine._of(self.envelope, self.shape[::-1], *terms, turned)

    def __getitem__(self, key: Any) -> Affine:
        if isinstance(key, Affine):
            raise InvalidTypeError("an index must be public: integers, slices or arrays of them")
        try:
            chosen = self._positions()[key]
        except (IndexError, ValueError, TypeError) as error:
            raise InvalidArgumentError(
                f"an index must fit the shape {self.shape}: {error}"
            ) from None
        return self._gathered(np.asarray(chosen))

    def __len__(self) -> int:
        if not self.shape:
            raise InvalidTypeError("len() of an Affine without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Affine]:
        return (self[k] for k in range(len(self)))

    def reshape(self, *shape: Any) -> Affine:
        """The same numbers in another shape, in row-major order.

        Parameters
        ----------
        *shape : int, or one tuple of int
            The new shape; one −1 stands for what remains.

        Returns
        -------
        Affine
            The expression in the new shape.

        Raises
        ------
        InvalidArgumentError
            If the shape holds another number of entries.
        """
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        try:
            full = np.broadcast_to(0, self.shape).reshape(sizes).shape
        except (ValueError, TypeError):
            raise InvalidArgumentError(
                f"shape must hold {self.size} numbers, got {sizes}"
            ) from None
        return self._reshaped(full)

    def _reshaped(self, shape: Shape) -> Affine:
        (_, before), (rows, after) = table_shape(self.shape), table_shape(shape)
        row, col = np.divmod(self.row * before + self.col, max(after, 1))
        table = self.constant.reshape((rows, after))
        return Affine._of(self.envelope, shape, row, col, self.entry, self.coefficient, table)

    def sum(self, axis: int | None = None) -> Affine:
        """Add up all numbers, or those along one axis.

        Parameters
        ----------
        axis : int, optional
            The axis to sum over; all of them by default.

        Returns
        -------
        Affine
            A shape without that axis, or ().

        Raises
        ------
        InvalidArgumentError
            If there is no such axis.
        """
        if axis is None:
            return self.reshape(-1).__rmatmul__(np.ones(self.size))
        axes = np.arange(self.ndim)
        if not check.is_integer(axis) or not -self.ndim <= axis < self.ndim:
            raise InvalidArgumentError(f"axis must be in [{-self.ndim}, {self.ndim - 1}]")
        position = np.moveaxis(self._positions(), axes[axis], 0)
        rest = position.shape[1:]
        ones = np.ones(position.shape[0])
        flat = self._gathered(position.reshape(position.shape[0], -1))
        return flat.__rmatmul__(ones).reshape(rest)

    def _scaled(self, factor: float) -> Affine:
        with np.errstate(over="ignore"):  # infinities are refused
            coefficient, constant = self.coefficient * factor, self.constant * factor
        terms = self.row, self.col, self.entry, coefficient
        return Affine._of(self.envelope, self.shape, *terms, constant)

    def _numbers(self, other: Any) -> Any:
        """A public factor: finite numbers of any shape, or a sparse matrix."""
        if isinstance(other, Affine):
            raise InvalidTypeError("an Affine must be multiplied by public numbers, not by another")
        if check.is_sparse(other):
            return check.matrix("a factor", other)
        found = check.array("a factor", other)
        check.reject_non_finite("a factor", found.ravel())
        return found

    def _with(self, other: Any) -> tuple[Affine, Affine]:
        """Both terms of a sum in one shape."""
        if isinstance(other, Affine) and not self.envelope.size:
            mine, yours = Affine._public(other.envelope, self.constant), other
            mine = mine._reshaped(self.shape)
        else:
            mine, yours = self, Affine.of(other, self.envelope)
        shape = _joint_shape(mine.shape, yours.shape)
        return mine._broadcast(shape), yours._broadcast(shape)

    def _broadcast(self, shape: Shape) -> Affine:
        if shape == self.shape:
            return self
        _dense(shape)
        return self._gathered(np.broadcast_to(self._positions(), shape))

    def _positions(self) -> IntArray:
        """Flat positions in the array's own shape."""
        _dense(self.shape)
        return np.arange(self.size).reshape(self.shape)

    def _gathered(self, positions: IntArray) -> Affine:
        """The numbers at flat positions, in the shape of `positions`."""
        shape, wanted = positions.shape, positions.ravel()
        flat = self._reshaped((self.size,))
        first = np.searchsorted(flat.row, wanted)
        count = np.searchsorted(flat.row, wanted, side="right") - first
        place, term = spans(first, count)
        row, col = np.divmod(place, max(table_shape(shape)[1], 1))
        fixed = flat.constant[wanted].reshape(table_shape(shape)) if wanted.size else None
        return Affine._of(
            self.envelope, shape, row, col, flat.entry[term], flat.coefficient[term], fixed
        )

    def _refuse(self, *_: Any) -> Any:
        raise InvalidTypeError(
            "an Affine stands for private numbers: it has no value to compare or convert; "
            "state a constraint with ParametricLP or PrivateCost"
        )

    if not TYPE_CHECKING:  # a type checker refuses float(theta[0]) by itself
        __float__ = __int__ = __complex__ = __index__ = _refuse
    __bool__ = _refuse
    __eq__: ClassVar[Any] = _refuse
    __ne__: ClassVar[Any] = _refuse
    __lt__: ClassVar[Any] = _refuse
    __le__: ClassVar[Any] = _refuse
    __gt__: ClassVar[Any] = _refuse
    __ge__: ClassVar[Any] = _refuse
    __pow__: ClassVar[Any] = _refuse
    __rpow__: ClassVar[Any] = _refuse
    __rtruediv__: ClassVar[Any] = _refuse
    __abs__: ClassVar[Any] = _refuse

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """One object that is no number: sparse matrices then leave products to this class."""
        if dtype not in (None, object):
            self._refuse()
        found = np.empty((), dtype=object)
        found[()] = self
        return found

    def __repr__(self) -> str:
        count = np.unique(self.entry).size
        return f"Affine(shape={self.shape}, reads {count} entr{'y' if count == 1 else 'ies'})"


def values_at(table: Any, row: IntArray, col: IntArray) -> FloatArray:
    """Numbers of a dense or sparse table at some places."""
    if not row.size or (check.is_sparse(table) and not table.nnz):
        return np.zeros(row.size)
    found = table[row, col]
    dense = found.toarray() if check.is_sparse(found) else found
    return np.asarray(dense, dtype=np.float64).ravel()


def spans(first: NDArray[np.integer], count: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Number of the span, and position, of all items of spans: first, first + 1, …"""
    span = np.repeat(np.arange(count.size), count)
    return span, first[span] + np.arange(span.size) - (np.cumsum(count) - count)[span]


def _joint_shape(one: Shape, other: Shape) -> Shape:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise InvalidArgumentError(f"shapes must broadcast, got {one} and {other}") from None


def table_shape(shape: Shape) -> tuple[int, int]:
    """Rows and columns in which an array of that shape is kept."""
    if len(shape) < 2:
        return (shape[0] if shape else 1), 1
    return prod(shape[:-1]), shape[-1]


def common_envelope(*parts: Any) -> Envelope:
    """The envelope that the expressions among some numbers share; an empty one if there is none."""
    return _envelope_in(parts, None)


def _envelope_in(x: Any, known: Envelope | None) -> Envelope:
    for part in _affine_parts(x):
        if known is None or (not known.size and part.envelope.size):
            known = part.envelope
        elif part.envelope.size and part.envelope is not known and part.envelope != known:
            raise InvalidArgumentError(
                "expressions must be of one envelope: put their groups together with "
                "Envelope.join({name: envelope, …}) and index that"
            )
    return Envelope._empty() if known is None else known


def _affine_parts(x: Any) -> Iterator[Affine]:
    if isinstance(x, Affine):
        yield x
    elif isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.dtype == object):
        for part in x:
            yield from _affine_parts(part)


def _holds_affine(x: Any) -> bool:
    return next(_affine_parts(x), None) is not None


def _stacked(parts: list[Affine], envelope: Envelope) -> Affine:
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise InvalidArgumentError("rows must have one shape")
    (shape,) = shapes
    flat = [part._reshaped((part.size,)) for part in parts]
    starts = np.cumsum([0, *(part.size for part in flat[:-1])])
    whole = Affine._of(
        envelope,
        (len(parts) * prod(shape),),
        np.concatenate([part.row + start for part, start in zip(flat, starts, strict=True)]),
        np.concatenate([part.col for part in flat]),
        np.concatenate([part.entry for part in flat]),
        np.concatenate([part.coefficient for part in flat]),
        sparse.vstack([part.constant for part in flat]),
    )
    return whole._reshaped((len(parts), *shape))


def _listed(part: Any) -> Any:
    return list(part) if isinstance(part, range) else part


def _dense(shape: Shape) -> None:
    if prod(shape) > MOST_POSITIONS:
        raise InvalidArgumentError(
            f"an array of shape {shape} is too large to be indexed or broadcast: build it with "
            "Affine.sparse"
        )


def _merged(
    row: IntArray, col: IntArray, entry: IntArray, coefficient: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Terms by place and entry; those that meet are added exactly, and zeros dropped.

    A sum that is not a float stays as several terms of one sign, so nothing is rounded.
    """
    if not np.isfinite(coefficient).all():
        raise InvalidArgumentError("coefficients must be finite")
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
                "coefficients must have finite sums: repeated terms add up beyond the floats"
            ) from None
        where.append(np.full(len(total), first))
        pieces.append(np.array(total))
    index = np.concatenate(where)
    sort = np.argsort(index, kind="stable")
    rows, cols, entries = (check.frozen(part) for part in place[:, index[sort]].copy())
    return rows, cols, entries, check.frozen(np.concatenate(pieces)[sort])


class Located:
    """Entries of an envelope by their labels, as :attr:`pandas.Series.loc` finds them."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def __getitem__(self, key: Any) -> Affine:
        import pandas as pd

        parts = list(key) if isinstance(key, tuple) else [key]
        groups = self._envelope.groups
        alone = len(groups) == 1
        group = groups[0] if alone else self._envelope._group(str(parts.pop(0) if parts else ""))
        if not group.labels:
            raise InvalidArgumentError(
                f"{group.name!r} has no labels: give it some with labels=…, or index by place"
            )
        index = flat_index(group.labels)
        wanted: list[Any] = [
            [plain(x) for x in p] if isinstance(p, list) else plain(p) for p in parts
        ]
        rows: Any = pd.Series(np.arange(group.start, group.stop), index=index)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
                found = np.asarray(rows.loc[wanted[0] if len(wanted) == 1 else tuple(wanted)])
        except (KeyError, TypeError, ValueError, pd.errors.IndexingError):
            raise InvalidArgumentError(
                f"labels must be those of {group.name!r}, one per level; see to_frame().index"
            ) from None
        return Affine._entries(self._envelope, found.ravel(), found.shape)
