"""Plain values out of the dictionaries of a document; what is not as it must be is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

#: Characters of an integer or a fraction written as text.
LONGEST_NUMBER = 400
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"(0|[1-9][0-9]*)(/[1-9][0-9]*)?")


class Refused(ValueError):  # noqa: N818 - a verdict, not a mistake of the program
    """What a file says cannot be so; the text says why."""


def refuse_unless(holds: Any, why: str) -> None:
    if not holds:
        raise Refused(why)


def member(said: Any, name: str) -> Any:
    """The member of that name, which must be there."""
    refuse_unless(isinstance(said, Mapping), f"what should hold {name!r} is no mapping")
    refuse_unless(name in said, f"{name!r} is not there")
    return said[name]


def read(said: Any, **readers: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Every member of a document as its reader reads it; missing and further ones are refused."""
    found = {name: reader(member(said, name), name) for name, reader in readers.items()}
    unknown = sorted(set(map(str, said)) - set(readers))
    refuse_unless(not unknown, f"it says what such a file does not say: {', '.join(unknown)[:200]}")
    return found


def table(
    what: str, columns: Sequence[Sequence[Any]], limits: Sequence[int], *, once: bool = True
) -> list[tuple[Any, ...]]:
    """Rows of a table that is stated by its columns, the first of which are places below limits."""
    refuse_unless(len(set(map(len, columns))) == 1, f"{what} must have columns of one length")
    rows = list(zip(*columns, strict=True))
    places = [row[: len(limits)] for row in rows]
    refuse_unless(
        all(0 <= at < most for place in places for at, most in zip(place, limits, strict=True)),
        f"{what} has a place that does not exist",
    )
    refuse_unless(not once or len(set(places)) == len(places), f"{what} states a place twice")
    return rows


def anything(value: Any, what: str) -> Any:
    """Whatever it is."""
    return value


def text(value: Any, what: str) -> str:
    """A printable text."""
    refuse_unless(isinstance(value, str) and value.isprintable(), f"{what} must be a text")
    return value


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    refuse_unless(isinstance(value, Mapping), f"{what} must be a document")
    return value


def sequence(value: Any, what: str) -> list[Any]:
    refuse_unless(isinstance(value, list), f"{what} must be a list")
    return value


def integer(value: Any, what: str, low: int | None = None) -> int:
    """An integer, or the text of one in the shortest form."""
    if isinstance(value, str):
        short = len(value) <= LONGEST_NUMBER and _INTEGER.fullmatch(value) and value != "-0"
        refuse_unless(short, f"{what} must be an integer")
        value = int(value)
    refuse_unless(type(value) in (int, np.int64), f"{what} must be an integer")
    refuse_unless(low is None or value >= low, f"{what} must be at least {low}")
    return int(value)


def integers(value: Any, what: str) -> list[int]:
    """A vector of integers, as an array or as a list of texts."""
    if hasattr(value, "dtype"):
        refuse_unless(value.ndim == 1 and value.dtype.kind == "i", f"{what} must be integers")
        return [int(each) for each in value]
    return [integer(each, what) for each in sequence(value, what)]


def numbers(value: Any, what: str, *, finite: bool = True) -> list[float]:
    """A vector of floats, none of them NaN."""
    array: Any = value if hasattr(value, "dtype") else np.zeros((0, 0))
    refuse_unless(array.ndim == 1 and array.dtype.kind in "fi", f"{what} must be numbers")
    found = array.astype(np.float64).tolist()
    sound = map(math.isfinite if finite else (lambda each: each == each), found)
    refuse_unless(all(sound), f"{what} must be {'finite' if finite else 'numbers'}")
    return found


def fraction(value: Any, what: str) -> Fraction:
    """A fraction that is not negative, written as text in lowest terms."""
    refuse_unless(
        isinstance(value, str) and len(value) <= LONGEST_NUMBER and _FRACTION.fullmatch(value),
        f"{what} must be a fraction, as text",
    )
    found = Fraction(value)
    refuse_unless(str(found) == value, f"{what} must be written in lowest terms")
    return found


def triples(matrix: Any) -> list[tuple[int, int, Any]]:
    """Row, column and value of every stored entry of a sparse matrix."""
    table = matrix.tocoo()
    parts: list[list[Any]] = [part.tolist() for part in (*table.coords, table.data)]
    return list(zip(*parts, strict=True))
