"""One rule for names: labels of entries, variables, states and actions, and names of records.

Names that a person takes for one are one, or are refused, so that nobody is counted as two:

* Texts are in Unicode's normal form NFC, without white space around them.
* Numbers that are whole are integers: 10, 10.0 and ``numpy.int64(10)`` are one name, as are 0.0 and
  -0.0. Floats of lower precision are the numbers that they print.
* Truth values, times and durations of numpy and Python are one, in every unit.
* All names of one level are of *one kind*: texts, numbers, truth values, dates, times, times with
  a zone, durations, or another type. 10 beside "10", True beside 1 and a date beside its text or
  its midnight are refused.

What is missing (None, NaN, NaT) is no name. In files, times are read as they were written or
refused: nothing is guessed from texts such as "now", and no file is opened for a zone's name.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
import zoneinfo
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from dp_cmdp._src.base import validation as check
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
#: Zones that are a constant offset.
OFFSET = re.compile(r"UTC([+-]\d\d:\d\d)?")


def plain(name: Any) -> Any:
    """A name in its one form; what is no label comes back as it is."""
    if isinstance(name, str):
        return unicodedata.normalize("NFC", str.__str__(name)).strip()
    if isinstance(name, bool | np.bool_):
        return bool(name)
    if check.is_integer(name):
        return int(name)
    if isinstance(name, float | np.floating):
        number = float(name) if isinstance(name, float) else float(str(name))
        whole = number.is_integer() and abs(number) < LARGEST_INTEGER
        return int(number) if whole else number
    if isinstance(name, tuple):
        return tuple(map(plain, name))
    moment = _moment(name)
    return name if moment is None else moment


def _moment(item: Any) -> Any:
    """A date as Python has it, a time or duration as pandas has it; None for anything else."""
    if isinstance(item, dt.date) and not isinstance(item, dt.datetime):
        return item
    if not isinstance(item, dt.datetime | dt.timedelta | np.datetime64 | np.timedelta64):
        return None
    import pandas as pd

    try:
        span = isinstance(item, dt.timedelta | np.timedelta64)
        found = pd.Timedelta(item) if span else pd.Timestamp(item)
    except (ValueError, OverflowError):  # beyond the times that pandas has
        return None
    if found is pd.NaT:
        return None
    zone = None if span else cast(Any, found).tz
    return found if zone is None or _is_zone(str(zone)) else cast(Any, found).tz_convert("UTC")


@cache
def _is_zone(name: str) -> bool:
    """Whether a file may name this zone: pandas would open files for others."""
    return OFFSET.fullmatch(name) is not None or name in zoneinfo.available_timezones()


def kind(name: Any) -> Hashable:
    """What a name in its one form is; of a tuple, what its parts are."""
    if isinstance(name, tuple):
        return ("tuple", *map(kind, name))
    found: Any = type(name)
    for word, types in reversed(KINDS):
        found = word if isinstance(name, types) else found
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


def _shown(name: Any) -> str:
    """A name of a plain type with its kind, or the type."""
    word = kind(name)
    return f"the {word} {name!r}"[:80] if isinstance(word, str) else f"a {type(name).__name__}"


def check_normal(what: str, text: Any) -> str:
    """A text that is in its one form already, as names of groups must be."""
    check.text(what, text)
    if plain(text) != text or not text:
        raise InvalidArgumentError(
            f"{what} must be a text in Unicode's normal form NFC, without white space around it; "
            f"got {text[:60]!r}"
        )
    return text


def is_name(part: Any) -> bool:
    """Whether a name in its one form is of a kind that files keep and that equals its copy."""
    if isinstance(part, tuple):
        return bool(part) and all(map(is_name, part))
    if isinstance(part, float):
        return bool(np.isfinite(part))
    if check.is_integer(part):
        return -LARGEST_INTEGER <= part < LARGEST_INTEGER
    return isinstance(part, bool) or check.is_text(part) or _moment(part) is not None


def packed(label: Any) -> Any:
    """A label for JSON."""
    if isinstance(label, tuple):
        return list(map(packed, label))
    if isinstance(label, dt.timedelta):
        return {"span": cast(Any, label).isoformat()}
    if isinstance(label, dt.datetime):
        moment: Any = label
        if moment.tz is None:
            return {"time": moment.isoformat()}
        return {"time": moment.tz_convert(None).isoformat(), "zone": str(moment.tz)}
    return {"date": label.isoformat()} if isinstance(label, dt.date) else label


def unpacked(said: Any) -> Any:
    """What :func:`packed` wrote, and nothing that is merely read like it."""
    if isinstance(said, list):
        return tuple(unpacked(part) for part in said)
    if not isinstance(said, Mapping):
        return said
    import pandas as pd

    found: Any = None
    if "date" in said:
        found = dt.date.fromisoformat(said["date"])
    elif "span" in said and said["span"].startswith("P"):
        found = pd.Timedelta(said["span"])
    elif said.get("time", "")[:1].isdigit():
        found = pd.Timestamp(said["time"])
        if "zone" in said and _is_zone(said["zone"]):
            found = found.tz_localize("UTC").tz_convert(said["zone"])
    if found is None or packed(found) != said:
        raise InvalidArgumentError("labels must have times as ISO 8601 writes them")
    return found
