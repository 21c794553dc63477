"""Tables in: public facts for an envelope.

A table of public facts is public: errors name the column and the label at fault. The index that
pandas gives a table without one, 0, 1, …, is no label: it says where a row stands. Private values
come in through :mod:`dp_cmdp.data.private_frame`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp.data.labels import Axis, Labels, axis_of, is_default, positions
from dp_cmdp.data.records import numbered
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

Facts = Mapping[str, str | float | None]


def envelope_arguments(frame: Any, *, facts: Facts, record: Any, index: Any) -> dict[str, Any]:
    """Arguments of an :class:`Envelope`, from a table of public facts or several wide ones."""
    if _check.is_mapping(frame):
        return _from_wide(frame, facts=facts, record=record, index=index)
    if not is_frame(frame):
        raise foreign("frame", frame, kinds="a DataFrame")
    table = _with_index(frame, index)
    labels = Labels((_axis(table.index, "the index of frame"),))
    columns = {
        name: _numbers(table, name, fact=fact, labels=labels)
        for name, fact in facts.items()
        if fact is not None
    }
    owners = None
    if record is not None:
        owners = numbered(_keys([_owner(table, name) for name in _listed("record", record)]))
    return {**columns, "labels": labels, "records": owners}


def _with_index(frame: pd.DataFrame, index: Any) -> pd.DataFrame:
    """The table, with the columns that are said to be its labels as its index."""
    if index is None:
        return frame
    names = _listed("index", index)
    for name in names:
        _has_column(frame, name, role="index")
    return frame.set_index(names[0] if len(names) == 1 else names)


def _axis(index: pd.Index, what: str) -> Axis:
    """The labels of a public table, if it has any."""
    if is_default(index) and len(index):
        raise InvalidArgumentError(
            f"{what} must hold labels; it only numbers what it stands beside. Say index=… with the "
            "columns that are labels, or frame.set_index(…); if numbers are the labels, name them: "
            'frame.rename_axis("entry")'
        )
    return axis_of(index, name=what)


def _listed(role: str, given: Any) -> list[str]:
    """One name, or several."""
    names = [given] if isinstance(given, str) else list(_check.names(role, given))
    if not names:
        raise InvalidArgumentError(f"{role} must name at least one column")
    return names


def _keys(owners: Sequence[list[Any]]) -> list[Any]:
    """The names of records; tuples, where several columns name them."""
    return owners[0] if len(owners) == 1 else list(zip(*owners, strict=True))


def _has_column(frame: pd.DataFrame, name: str, *, role: str) -> None:
    """Refuse unless a public table has a column of this name, once."""
    count = list(frame.columns).count(name)
    if count == 1:
        return
    others = ", ".join(map(repr, list(frame.columns)[: _check.SHOWN])) or "none"
    fault = f"its columns are {others}" if count == 0 else "it is there more than once"
    number = {"lower": "a number", "upper": "a number", "radius": "a number or None"}.get(role)
    instead = f", or {role}={number}" if number else ""
    raise InvalidArgumentError(
        f"frame must have one column {name!r}; {fault} (say {role}=… if it has another name"
        f"{instead})"
    )


def _numbers(table: pd.DataFrame, role: str, *, fact: str | float, labels: Labels) -> Any:
    """One public fact, as one number or a column of them."""
    if not isinstance(fact, str):
        return fact
    _has_column(table, fact, role=role)
    return _finite(table[fact], f"column {fact!r} of frame", labels)


def _finite(part: Any, what: str, labels: Labels) -> Any:
    """Public numbers of a column or table, as an array; missing ones are named by their labels."""
    missing = np.asarray(part.isna())
    if missing.any():
        at = labels.shown([int(np.argmax(missing))])
        raise InvalidArgumentError(f"{what} must have no missing number; the first is at {at}")
    numbers = part.to_numpy()
    found = _check.float_array(numbers)
    if found is None or numbers.dtype.kind == "b":
        raise InvalidArgumentError(
            f"{what} must hold real numbers, no text (pandas.to_numeric converts it)"
        )
    if not np.isfinite(found).all():
        at = labels.shown([int(np.argmax(~np.isfinite(found)))])
        raise InvalidArgumentError(f"{what} must be finite; the first that is not is at {at}")
    return numbers


def _owner(table: pd.DataFrame, name: str) -> list[Any]:
    """Whose entry each row is: a column, or a level of the index."""
    if list(table.index.names).count(name) == 1:
        return table.index.get_level_values(name).tolist()
    _has_column(table, name, role="record")
    if table[name].isna().any():
        raise InvalidArgumentError(f"column {name!r} of frame must name a record in every row")
    return table[name].tolist()


def _from_wide(
    frames: Mapping[str, Any], *, facts: Facts, record: Any, index: Any
) -> dict[str, Any]:
    """The same from one table per fact, each with one cell per entry."""
    tables = {_check.text("a name of frame", name): frames[name] for name in frames}
    for name, table in tables.items():
        if not is_frame(table):
            raise foreign(f"frame[{name!r}]", table, kinds="a DataFrame")
    tables = {name: _with_index(table, index) for name, table in tables.items()}
    used = [fact for fact in facts.values() if isinstance(fact, str) and fact in tables]
    if not used:
        raise InvalidArgumentError(
            f"frame must hold the tables that lower, upper or radius name; it has "
            f"{', '.join(map(repr, tables)) or 'none'}"
        )
    first = tables[used[0]]
    labels = Labels(
        (
            _axis(first.index, f"the index of frame[{used[0]!r}]"),
            _axis(first.columns, f"the columns of frame[{used[0]!r}]"),
        )
    )
    found: dict[str, Any] = {"labels": labels, "records": None}
    for role, fact in facts.items():
        if isinstance(fact, str):
            part = _aligned(tables, fact, labels, role=role)
            found[role] = _finite(part, f"frame[{fact!r}]", labels)
        elif fact is not None:
            found[role] = fact
    if record is not None:
        owners = [_wide_owner(tables, name, labels) for name in _listed("record", record)]
        found["records"] = numbered(_keys(owners)).reshape(labels.shape)
    return found


def _aligned(tables: Mapping[str, Any], name: str, labels: Labels, *, role: str) -> Any:
    """A public table with its rows and columns in the order of the labels."""
    if name not in tables:
        raise InvalidArgumentError(
            f"frame must hold a table {name!r}; it has {', '.join(map(repr, tables))} (say "
            f"{role}=… if it has another name, or give a number)"
        )
    table = tables[name]
    own = [Labels((axis,)).index() for axis in labels.axes]
    row, col = positions(own[0], table.index), positions(own[1], table.columns)
    if row is None or col is None:
        raise InvalidArgumentError(
            f"frame[{name!r}] must have the rows and columns of the other tables, each once, and "
            "no other names of its axes"
        )
    return table.iloc[row, col]


def _wide_owner(tables: Mapping[str, Any], name: str, labels: Labels) -> list[Any]:
    if name and name in labels.names:
        return labels.index().get_level_values(name).tolist()
    part = _aligned(tables, name, labels, role="record")
    if np.asarray(part.isna()).any():
        raise InvalidArgumentError(f"frame[{name!r}] must name a record in every cell")
    return [item for row in part.to_numpy(dtype=object).tolist() for item in row]


def is_frame(table: Any) -> bool:
    import pandas as pd

    return isinstance(table, pd.DataFrame)


def foreign(what: str, table: Any, *, kinds: str) -> InvalidArgumentError:
    """The refusal of what is no table of pandas, such as one of another library."""
    return InvalidArgumentError(
        f"{what} must be {kinds} of pandas, got {type(table).__name__} of "
        f"{type(table).__module__} (many libraries have frame.to_pandas())"
    )
