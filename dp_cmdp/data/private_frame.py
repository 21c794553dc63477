"""Tables in: the private values of a database.

Rows are found by their labels, never by their place, so a shuffled table says the same.

**What an error may say.** Of a private table, even which labels it has may be private (a row exists
because somebody is a patient). An error says that its labels are not those of the envelope, with
one text whatever the difference is: not which are missing, unknown or there twice, nor how many.
No error of pandas leaves: its text may quote a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.envelope import Envelope, Shape
from dp_cmdp.data.from_frame import foreign, is_frame
from dp_cmdp.data.labels import Labels, level_names, positions
from dp_cmdp.errors import InvalidArgumentError

#: Where the values are, unless said otherwise or in a column named as their group.
VALUE = "value"


def private_values(frame: Any, envelope: Envelope, *, column: str | None) -> dict[str, Any]:
    """The private values of every group, in the order of the envelope's entries.

    Groups without labels take arrays, as :class:`~dp_cmdp.data.database.Database` does.
    """
    groups = dict(zip((name for name, _ in envelope.groups), envelope.labels, strict=True))
    if not any(groups.values()):
        raise InvalidArgumentError(
            "envelope must have labels, by which a table is read: make it with Envelope.from_frame "
            "or with labels=… (arrays are read by position: Database(values, envelope))"
        )
    given = _by_group(frame, list(groups))
    shapes = dict(envelope.groups)
    return {
        name: _group_values(given[name], name, labels, shape=shapes[name], column=column)
        if labels
        else given[name]
        for name, labels in groups.items()
    }


def _by_group(frame: Any, names: list[str]) -> dict[str, Any]:
    if not _check.is_mapping(frame):
        if len(names) > 1:
            raise InvalidArgumentError(
                f"frame must be a mapping with one table for each of the groups {', '.join(names)}"
            )
        return {names[0]: frame}
    try:
        given = {name: frame[name] for name in names} if set(frame) == set(names) else None
    except Exception:
        given = None
    if given is None:
        raise InvalidArgumentError(f"frame must name exactly the groups {', '.join(names)}")
    return given


def _group_values(
    table: Any, name: str, labels: Labels, *, shape: Shape, column: str | None
) -> FloatArray:
    what = f"frame[{name!r}]"
    if not (is_frame(table) or _is_series(table)):
        raise foreign(what, table, kinds="a DataFrame or Series")
    names = (name, VALUE) if column is None else (column,)
    there = _column(table, names)
    wide = len(labels.axes) == 2
    if there is None and not wide:
        raise InvalidArgumentError(
            f"{what} must have one column {' or '.join(map(repr, dict.fromkeys(names)))} (say "
            "column=… if it has another name)"
        )
    found = _found_cells(table, labels, there)
    if found is None:
        form = "one row and one column for each label" if wide else "one row for each label"
        raise InvalidArgumentError(
            f"{what} must have {form} of the envelope, and no other. Labels are in its index, or "
            "in columns that have their names, and of the same type (1 is not '1'); an index that "
            f"only numbers the rows is none{_called(labels)}. What is missing, unknown or there "
            "twice may be private and is not shown: compare with envelope.to_frame().index"
        )
    return _check.private_array(what, found).reshape(shape)


def _called(labels: Labels) -> str:
    """The public names of the levels, in words."""
    names = ", ".join(repr(name) for name in labels.names if name)
    return f"; an index may have no name, or that of its labels ({names})" if names else ""


def _column(table: Any, names: Sequence[str]) -> str | None:
    """The first of the names that a private table has, once; "" for a Series, which is one."""
    try:
        if not is_frame(table):
            return ""
        return next((name for name in names if list(table.columns).count(name) == 1), None)
    except Exception:
        return None


def _found_cells(table: Any, labels: Labels, column: str | None) -> Any:
    """The cells of a private table in the order of the labels, or None: no error leaves."""
    try:
        wide = _wide_cells(table, labels) if len(labels.axes) == 2 and is_frame(table) else None
        if wide is not None or column is None:
            return wide
        rows = _labelled(table, labels.names)
        rows = rows[column] if is_frame(rows) else rows
        place = positions(labels.index(), rows.index)
        return None if place is None else rows.to_numpy()[place]
    except Exception:
        return None


def _wide_cells(table: Any, labels: Labels) -> Any:
    own = [Labels((axis,)).index() for axis in labels.axes]
    rows = _labelled(table, labels.axes[0].names)
    for axis, other in ((0, rows.columns), (1, rows.index)):
        if set(labels.axes[axis].names) & set(filter(None, level_names(other))):
            return None  # the other way round
    row, col = positions(own[0], rows.index), positions(own[1], rows.columns)
    return None if row is None or col is None else rows.to_numpy()[np.ix_(row, col)]


def _labelled(table: Any, names: Sequence[str]) -> Any:
    """The table with its labels as index: they may stand in columns that have their names."""
    if not is_frame(table) or list(table.index.names) == list(names):
        return table
    there = all(names) and all(list(table.columns).count(name) == 1 for name in names)
    return table.set_index(list(names)) if there else table


def _is_series(table: Any) -> bool:
    import pandas as pd

    return isinstance(table, pd.Series)
