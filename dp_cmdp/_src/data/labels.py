"""Labels: what a user calls the entries of a group, or the variables of a program.

An array of shape (n, m) has one axis of n labels and one of m, as a table has rows and columns:
each axis is a :class:`pandas.Index`, of one level or of several. Labels are public, like everything
an envelope says, and have one form (:mod:`dp_cmdp._src.data.labels`).

One rule for names: labels of entries, variables, states and actions, and names of records.

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
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

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


Labels = tuple["pd.Index", ...]
WRITTEN = "texts, integers, floats, truth values, dates, times, durations, or tuples of these"
#: Labels that a message shows: as many as fit on a line.
SHOWN = 3


def labels_of(given: Any, *, name: str = "labels") -> Labels:
    """Labels as a caller states them: one Index per axis, or none.

    A sequence or a pandas Index is one axis; a mapping has one axis per item, with its name.
    """
    if given is None or (isinstance(given, tuple) and not given):
        return ()
    if check.is_mapping(given):
        if not given:
            raise InvalidArgumentError(f"{name} must have at least one axis")
        found = ()
        for key, part in given.items():
            level = check_normal(f"an axis of {name}", key)
            found += (axis_of(part, name=f"{name}[{key!r}]", level=level),)
    else:
        found = (axis_of(given, name=name),)
    names = list(filter(None, level_names(found)))
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"{name} must have levels of different names, got {', '.join(names)}"
        )
    return found


def axis_of(given: Any, *, name: str, level: str = "") -> pd.Index:
    """The Index of a sequence or a pandas Index, every label in its one form."""
    if hasattr(type(given), "columns") or isinstance(given, set | frozenset):
        raise InvalidArgumentError(
            f"{name} must be a sequence in order, or an Index; got {type(given).__name__} (of a "
            "table, pass frame.index)"
        )
    names = ["" if part is None else plain(str(part)) for part in getattr(given, "names", ())]
    found = [_label(item, name=name) for item in check.items(name, given)]
    if not found:
        raise InvalidArgumentError(f"{name} must hold at least one label")
    widths = {len(label) if isinstance(label, tuple) else 0 for label in found}
    if len(widths) > 1:
        raise InvalidArgumentError(f"{name} must be tuples of one length, or no tuples at all")
    refuse_kinds(name, found)
    if len(set(found)) < len(found):
        seen: set[Any] = set()
        twice = next(label for label in found if label in seen or seen.add(label))
        raise InvalidArgumentError(f"{name} must be distinct; {twice!r} is there twice")
    levels = max(1, widths.pop())
    names = [level] if level and levels == 1 else names
    return index_of(found, names if len(names) == levels else [""] * levels)


def index_of(labels: list[Any], names: Sequence[str]) -> pd.Index:
    import pandas as pd

    levels = [labels] if len(names) == 1 else list(zip(*labels, strict=True))
    parts = [
        pd.Index(list(level), name=name or None, tupleize_cols=False)
        for level, name in zip(levels, names, strict=True)
    ]
    return parts[0] if len(parts) == 1 else pd.MultiIndex.from_arrays(parts)


def _label(item: Any, *, name: str) -> Any:
    """A label in its one form, or a refusal."""
    label = plain(item)
    flat = not (isinstance(label, tuple) and any(isinstance(part, tuple) for part in label))
    if flat and is_name(label):
        return label
    if isinstance(label, str):
        check.text(f"an item of {name}", label)
    raise InvalidArgumentError(
        f"{name} must be {WRITTEN}, none of them missing; got "
        f"{item if isinstance(item, float) else type(item).__name__} (convert others, for "
        "example with frame.index.map(str); several axes are a mapping from name to labels)"
    )


def shape_of(labels: Labels) -> tuple[int, ...]:
    """Number of labels along each axis."""
    return tuple(len(axis) for axis in labels)


def level_names(labels: Labels, form: Callable[[str], str] = plain) -> list[str]:
    """Names of all levels, axis by axis; "" for none."""
    names = [name for axis in labels for name in axis.names]
    return ["" if name is None else form(str(name)) for name in names]


def flat_index(labels: Labels) -> pd.Index:
    """One label per entry in row-major order: an Index, or a MultiIndex."""
    import pandas as pd

    if len(labels) == 1:
        return labels[0]
    sizes = shape_of(labels)
    places = np.unravel_index(np.arange(prod(sizes)), sizes)
    levels = [
        axis.get_level_values(number).take(place)
        for axis, place in zip(labels, places, strict=True)
        for number in range(axis.nlevels)
    ]
    return pd.MultiIndex.from_arrays(levels)


def label_at(labels: Labels, entry: int) -> str:
    """The label of one entry, for messages."""
    index = flat_index(labels)
    return ", ".join(map(str, index[entry] if index.nlevels > 1 else [index[entry]]))


def pack_labels(labels: Labels) -> list[dict[str, Any]]:
    """Labels for a file."""
    found = []
    for axis in labels:
        said = list(map(packed, map(plain, axis.tolist())))
        found.append({"names": level_names((axis,), str), "labels": said})
    return found


def unpack_labels(said: Sequence[Any]) -> Labels:
    """What :func:`pack_labels` wrote, checked again."""
    found = []
    for part in said:
        axis = axis_of([unpacked(label) for label in part["labels"]], name="labels")
        names = check.names("names of labels", part["names"])
        if len(names) != axis.nlevels:
            raise InvalidArgumentError("labels must have one name per level")
        found.append(index_of([plain(label) for label in axis.tolist()], names))
    return tuple(found)


def is_default(index: pd.Index) -> bool:
    """Whether pandas numbered the rows by itself: 0, 1, … without a name. Such labels say nothing.

    Two tables with such indices would be matched by place, whatever their rows are about.
    """
    import pandas as pd

    if not isinstance(index, pd.RangeIndex) or index.name is not None:
        return False
    return (index.start, index.step) == (0, 1)
