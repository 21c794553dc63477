"""Argument checks made once, at the door; read-only arrays behind it.

Every function takes the argument's *name* and raises :class:`InvalidArgumentError` with a text
that says which rule was broken. ``private=True`` keeps the offending value out of the text.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.scalars import (
    DEEPEST,
    MOST,
    flag,
    instance,
    integer,
    is_integer,
    is_mapping,
    is_real,
    is_text,
    items,
    names,
    one_of,
    path,
    real,
    seed,
    shape,
    shown,
    size,
    text,
    text_of,
)
from dp_cmdp._src.base.errors import InvalidArgumentError

__all__ = [
    "MOST", "FloatArray", "array", "flag", "float_array", "frozen", "frozen_sparse", "generator",
    "instance", "integer", "integers", "is_integer", "is_mapping", "is_real", "is_text", "items",
    "matrix", "names", "no_array", "number", "one_of", "path", "private_array", "real",
    "reject_non_finite", "rounded_array", "seed", "shape", "shown", "size", "text", "text_of",
    "truth", "vector", "why_no_array",
]  # fmt: skip

FloatArray = NDArray[np.float64]

#: numpy's kinds of truth values, integers and floats.
REAL_KINDS = "biuf"
PLAIN_ARRAYS = (np.ndarray, np.memmap, np.matrix)
PLAIN_NUMBERS = {bool, int, float, np.float64, np.int64, Fraction}
#: A list or range of more numbers than this is a mistake; arrays may be as long as they are.
LONGEST = 10**8
#: States, names or draws that a message lists: as many as fit on a line.
SHOWN = 8
TABLE = (
    'got a table: name its columns, for example table["price"].to_numpy(), or pass a mapping '
    "from group to column (Envelope.from_frame and Database.from_frame take tables)"
)
MASKED = "got masked entries: fill them or leave them out"
PURE = "an array of real numbers, no text and no booleans"
LONG = f"got more than {LONGEST} items"


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` itself, marked read-only."""
    array.flags.writeable = False
    return array


def frozen_sparse(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return `matrix` itself in canonical form, its three buffers marked read-only."""
    matrix.sum_duplicates()  # of what :func:`matrix` has checked there is none left to add
    for buffer in (matrix.data, matrix.indices, matrix.indptr):
        buffer.flags.writeable = False
    return matrix


def generator(name: str, value: Any) -> np.random.Generator:
    """An explicit numpy Generator."""
    if not isinstance(value, np.random.Generator):
        raise InvalidArgumentError(
            f"{name} must be a numpy.random.Generator (for example numpy.random.default_rng(0)), "
            f"got {type(value).__name__}"
        )
    return value


def truth(name: str, value: Any) -> bool:
    """True or False as environments say it: also numpy's, 0 and 1."""
    if isinstance(value, np.bool_ | np.ndarray) and value.ndim == 0 and value.dtype.kind == "b":
        return bool(value)
    return bool(value) if is_integer(value) and value in (0, 1) else flag(name, value)


def number(name: str, value: Any) -> float:
    """A number as environments say it: also an array of one."""
    found = array(name, value, what="a number")
    if found.size != 1:
        raise InvalidArgumentError(f"{name} must be one number, got {found.size}")
    return found.item()


def float_array(value: Any, *, copy: bool = True) -> FloatArray | None:
    """A float array (a new one, unless `copy` is off), or None when `value` is none.

    Truth values, integers, floats and objects such as fractions are numbers; complex numbers,
    whose imaginary part would be dropped, and texts, even of digits, are not. Nor is what
    :func:`why_no_array` names. A Series is read by position: its labels are not looked at.

    No exception is under way when the caller raises its own: the text of numpy's quotes the
    offending value, and even ``from None`` would leave it in ``__context__``.
    """
    if why_no_array(value) is not None:
        return None
    try:
        array = np.array(value) if copy else np.asarray(value)
        objects = array.dtype.kind == "O" and all(map(_is_number, array.flat))
        if not objects and array.dtype.kind not in REAL_KINDS:
            return None
        return array.astype(np.float64, copy=False)
    except Exception:
        return None


def _is_number(item: Any) -> bool:
    return is_real(item) or isinstance(item, bool | np.bool_ | Decimal)


def why_no_array(value: Any, *, depth: int = 0) -> str | None:
    """Why numpy would read something else than a person means, or None if it would not.

    Columns of a table arrive interleaved, masks and units are dropped, bytes are taken for
    numbers, and a list may hold any of these.
    """
    kind = type(value)
    if hasattr(kind, "__dataframe__") or hasattr(kind, "columns"):
        return TABLE
    if isinstance(value, np.ma.MaskedArray):
        return MASKED if np.ma.is_masked(value) else None
    if isinstance(value, np.ndarray):
        return None if kind in PLAIN_ARRAYS else f"got {kind.__name__}: pass plain numbers"
    if isinstance(value, bytes | bytearray | memoryview):
        return "got bytes"
    if kind in (list, tuple):
        return _why_no_items(value, depth)
    return LONG if _length(value) > LONGEST else None


def _why_no_items(value: list[Any] | tuple[Any, ...], depth: int) -> str | None:
    if set(map(type, value)) <= PLAIN_NUMBERS:
        return None
    if depth > DEEPEST:
        return f"got lists nested more than {DEEPEST} deep"
    reasons = (why_no_array(item, depth=depth + 1) for item in value)
    return next((reason for reason in reasons if reason is not None), None)


def _length(value: Any) -> float:
    try:
        return len(value)
    except OverflowError:
        return math.inf
    except Exception:
        return 0.0


def array(name: str, value: Any, *, what: str = "an array of real numbers") -> FloatArray:
    """A new float array of any shape."""
    found = float_array(value)
    if found is None:
        raise no_array(name, value, what=what)
    return found


def private_array(name: str, value: Any) -> FloatArray:
    """A new float array of private values, of any shape: no truth values, nothing quoted."""
    found = array(name, value, what=PURE)
    plain = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    if not plain and not all(is_real(item) or isinstance(item, Decimal) for item in _items(value)):
        raise InvalidArgumentError(f"{name} must be {PURE}")
    return found


def rounded_array(name: str, value: Any, *, up: bool) -> FloatArray:
    """A new, finite float array, rounded in one direction where numbers are not floats."""
    found = array(name, value)
    reject_non_finite(name, found.ravel())
    if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.float32, np.float16):
        return found
    side, flat = math.inf if up else -math.inf, found.reshape(-1)
    for place, (item, nearest) in enumerate(zip(_items(value), flat.tolist(), strict=True)):
        exactly = _fraction(item)
        if exactly is not None and (exactly > nearest if up else exactly < nearest):
            flat[place] = math.nextafter(nearest, side)
    reject_non_finite(name, flat)
    return flat.reshape(found.shape)


