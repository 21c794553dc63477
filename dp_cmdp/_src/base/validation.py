"""Arguments of the public face are validated here, and nowhere else.

``@validated`` refuses whatever is wrong with the *kind* of an argument (a text where a flag is
meant, an array for a number, another object than the one named) before the body runs, in one way,
so that nothing is read or spent for a call that cannot be answered. The functions below check
single arguments: each takes the argument's *name* and raises :class:`InvalidArgumentError`, of
wrong kinds :class:`InvalidTypeError`, with a text that says which rule was broken. Arrays come back
read-only. ``private=True`` keeps the offending value out of the text.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial, wraps
from itertools import chain, repeat
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ParamSpec, TypeGuard, TypeVar, cast, get_origin

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError

#: More things than this are neither kept in memory nor done one by one.
MOST = 10**9
#: Nor are more objects than this read one by one.
MOST_ITEMS = 10**6
#: Lists nested deeper than this have more dimensions than numpy can broadcast.
DEEPEST = 30
#: States, names or draws that a message lists: as many as fit on a line.
SHOWN = 8


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one: "no" and 0-d arrays do not."""
    if not isinstance(value, bool):
        raise InvalidTypeError(f"{name} must be True or False, got {type(value).__name__}")
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
        raise InvalidTypeError(f"{name} must be a real number, got {type(value).__name__}")
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
        raise InvalidTypeError(f"{name} must be an integer, got {type(value).__name__}")
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


def listed(texts: Iterable[str], *, between: str = ", ") -> str:
    """The first of some texts, and how many there are besides."""
    found = list(texts)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return between.join(found[:SHOWN]) + more


def shown(number: int) -> str:
    """Text of an integer of any size; Python itself refuses beyond 4,300 digits."""
    if number.bit_length() <= 64:
        return str(number)
    return f"an integer of 2^{number.bit_length() - 1} in size or more"


def is_text(value: Any) -> bool:
    """Whether `value` is a text that can be written down."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def text(name: str, value: Any) -> str:
    """A text that can be written down: no lone surrogates, which no file takes."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be a text, got {type(value).__name__}")
    if not is_text(value):
        raise InvalidArgumentError(f"{name} must be a text of valid characters")
    return value


def text_of(foreign: Any) -> str:
    """The text of an exception or object of somebody else, which may fail to give one."""
    try:
        return str(foreign)
    except Exception:
        return "without text"


def path(name: str, value: Any) -> Path:
    """The name of a file or folder that an operating system can take."""
    if not isinstance(value, str | Path):
        raise InvalidTypeError(
            f"{name} must be a path (text or pathlib.Path), got {type(value).__name__}"
        )
    text(name, str(value))
    parts = Path(value).parts
    if not str(value) or "\0" in str(value) or any(len(part.encode()) > 255 for part in parts):
        raise InvalidArgumentError(
            f"{name} must be a path whose parts have 1 to 255 bytes, none of them NUL"
        )
    return Path(value)


def is_sparse(value: Any) -> bool:
    """Whether `value` is a sparse matrix of scipy."""
    return sparse.issparse(value)


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether `value` maps names to things; a sparse matrix that is a dict to Python does not."""
    return isinstance(value, Mapping) and not type(value).__module__.startswith("scipy.")


def is_table(data: Any) -> bool:
    """Whether `data` is a DataFrame or a Series of pandas, which is not imported to find out."""
    for kind in type(data).__mro__:
        if kind.__module__.split(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
            return True
    return False


def items(name: str, value: Any, *, most: int = MOST_ITEMS) -> tuple[Any, ...]:
    """The items of a list, a tuple or another iterable, of which there are at most `most`.

    A text or a mapping is one thing, not several, and an endless iterator is not waited for.
    """
    found, one = None, isinstance(value, str | bytes | bytearray | Mapping)
    with contextlib.suppress(Exception):
        found = None if one else tuple(itertools.islice(iter(value), most + 1))
    if found is None:
        raise InvalidTypeError(f"{name} must be a sequence, got {type(value).__name__}")
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
        raise InvalidTypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")


FloatArray = NDArray[np.float64]

#: numpy's kinds of truth values, integers and floats.
REAL_KINDS = "biuf"
PLAIN_ARRAYS = (np.ndarray, np.memmap, np.matrix)
PLAIN_NUMBERS = {bool, int, float, np.float64, np.int64, Fraction}
#: A list or range of more numbers than this is a mistake; arrays may be as long as they are.
LONGEST = 10**8
TABLE = (
    'got a table: name its columns, for example table["price"].to_numpy(), or pass a mapping '
    "from group to column (Envelope.from_frame and Database take tables)"
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
        raise InvalidTypeError(
            f"{name} must be a numpy.random.Generator (for example numpy.random.default_rng(0)), "
            f"got {type(value).__name__}"
        )
    return value


def truth(name: str, value: Any) -> bool:
    """True or False as environments say it: also numpy's, 0 and 1."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_ | np.ndarray) and value.ndim == 0 and value.dtype.kind == "b":
        return bool(value)
    return bool(value) if is_integer(value) and value in (0, 1) else flag(name, value)


def number(name: str, value: Any) -> float:
    """A number as environments say it: also an array of one."""
    if type(value) is float and math.isfinite(value):
        return value
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
    try:
        return LONG if len(value) > LONGEST else None
    except OverflowError:
        return LONG
    except Exception:
        return None


def _why_no_items(value: list[Any] | tuple[Any, ...], depth: int) -> str | None:
    if set(map(type, value)) <= PLAIN_NUMBERS:
        return None
    if depth > DEEPEST:
        return f"got lists nested more than {DEEPEST} deep"
    reasons = (why_no_array(item, depth=depth + 1) for item in value)
    return next((reason for reason in reasons if reason is not None), None)


