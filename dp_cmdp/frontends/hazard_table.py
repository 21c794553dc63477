"""Tables of hazards: a DataFrame or a CSV file with the place and the severity of each.

The table is private, and so is which places it names and how many. No text of an error shows any of
it, and no exception of pandas, which quotes what it could not read, is under way when one is
raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError

#: Names of columns → {numbers in them: candidate}.
Columns = Mapping[tuple[str, ...], Mapping[tuple[int, ...], int]]
#: Severities by candidate.
Found = dict[int, float]
SEVERITY, KIND = "severity", "kind"
#: Other names of columns.
ALIASES = {"column": "col"}


def read_severities(hazards: Any, kinds: Mapping[str, Columns]) -> dict[str, Found]:
    """Severities by kind and candidate, of whatever form hazards are given in."""
    if not kinds:
        raise InvalidArgumentError("hazards must be left to models with private severities")
    if isinstance(hazards, str | Path) or _is_table(hazards):
        return _of_table(_table(hazards), kinds)
    if _check.is_mapping(hazards):
        return _of_mapping(hazards, kinds)
    if len(kinds) > 1:
        raise InvalidArgumentError(
            f"hazards must say which are of which kind: a mapping with {', '.join(kinds)}, or a "
            f"table with a column {KIND!r}"
        )
    return {name: _of_numbers(hazards, columns) for name, columns in kinds.items()}


def _of_mapping(hazards: Mapping[Any, Any], kinds: Mapping[str, Columns]) -> dict[str, Found]:
    """By kind; or, of a single kind, by place."""
    listed = _listed(hazards)
    if listed is not None and set(listed) == set(kinds):
        return {
            name: read_severities(listed[name], {name: columns})[name]
            for name, columns in kinds.items()
        }
    (name, columns), *others = kinds.items()
    places = None if listed is None or others else _placed(listed)
    if places is None:
        raise InvalidArgumentError(
            f"hazards must map each kind ({', '.join(kinds)}) to its hazards, or (of one kind) "
            "each place, a state or (row, column), to a severity"
        )
    found: Found = {}
    for place, severity in zip(places, _severities(listed), strict=True):
        known = next((way for way in columns if len(way) == len(place)), ())
        _put(found, columns.get(known, {}).get(place), severity, name)
    return {name: found}


def _listed(hazards: Mapping[Any, Any]) -> dict[Any, Any] | None:
    try:
        return dict(hazards.items())
    except Exception:
        return None


def _placed(listed: dict[Any, Any]) -> list[tuple[int, ...]] | None:
    places = [place if isinstance(place, tuple) else (place,) for place in listed]
    whole = all(_check.is_integer(part) for place in places for part in place)
    return [tuple(map(int, place)) for place in places] if whole else None


def _severities(listed: Any) -> list[float]:
    numbers = _check.private_array("hazards", list(listed.values()))
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidArgumentError("hazards must map places to finite numbers (not shown)")
    return numbers.tolist()


def filled_severities(name: str, found: Found, bounds: Envelope) -> FloatArray:
    """One severity per candidate, the lowest where none is named, if all are within bounds."""
    values = bounds.lower.copy()
    values[list(found)] = list(found.values())
    if not bounds.contains(values):
        low, high = bounds.lower.min(), bounds.upper.max()
        raise InvalidArgumentError(
            f"severity of {name!r} must lie in its public bounds, from {low:g} to {high:g}; some "
            "value does not (it is not shown): clip it or widen the bounds"
        )
    return values


def _of_numbers(hazards: Any, columns: Columns) -> Found:
    count = len(next(iter(columns.values())))
    numbers = _check.private_array("hazards", hazards).ravel()
    if numbers.size != count:
        raise InvalidArgumentError(
            f"hazards must hold {count} severities, one per candidate, or be a table with the "
            f"columns {_wanted([columns])}"
        )
    return dict(enumerate(numbers.tolist()))


def _is_table(value: Any) -> bool:
    return hasattr(type(value), "columns") or hasattr(value, "to_pandas")


def _table(hazards: Any) -> Any:
    """The table as a DataFrame, its columns named as here; None if it cannot be read."""
    if isinstance(hazards, str | Path):
        source = _check.path("hazards", hazards)
        if not _is_file(source):
            raise InvalidArgumentError(
                f"hazards must name a CSV file that can be read; {source.name} cannot"
            )
        found = _read(source)
    else:
        found = _renamed(hazards)
    if found is None:
        raise InvalidArgumentError(
            "hazards must be a table with named columns (a CSV file with a header, or a "
            "DataFrame); what was given cannot be read as one (it is not shown)"
        )
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _read(path: Path) -> Any:
    try:
        import pandas

        return _renamed(pandas.read_csv(path, skipinitialspace=True))
    except Exception:
        return None


def _renamed(table: Any) -> Any:
    try:
        frame = table.to_pandas() if hasattr(table, "to_pandas") else table
        names = {column: str(column).strip().lower() for column in frame.columns}
        frame = frame.rename(columns={c: ALIASES.get(name, name) for c, name in names.items()})
        return frame if frame.columns.is_unique else None
    except Exception:
        return None


def _of_table(frame: Any, kinds: Mapping[str, Columns]) -> dict[str, Found]:
    several = len(kinds) > 1
    if SEVERITY not in frame.columns or (several and KIND not in frame.columns):
        raise _no_columns(kinds, several)
    owners = _texts(frame, KIND) if several else [next(iter(kinds))] * len(frame)
    severities = _numbers(frame, SEVERITY)
    if not set(owners) <= set(kinds):
        raise InvalidArgumentError(
            f"hazards must be of the kinds {', '.join(kinds)}; some are of another (not shown)"
        )
    found: dict[str, Found] = {name: {} for name in kinds}
    for name, columns in kinds.items():
        chosen = next((c for c in columns if set(c) <= set(frame.columns)), None)
        if chosen is None:
            raise _no_columns(kinds, several)
        mine = [row for row, owner in enumerate(owners) if owner == name]
        numbers = [_whole(frame, column, mine) for column in chosen]
        for row, place in zip(mine, zip(*numbers, strict=True), strict=True):
            _put(found[name], columns[chosen].get(place), severities[row], name)
    return found


def _put(found: Found, candidate: int | None, severity: float, name: str) -> None:
    if candidate is None:
        raise InvalidArgumentError(
            f"hazards of kind {name!r} must lie in its public candidates; some do not (where is "
            "not shown): make their places candidates, or remove them"
        )
    if candidate in found:
        raise InvalidArgumentError(
            f"hazards of kind {name!r} must name each place once; some place is named twice "
            "(which is not shown)"
        )
    found[candidate] = severity


def _numbers(frame: Any, column: str) -> list[float]:
    numbers = _check.float_array(frame[column].to_numpy())
    if numbers is None or not np.isfinite(numbers).all() or frame[column].dtype.kind == "b":
        raise InvalidArgumentError(
            f"the column {column!r} of hazards must hold finite numbers; some are not (which is "
            "not shown)"
        )
    return numbers.tolist()


def _whole(frame: Any, column: str, rows: list[int]) -> list[int]:
    numbers = np.array(_numbers(frame.iloc[rows], column))
    if (numbers % 1.0 != 0.0).any():
        raise InvalidArgumentError(
            f"the column {column!r} of hazards must hold whole numbers; some are not (which is "
            "not shown)"
        )
    return [int(number) for number in numbers]


def _texts(frame: Any, column: str) -> list[str]:
    return [item.strip() if isinstance(item, str) else "" for item in frame[column].tolist()]


def _no_columns(kinds: Mapping[str, Columns], several: bool) -> InvalidArgumentError:
    more = f" and {KIND!r}" if several else ""
    return InvalidArgumentError(
        f"hazards must have the columns {_wanted(kinds.values())}{more}; some are missing"
    )


def _wanted(columns: Any) -> str:
    ways = dict.fromkeys(" and ".join(map(repr, way)) for one in columns for way in one)
    return f"{' (or '.join(ways)}{')' * (len(ways) - 1)} and {SEVERITY!r}"