def _items(value: Any) -> list[Any]:
    """The numbers of what :func:`array` has taken, as they were given."""
    try:
        return np.asarray(value, dtype=object).ravel().tolist()
    except Exception:
        return [None]


def _fraction(item: Any) -> Fraction | None:
    """The number itself, or None if it is a float or tells no more than one."""
    if isinstance(item, float) or not (is_real(item) or isinstance(item, Decimal)):
        return None
    return Fraction(int(item)) if is_integer(item) else Fraction(*item.as_integer_ratio())


def no_array(
    name: str, value: Any, *, what: str = "an array of real numbers"
) -> InvalidArgumentError:
    """The refusal of what :func:`float_array` does not take; it quotes nothing."""
    reason = why_no_array(value)
    return InvalidArgumentError(f"{name} must be {what}" + (f"; {reason}" if reason else ""))


def integers(name: str, value: Any, *, low: int = 0, high: int | None = None) -> NDArray[np.int64]:
    """A new array of integers in [low, high), of any shape; truth values are none."""
    found, reason = None, why_no_array(value)
    if reason is None:
        try:
            found = np.array(value)
        except Exception:
            found = None
    rule = f"{name} must hold integers " + (
        f"from {low} on" if high is None else f"in [{low}, {high - 1}]"
    )
    if found is None or (found.size and found.dtype.kind not in "iu"):
        raise InvalidArgumentError(rule + (f"; {reason}" if reason else ""))
    top = np.iinfo(np.int64).max if high is None else high - 1
    if found.size and not (found.min() >= low and found.max() <= top):
        raise InvalidArgumentError(f"{rule}, got {found.min()} to {found.max()}")
    return found.astype(np.int64)


def vector(
    name: str,
    value: ArrayLike,
    *,
    size: int | None = None,
    finite: bool = True,
    private: bool = False,
) -> FloatArray:
    """A read-only float vector of a given size; a scalar is spread over it."""
    found = array(name, value)
    if found.ndim == 0 and size is not None:
        found = np.full(size, float(found))
    if found.ndim != 1:
        raise InvalidArgumentError(f"{name} must be one-dimensional, got {found.ndim} dimensions")
    if size is not None and found.size != size:
        raise InvalidArgumentError(f"{name} must have {size} entries, got {found.size}")
    reject_non_finite(name, found, allow_infinite=not finite, private=private)
    return frozen(found)


def reject_non_finite(
    name: str, array: FloatArray, *, allow_infinite: bool = False, private: bool = False
) -> None:
    """Refuse NaN (and, unless allowed, infinities), saying where but never what when private."""
    bad = np.isnan(array) if allow_infinite else ~np.isfinite(array)
    if bad.any():
        rule = "contain no NaN" if allow_infinite else "be finite"
        where = "" if private else f"; first offending index {int(np.argmax(bad))}"
        raise InvalidArgumentError(f"{name} must {rule}{where}")