def array(name: str, value: Any, *, what: str = "an array of real numbers") -> FloatArray:
    """A new float array of any shape."""
    found = float_array(value)
    if found is None:
        raise no_array(name, value, what=what)
    return found


def private_array(name: str, value: Any) -> FloatArray:
    """A new float array of private values, of any shape: no truth values, nothing quoted."""
    found = float_array(value)
    if found is None:
        raise no_array(name, value, what=PURE)
    plain = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    for item in () if plain else _items(value):
        if not (is_real(item) or isinstance(item, Decimal)):
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
    return InvalidTypeError(f"{name} must be {what}" + (f"; {reason}" if reason else ""))


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


P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument may be: in words, and as a test, which what it raises fails."""

    word: str
    test: Callable[[Any], bool]


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, with the kind of every argument checked against its annotation.

    An annotation is a union of kinds: those of :data:`KINDS` (``float`` is a finite real number
    and ``int`` an integer, of Python or numpy, and neither is a truth value), of
    :data:`COLLECTIONS`, and classes. Names that are imported for type checkers only are compared
    with the names of an argument's class and of its bases.
    """
    rules = cache(partial(_rules, function))  # asked when all names of annotations are known

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        order, kinds = rules()
        for name, value in (*zip(order(), given, strict=False), *named.items()):
            if name in kinds and not _accepted(value, kinds[name]):
                raise _refusal(name, value, kinds[name])
        return function(*given, **named)

    return cast(Callable[P, R], checked)


def _accepted(value: Any, kinds: list[Kind]) -> bool:
    """Whether a value is of one of some kinds."""
    for kind in kinds:
        with contextlib.suppress(Exception):
            if kind.test(value):
                return True
    return False


def _rules(function: Callable[..., Any]) -> tuple[Any, dict[str, list[Kind]]]:
    """Names of positional arguments, and the kinds of every argument that says what it is."""
    scope = inspect.unwrap(function).__globals__
    kinds: dict[str, list[Kind]] = {}
    names: list[str] = []
    more: list[Iterable[str]] = []
    for p in inspect.signature(function).parameters.values():
        if p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD:
            kinds[p.name] = list(map(partial(_kind, scope), _texts(str(p.annotation))))
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            names.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            more.append(repeat(p.name))
    return partial(chain, names, *more), kinds


def _texts(annotation: str) -> list[str]:
    """The kinds of a union: split at each | outside of brackets."""
    outside, depth = "", 0
    for sign in annotation:
        depth += (sign == "[") - (sign == "]")
        outside += sign if depth == 0 and sign != "]" else ""
    return outside.replace(" ", "").split("|")


def _kind(scope: Mapping[str, Any], text: str) -> Kind:
    if text in KINDS:
        return KINDS[text]
    name = text.split(".")[-1]
    word = f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    try:
        found = eval(text, dict(scope))  # an annotation in this package's own source
    except (NameError, AttributeError):
        return Kind(word, lambda value: any(t.__name__ == name for t in type(value).__mro__))
    origin = get_origin(found) or found
    if origin in COLLECTIONS:
        return COLLECTIONS[origin]
    if getattr(origin, "__name__", None) == "ndarray":
        return Kind("a numpy array of numbers", _is_array)
    return Kind(word, origin.__instancecheck__) if isinstance(origin, type) else KINDS["Any"]


def _refusal(name: str, value: Any, kinds: list[Kind]) -> InvalidTypeError:
    wanted = " or ".join(dict.fromkeys(kind.word for kind in kinds))
    found = type(value).__name__
    if isinstance(value, float) and NUMBER in kinds:
        found = str(float(value))
    reason = why_no_array(value) if ARRAY in kinds else None
    return InvalidTypeError(f"{name} must be {wanted}; {reason or f'got {found}'}")


def _is_array(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray)
    return is_array and why_no_array(value) is None and value.dtype.kind in REAL_KINDS


NUMBER = Kind("a finite real number", lambda x: is_real(x) and math.isfinite(float(x)))
ARRAY = Kind("an array of real numbers", lambda value: why_no_array(value) is None)
#: Kinds by the name they have in annotations.
KINDS = {
    "Any": Kind("anything", lambda value: True),
    "ArrayLike": ARRAY,
    "None": Kind("None", lambda value: value is None),
    "Number": Kind("a number", lambda x: is_real(x) or isinstance(x, str | Decimal)),
    "Path": Kind("a path", lambda value: isinstance(value, Path)),
    "PathLike": Kind("a path", lambda x: isinstance(x, PathLike) and isinstance(fspath(x), str)),
    "bool": Kind("True or False", lambda value: isinstance(value, bool)),
    "float": NUMBER,
    "int": Kind("an integer", is_integer),
    "np.random.Generator": Kind(
        "a numpy.random.Generator (for example numpy.random.default_rng(0))",
        lambda value: any(base.__name__ == "Generator" for base in type(value).__mro__),
    ),
    "str": Kind("a text", is_text),
}
#: Kinds of collection, by what the outer name of an annotation stands for.
COLLECTIONS: dict[Any, Kind] = {
    Callable: Kind("a function", callable),
    Iterable: Kind(
        "a sequence", lambda x: isinstance(x, Iterable) and not isinstance(x, str | bytes | Mapping)
    ),
    Mapping: Kind("a mapping", is_mapping),
    Sequence: Kind(
        "a sequence",
        lambda x: isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray),
    ),
    dict: Kind("a mapping", is_mapping),
    tuple: Kind("a tuple", lambda value: isinstance(value, tuple | list)),
}
