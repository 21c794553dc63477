"""Argument checks made once, at the door; read-only arrays behind it.

Every function takes the argument's *name* and raises :class:`InvalidArgumentError` with a text
that says which rule was broken. ``private=True`` keeps the offending value out of the text.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp.errors import InvalidArgumentError

FloatArray = NDArray[np.float64]

#: numpy's kinds of truth values, integers and floats.
REAL_KINDS = "biuf"
PLAIN_ARRAYS = (np.ndarray, np.memmap, np.matrix)
PLAIN_NUMBERS = {bool, int, float, np.float64, np.int64, Fraction}
#: Lists nested deeper than this have more dimensions than numpy can broadcast.
DEEPEST = 30
#: A list or range of more numbers than this is a mistake; arrays may be as long as they are.
LONGEST = 10**8
#: More things than this are neither kept in memory nor done one by one.
MOST = 10**9
#: Nor are more objects than this read one by one.
MOST_ITEMS = 10**6
TABLE = (
    'got a table: name its columns, for example table["price"].to_numpy(), or pass a mapping '
    "from group to column"
)
MASKED = "got masked entries: fill them or leave them out"
LONG = f"got more than {LONGEST} items"


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` itself, marked read-only."""
    array.flags.writeable = False
    return array


def frozen_sparse(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return `matrix` itself in canonical form, its three buffers marked read-only."""
    matrix.sum_duplicates()
    for buffer in (matrix.data, matrix.indices, matrix.indptr):
        buffer.flags.writeable = False
    return matrix


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one: "no" and 0-d arrays do not."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{name} must be True or False, got {type(value).__name__}")
    return value


def is_real(value: Any) -> bool:
    """Whether `value` is a real number: no truth value, no duration (an integer to numpy)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def is_integer(value: Any) -> bool:
    """Whether `value` is an integer: no truth value, no duration (an integer to numpy)."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite real number in [low, high]."""
    if not is_real(value):
        raise InvalidArgumentError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf  # a rational beyond the floats, of either sign
    if not math.isfinite(number):
        raise InvalidArgumentError(f"{name} must be finite, got {number}")
    if not low <= number <= high:
        raise InvalidArgumentError(f"{name} must lie in [{low:g}, {high:g}], got {number:g}")
    return number


def integer(name: str, value: Any, *, low: int = 0, high: int | None = None) -> int:
    """An integer in [low, high]."""
    if not is_integer(value):
        raise InvalidArgumentError(f"{name} must be an integer, got {type(value).__name__}")
    number = int(value)
    if number < low or (high is not None and number > high):
        top = "" if high is None else f" and at most {high}"
        raise InvalidArgumentError(f"{name} must be at least {low}{top}, got {shown(number)}")
    return number


def size(name: str, value: Any, *, low: int = 0) -> int:
    """A number of things that are kept in memory or done one by one."""
    return integer(name, value, low=low, high=MOST)


def shape(name: str, value: Any) -> tuple[int, ...]:
    """The shape of an array: a size, or a few of them."""
    sizes = (value,) if is_integer(value) else items(name, value, most=DEEPEST)
    found = tuple(integer(name, part, high=MOST) for part in sizes)
    if math.prod(found) > MOST:
        raise InvalidArgumentError(f"{name} must hold at most {MOST} entries")
    return found


def seed(name: str, value: Any) -> int:
    """A seed: a non-negative integer, of up to 256 bits."""
    return integer(name, value, high=2**256 - 1)


def shown(number: int) -> str:
    """Text of an integer of any size; Python itself refuses beyond 4,300 digits."""
    if number.bit_length() <= 64:
        return str(number)
    return f"{'-' if number < 0 else ''}2^{number.bit_length() - 1} or more"


def is_text(value: Any) -> bool:
    """Whether `value` is a text that can be written down."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def text(name: str, value: Any) -> str:
    """A text that can be written down: no lone surrogates, which no file takes."""
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{name} must be a text, got {type(value).__name__}")
    if not is_text(value):
        raise InvalidArgumentError(f"{name} must be a text of valid characters")
    return value


def path(name: str, value: Any) -> Path:
    """The name of a file or folder that an operating system can take."""
    if not isinstance(value, str | Path):
        raise InvalidArgumentError(
            f"{name} must be a path (text or pathlib.Path), got {type(value).__name__}"
        )
    text(name, str(value))
    parts = Path(value).parts
    if not str(value) or "\0" in str(value) or any(len(part.encode()) > 255 for part in parts):
        raise InvalidArgumentError(
            f"{name} must be a path whose parts have 1 to 255 bytes, none of them NUL"
        )
    return Path(value)


def is_mapping(value: Any) -> bool:
    """Whether `value` maps names to things; a sparse matrix that is a dict to Python does not."""
    return isinstance(value, Mapping) and not sparse.issparse(value)


def items(name: str, value: Any, *, most: int = MOST_ITEMS) -> tuple[Any, ...]:
    """The items of a list, a tuple or another iterable, of which there are at most `most`.

    A text or a mapping is one thing, not several, and an endless iterator is not waited for.
    """
    if isinstance(value, str | bytes | bytearray | Mapping):
        raise InvalidArgumentError(f"{name} must be a sequence, got {type(value).__name__}")
    try:
        found = tuple(itertools.islice(iter(value), most + 1))
    except Exception:
        found = None
    if found is None:
        raise InvalidArgumentError(f"{name} must be a sequence, got {type(value).__name__}")
    if len(found) > most:
        raise InvalidArgumentError(f"{name} must hold at most {most} items")
    return found


def names(name: str, value: Any) -> tuple[str, ...]:
    """The texts of a sequence."""
    return tuple(text(f"an item of {name}", item) for item in items(name, value))


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a fixed set of words."""
    if not isinstance(value, str) or value not in choices:
        found = repr(value[:60]) if isinstance(value, str) else type(value).__name__
        raise InvalidArgumentError(f"{name} must be one of {', '.join(choices)}; got {found}")
    return value


def instance(name: str, value: Any, kind: type) -> None:
    """An object of one of the package's own types."""
    if not isinstance(value, kind):
        raise InvalidArgumentError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")


def generator(name: str, value: Any) -> np.random.Generator:
    """An explicit numpy Generator."""
    if not isinstance(value, np.random.Generator):
        raise InvalidArgumentError(
            f"{name} must be a numpy.random.Generator (for example numpy.random.default_rng(0)), "
            f"got {type(value).__name__}"
        )
    return value


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


def no_array(
    name: str, value: Any, *, what: str = "an array of real numbers"
) -> InvalidArgumentError:
    """The refusal of what :func:`float_array` does not take; it quotes nothing."""
    reason = why_no_array(value)
    return InvalidArgumentError(f"{name} must be {what}" + (f"; {reason}" if reason else ""))


def integers(name: str, value: Any, *, low: int = 0, high: int | None = None) -> NDArray[np.int64]:
    """A new array of integers in [low, high), of any shape; truth values are none."""
    found = None
    if why_no_array(value) is None:
        try:
            found = np.array(value)
        except Exception:
            found = None
    rule = f"{name} must hold integers" + (f" in [{low}, {high - 1}]" if high is not None else "")
    if found is None or (found.size and found.dtype.kind not in "iu"):
        raise InvalidArgumentError(rule)
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
    array = float_array(value)
    if array is None:
        raise no_array(name, value)
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    if array.ndim != 1:
        raise InvalidArgumentError(f"{name} must be one-dimensional, got {array.ndim} dimensions")
    if size is not None and array.size != size:
        raise InvalidArgumentError(f"{name} must have {size} entries, got {array.size}")
    reject_non_finite(name, array, allow_infinite=not finite, private=private)
    return frozen(array)


def reject_non_finite(
    name: str, array: FloatArray, *, allow_infinite: bool = False, private: bool = False
) -> None:
    """Refuse NaN (and, unless allowed, infinities), saying where but never what when private."""
    bad = np.isnan(array) if allow_infinite else ~np.isfinite(array)
    if bad.any():
        rule = "contain no NaN" if allow_infinite else "be finite"
        where = "" if private else f"; first offending index {int(np.argmax(bad))}"
        raise InvalidArgumentError(f"{name} must {rule}{where}")


def matrix(name: str, value: Any, *, columns: int | None = None) -> sparse.csr_array:
    """A finite, canonical, read-only CSR matrix, from anything dense or sparse."""
    source = cast(Any, value if sparse.issparse(value) else float_array(value, copy=False))
    if source is None or source.dtype.kind not in REAL_KINDS:
        raise no_array(name, value, what="a matrix of real numbers")
    if source.ndim != 2:
        raise InvalidArgumentError(f"{name} must be two-dimensional, got {source.ndim} dimensions")
    csr = cast(Any, sparse.csr_array)(source, dtype=np.float64, copy=True)
    if columns is not None and csr.shape[1] != columns:
        raise InvalidArgumentError(
            f"{name} must have {columns} columns (one per variable), got {csr.shape[1]}"
        )
    if not np.isfinite(csr.data).all():
        raise InvalidArgumentError(f"{name} must be finite; it contains NaN or infinite entries")
    return frozen_sparse(csr)
