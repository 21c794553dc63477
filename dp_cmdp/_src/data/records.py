"""Records: whose entries are whose, by names of any type.

Entries whose names are equal are one record, which privacy protects as a whole. Names have one form
and are of one kind (:mod:`dp_cmdp._src.data.labels`). Whoever's name does not equal itself (NaN,
also inside a tuple), or equals nothing but the very same object, would be several records, each
protected alone: what is no text, number, truth value or time is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.labels import Labels, flat_index, is_name, level_names, plain, refuse_kinds

KINDS = "texts, numbers, truth values, dates, times, or tuples of these"


def owners_of(names: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The record of each entry of several groups, numbered from 0; equal names are one record."""
    whole = np.concatenate(names)
    if whole.dtype.kind == "i":
        return np.unique(whole, return_inverse=True)[1].astype(np.int64)
    keys = [plain(key) for key in whole.tolist()]
    for key in keys:
        if not is_name(key):
            raise InvalidArgumentError(
                f"names of records must be {KINDS}, none of them missing, or one person would be "
                f"several records; got {type(key).__name__} (convert others, for example to texts)"
            )
    refuse_kinds("names of records", keys)
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def names_by_level(level: str, groups: Mapping[str, Labels]) -> list[NDArray[Any]]:
    """Names of records of several groups: a level that the labels of all of them have."""
    found = []
    for group, labels in groups.items():
        names = level_names(labels)
        if not level or level not in names:
            raise InvalidArgumentError(
                f"records must name a level of the labels of every group; {group!r} has "
                f"{', '.join(map(repr, names)) or 'no labels'}, not {level!r}"
            )
        keys = flat_index(labels).get_level_values(level).tolist()
        found.append(_objects(keys, (len(keys),)))
    return found


def record_names(what: str, given: Any, *, group: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """One name per entry of a group, as a flat array of integers or of objects.

    Lists and arrays are nested as the group is, and broadcast to it. A tuple in a list is a name,
    unless it holds integers only; such names do not broadcast: whether ``(("a", "b"), …)`` are
    names or rows must not be guessed.
    """
    if (reason := check.why_no_array(given)) is not None:
        raise InvalidArgumentError(f"{what} must hold {KINDS}; {reason}")
    found = _array(given)
    if found is not None and found.dtype.kind in "iu" and not _holds_truth(given):
        names: NDArray[Any] = check.integers(what, given)
    else:
        names = _nested(what, given)
    if names.shape != shape and any(isinstance(name, tuple) for name in names.flat):
        raise InvalidArgumentError(
            f"{what} must have the shape {shape} of the group {group!r} where tuples are names, "
            f"got {names.shape} (rows are lists)"
        )
    try:
        return np.broadcast_to(names, shape).ravel()
    except ValueError:
        raise InvalidArgumentError(
            f"{what} must broadcast to the shape {shape} of the group {group!r}, got {names.shape}"
        ) from None


def _holds_truth(given: Any) -> bool:
    """Whether a list has truth values beside integers: numpy makes integers of them."""
    flat = [] if isinstance(given, np.ndarray) else np.asarray(given, dtype=object).flat
    return any(isinstance(item, bool | np.bool_) for item in flat)


def _nested(what: str, given: Any, *, depth: int = 0) -> NDArray[Any]:
    """Names as an array of objects: lists are its axes."""
    if not isinstance(given, str | list | tuple) and hasattr(type(given), "__array__"):
        given = _array(given)
    if isinstance(given, np.ndarray) and given.size <= check.LONGEST:
        flat = given.ravel()  # times as they are: as objects they would be integers
        return _objects(list(flat) if flat.dtype.kind in "mM" else flat.tolist(), given.shape)
    if isinstance(given, str) or check.is_integer(given):
        return _objects([given], ())
    if not isinstance(given, list | tuple) or depth > check.DEEPEST:
        raise InvalidArgumentError(
            f"{what} must be a list or array of {KINDS}, got {type(given).__name__}"
        )
    if not any(isinstance(item, list | np.ndarray) for item in given):
        return _objects(given, (len(given),))
    rows = [_nested(what, item, depth=depth + 1) for item in given]
    if len({row.shape for row in rows}) > 1:
        raise InvalidArgumentError(f"{what} must have rows of one length")
    return np.stack(rows)


def _array(given: Any) -> NDArray[Any] | None:
    """What numpy reads, as a plain array; its errors, and those of `given`, end here."""
    try:
        return np.asarray(np.asarray(given).view(np.ndarray))
    except Exception:
        return None


def _objects(items: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    found = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        found[place] = plain(item)
    return found.reshape(shape)
