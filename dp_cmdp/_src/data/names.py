"""One rule for names: labels of entries, variables, states and actions, and names of records.

Names that a person takes for one are one, or are refused, so that nobody is counted as two:

* Texts are in Unicode's normal form NFC, without white space around them.
* Numbers that are whole are integers: 10, 10.0 and ``numpy.int64(10)`` are one name, as are 0.0 and
  -0.0. Floats of lower precision are the numbers that they print.
* Truth values, times and durations of numpy and Python are one, in every unit.
* All names of one level are of *one kind*: texts, numbers, truth values, dates, times, times with
  a zone, durations, or another type. 10 beside "10", True beside 1 and a date beside its text or
  its midnight are refused.

What is missing (None, NaN, NaT) is no label; :mod:`dp_cmdp.data.records` refuses it too.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.data.moments import plain_moment
from dp_cmdp._src.base.errors import InvalidArgumentError

LARGEST_INTEGER = 2**63
#: Kinds of names, the first that fits: a truth value is an integer to Python, a time is a date.
KINDS: tuple[tuple[str, Any], ...] = (
    ("truth value", bool),
    ("text", str),
    ("number", int | float),
    ("time", dt.datetime),
    ("date", dt.date),
    ("duration", dt.timedelta),
)


def plain(name: Any) -> Any:
    """A name in its one form; what is no label comes back as it is."""
    if isinstance(name, str):
        return unicodedata.normalize("NFC", str.__str__(name)).strip()
    if isinstance(name, bool | np.bool_):
        return bool(name)
    if check.is_integer(name):
        return int(name)
    if isinstance(name, float | np.floating):
        return _plain_float(name)
    if isinstance(name, tuple):
        return tuple(map(plain, name))
    if isinstance(name, frozenset):
        return frozenset(map(plain, name))
    moment = plain_moment(name)
    return name if moment is None else moment


def _plain_float(name: Any) -> int | float:
    number = float(name) if isinstance(name, float) else float(str(name))
    whole = number.is_integer() and abs(number) < LARGEST_INTEGER
    return int(number) if whole else number


def kind(name: Any) -> Hashable:
    """What a name in its one form is; of one with parts, what they are."""
    if isinstance(name, tuple):
        return ("tuple", *map(kind, name))
    if isinstance(name, frozenset):
        return "set", frozenset(map(kind, name))
    if is_dataclass(name):
        return type(name), *(kind(getattr(name, part.name)) for part in fields(name))
    found = next((word for word, types in KINDS if isinstance(name, types)), type(name))
    return "time with a zone" if found == "time" and name.tzinfo is not None else found


def refuse_kinds(what: str, names: Iterable[Any]) -> None:
    """Refuse names, each in its one form, that are not all of one kind."""
    kinds: dict[Hashable, Any] = {}
    for name in names:
        kinds.setdefault(kind(name), name)
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise InvalidArgumentError(
            f"{what} must all be of one kind (text, number, truth value, date, time, …), or one "
            f"person could be counted as two; got {_shown(one)} and {_shown(other)}: write all in "
            "one way, for example as texts"
        )


def check_normal(what: str, text: str) -> str:
    """A text that is in its one form already, as names of groups must be."""
    check.text(what, text)
    if plain(text) != text:
        raise InvalidArgumentError(
            f"{what} must be in Unicode's normal form NFC, without white space around it; got "
            f"{text[:60]!r}"
        )
    return text


def _shown(name: Any) -> str:
    """A name of a plain type with its kind, or the type."""
    word = kind(name)
    return f"the {word} {name!r}"[:80] if isinstance(word, str) else f"a {type(name).__name__}"
