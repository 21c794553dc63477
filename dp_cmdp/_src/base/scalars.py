"""Checks of single arguments: flags, numbers, texts, paths, names. No array, no numpy.

Every function takes the argument's *name* and raises :class:`InvalidArgumentError` with a text
that says which rule was broken. Arrays, and these checks too, are in :mod:`dp_cmdp._src.base.check`; the
ledger and its command, which start without numpy, take them from here.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import numbers
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from dp_cmdp._src.base.errors import InvalidArgumentError

#: More things than this are neither kept in memory nor done one by one.
MOST = 10**9
#: Nor are more objects than this read one by one.
MOST_ITEMS = 10**6
#: Lists nested deeper than this have more dimensions than numpy can broadcast.
DEEPEST = 30


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one: "no" and 0-d arrays do not."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{name} must be True or False, got {type(value).__name__}")
    return value


def is_real(value: Any) -> bool:
    """Whether `value` is a real number: no truth value, no duration (an integer to numpy)."""
    return isinstance(value, numbers.Real) and not _counts_as_number(value)


def is_integer(value: Any) -> bool:
    """Whether `value` is an integer: no truth value, no duration (an integer to numpy)."""
    return isinstance(value, numbers.Integral) and not _counts_as_number(value)


def _counts_as_number(value: Any) -> bool:
    """A number to Python or numpy, but not to a person; named, so that numpy is not imported."""
    return isinstance(value, bool) or type(value).__name__ == "timedelta64"


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
        raise InvalidArgumentError(f"{name} must be a text, got {type(value).__name__}")
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


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether `value` maps names to things; a sparse matrix that is a dict to Python does not."""
    return isinstance(value, Mapping) and not type(value).__module__.startswith("scipy.")


def items(name: str, value: Any, *, most: int = MOST_ITEMS) -> tuple[Any, ...]:
    """The items of a list, a tuple or another iterable, of which there are at most `most`.

    A text or a mapping is one thing, not several, and an endless iterator is not waited for.
    """
    found, one = None, isinstance(value, str | bytes | bytearray | Mapping)
    with contextlib.suppress(Exception):
        found = None if one else tuple(itertools.islice(iter(value), most + 1))
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
