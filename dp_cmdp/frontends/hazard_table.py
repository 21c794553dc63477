"""Tables of hazards: a DataFrame or a CSV file with the place and the severity of each.

The table is private, and so is which places it names and how many. No text of an error shows any of
it, and no exception of pandas, which quotes what it could not read, is under way when one is
raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.labels import is_default
from dp_cmdp.data.names import plain
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

#: Names of columns → {numbers in them: candidate}. A way that has all columns of another is there
#: to be checked: a table with state, row and col must mean one place by them.
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
    if is_series(hazards) and not _is_unlabelled(hazards, kinds):
        return _of_table(_table(_unfolded(hazards, kinds)), kinds)
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
        known = next((way for way in _naming(columns) if len(way) == len(place)), ())
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


def _naming(columns: Columns) -> list[tuple[str, ...]]:
    """The ways that name a candidate with no column too many."""
    return [way for way in columns if not any(set(other) < set(way) for other in columns)]


def _is_table(value: Any) -> bool:
    return hasattr(type(value), "columns") or hasattr(value, "to_pandas")


def is_series(value: Any) -> TypeGuard[pd.Series]:
    return hasattr(type(value), "index") and hasattr(type(value), "to_frame")


def _is_unlabelled(series: Any, kinds: Mapping[str, Columns]) -> bool:
    """Whether pandas numbered it, and the numbers could not be taken for candidates."""
    if not is_default(series.index):
        return False
    for columns in kinds.values():
        places = [place for place, _ in sorted(next(iter(columns.values())).items(), key=_second)]
        if places != sorted(places) and sorted(places) == [(n,) for n in range(len(places))]:
            raise InvalidArgumentError(
                "hazards must not be a Series without an index of its own here: its numbers from "
                "0 on could be meant as candidates, which are in another order. Give it the "
                "candidates as index, or give a list"
            )
    return True


def _second(item: tuple[Any, int]) -> int:
    return item[1]


def _unfolded(series: Any, kinds: Mapping[str, Columns]) -> Any:
    """A Series as a table: its index names the places, by its names or by their number."""
    width = series.index.nlevels
    ways = [way for c in kinds.values() for way in _naming(c) if len(way) == width]
    fallback = ways[0] if len(kinds) == 1 and ways else (None,) * width
    try:
        given = zip(series.index.names, fallback, strict=True)
        names = [own if own is not None else known for own, known in given]
        return series.rename_axis(names).rename(SEVERITY).reset_index()
    except Exception:
        return None


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

        # refuses lines with more fields than the header, of which the first would become an index
        plain = pandas.read_csv(path, skipinitialspace=True, header=None, dtype=str)
        if not plain.iloc[0].is_unique:
            return None
        return _renamed(pandas.read_csv(path, skipinitialspace=True, index_col=False))
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
        known = (c for c in columns if set(c) <= set(frame.columns))
        chosen = max(known, key=len, default=None)
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
            "not shown): make their places candidates, or remove them. Where a table has state, "
            "row and col, they must mean one place"
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
    return [plain(item) if isinstance(item, str) else "" for item in frame[column].tolist()]


def _no_columns(kinds: Mapping[str, Columns], several: bool) -> InvalidArgumentError:
    more = f" and {KIND!r}" if several else ""
    return InvalidArgumentError(
        f"hazards must have the columns {_wanted(kinds.values())}{more}; some are missing"
    )


def _wanted(columns: Any) -> str:
    ways = dict.fromkeys(" and ".join(map(repr, way)) for one in columns for way in _naming(one))
    return f"{' (or '.join(ways)}{')' * (len(ways) - 1)} and {SEVERITY!r}"