def matrix(
    name: str, value: Any, *, columns: int | None = None, round_sums: bool = False
) -> sparse.csr_array:
    """A finite, canonical, read-only CSR matrix, from anything dense or sparse.

    Compiled code follows the indices of a sparse matrix blindly, and scipy checks them only when
    asked to; so every one of them is checked here, before anything is computed with it. Entries at
    one place are added exactly; a sum that is not a float is refused, or rounded once when
    `round_sums` is set (probabilities, which are normalised afterwards).
    """
    source = cast(Any, value if sparse.issparse(value) else float_array(value, copy=False))
    if source is None or source.dtype.kind not in REAL_KINDS:
        raise no_array(name, value, what="a matrix of real numbers")
    if source.ndim != 2:
        raise InvalidArgumentError(f"{name} must be two-dimensional, got {source.ndim} dimensions")
    if sparse.issparse(source):
        source = _added_up(name, _sound_sparse(name, source), round_sums=round_sums)
    csr = cast(Any, sparse.csr_array)(source, dtype=np.float64, copy=True)
    if columns is not None and csr.shape[1] != columns:
        raise InvalidArgumentError(
            f"{name} must have {columns} columns (one per variable), got {csr.shape[1]}"
        )
    if not np.isfinite(csr.data).all():
        raise InvalidArgumentError(f"{name} must be finite; it contains NaN or infinite entries")
    return frozen_sparse(csr)


def _sound_sparse(name: str, source: Any) -> Any:
    """The sparse matrix, in a format whose indices have all been found inside its shape."""
    try:
        if source.format == "lil" and any(
            len(places) != len(numbers)
            for places, numbers in zip(source.rows, source.data, strict=True)
        ):
            raise ValueError
        if source.format == "dia" and source.offsets.shape != source.data.shape[:1]:
            raise ValueError
        if source.format not in ("csr", "csc", "bsr", "coo"):
            source = source.tocoo()
        sound = _sound_coo(source) if source.format == "coo" else _sound_compressed(source)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise InvalidArgumentError(
            f"{name} must be a sound sparse matrix: indices inside its shape, row pointers that "
            "never fall, arrays of fitting lengths"
        )
    return source


def _sound_coo(source: Any) -> bool:
    row, col = source.coords
    return row.size == col.size == source.data.size and all(
        _inside(index, size) for index, size in zip((row, col), source.shape, strict=True)
    )


def _sound_compressed(source: Any) -> bool:
    """CSR, CSC and BSR: ``indptr`` cuts ``indices`` (and ``data``) into rows, columns or bands."""
    blocks = source.blocksize if source.format == "bsr" else (1, 1)
    if source.format == "bsr" and source.data.shape[1:] != tuple(blocks):
        return False
    height, width = (size // block for size, block in zip(source.shape, blocks, strict=True))
    major, minor = (width, height) if source.format == "csc" else (height, width)
    indptr, indices = source.indptr, source.indices
    whole = indptr.dtype.kind in "iu" and indptr.ndim == 1 and indptr.size == major + 1
    if not whole or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False
    return int(indptr[-1]) <= indices.size == source.data.shape[0] and _inside(indices, minor)


def _inside(index: Any, size: int) -> bool:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        return False
    return index.size == 0 or (int(index.min()) >= 0 and int(index.max()) < size)


def _added_up(name: str, source: Any, *, round_sums: bool) -> Any:
    """`source` itself, or a COO matrix with one exact sum for every place given several times."""
    if source.format not in ("coo", "csr", "csc", "bsr") or source.has_canonical_format:
        return source
    table, width = source.tocoo(), max(source.shape[1], 1)
    flat = np.asarray(table.coords[0], dtype=np.int64) * width + table.coords[1]
    places, which, count = np.unique(flat, return_inverse=True, return_counts=True)
    data = np.asarray(table.data, dtype=np.float64)
    if places.size == data.size or not np.isfinite(data).all():
        return source
    row, col = places // width, places % width
    sums = exact.row_sums(which, [data], num_rows=count.size)
    lost = exact.residual_signs(sums, which, [data]) != 0
    if not np.isfinite(sums).all() or (lost.any() and not round_sums):
        bad = int(np.argmax(lost | ~np.isfinite(sums)))
        raise InvalidArgumentError(
            f"{name} has several entries at row {row[bad]}, column {col[bad]} whose sum is not a "
            "floating-point number; give their sum as one entry"
        )
    return cast(Any, sparse.coo_array)((sums, (row, col)), shape=source.shape)
