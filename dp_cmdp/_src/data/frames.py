"""Tables of pandas: envelopes in, entries out, private values in.

A table of public numbers is public: errors name the column and the label that break a rule. Of a
private table even which labels it has may be private (a row exists because somebody is a patient):
:func:`private_group` gives None for whatever does not fit, and no error of pandas leaves. Rows are
found by their labels, never by their place, so a shuffled table says the same; the index that
pandas gives a table without one, 0, 1, …, is no label.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.html import MOST_ROWS, rows_table
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.labels import flat_index, is_default, level_names, positions

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp._src.data.envelope import Envelope, Group
    from dp_cmdp._src.data.labels import Labels

#: Where the values are, unless in a column named as their group.
VALUE = "value"


def is_table(data: Any) -> bool:
    """Whether `data` is a DataFrame or a Series of pandas, which is not imported to find out."""
    for kind in type(data).__mro__:
        if kind.__module__.split(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
            return True
    return False


def envelope_arguments(
    frame: Any, columns: Mapping[str, str | float | None], record: str | None
) -> dict[str, Any]:
    """Arguments of an Envelope from a public table."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InvalidTypeError(
            f"frame must be a DataFrame of pandas, got {type(frame).__name__} of "
            f"{type(frame).__module__} (many libraries have frame.to_pandas())"
        )
    if is_default(frame.index) and len(frame):
        raise InvalidArgumentError(
            "the index of frame must hold labels; it only numbers what it stands beside: say "
            "frame.set_index(…) with the columns that are labels; if numbers are the labels, name "
            'them: frame.rename_axis("entry")'
        )
    found: dict[str, Any] = {"labels": frame.index}
    for role, column in columns.items():
        named = isinstance(column, str)
        found[role] = _column(frame, column, role).to_numpy() if named else column
    if record is not None and list(frame.index.names).count(record) == 1:
        found["records"] = frame.index.get_level_values(record).tolist()
    elif record is not None:
        found["records"] = _column(frame, record, "record").tolist()
    return found


def _column(frame: pd.DataFrame, name: str, role: str) -> Any:
    """The column of a public table that has this name, once."""
    count = list(frame.columns).count(name)
    if count != 1:
        others = ", ".join(map(repr, list(frame.columns)[: check.SHOWN])) or "none"
        reason = f"its columns are {others}" if count == 0 else "it is there more than once"
        raise InvalidArgumentError(
            f"frame must have one column {name!r}; {reason} (say {role}=… if it has another name)"
        )
    return frame[name]


def entries_frame(
    envelope: Envelope, columns: Mapping[str, Any], group: str | None = None
) -> pd.DataFrame:
    """One row per entry of all groups or of one: labels are the index, else their places."""
    import pandas as pd

    groups = envelope.groups if group is None else (envelope.group(group),)
    inside = slice(groups[0].start, groups[-1].stop)
    cut = {name: np.asarray(column)[inside] for name, column in columns.items()}
    sizes = [prod(one.shape) for one in groups]
    names = np.repeat(np.array([one.name for one in groups], dtype=object), sizes)
    if not any(one.labels for one in groups):
        places = np.concatenate([np.arange(size) for size in sizes])
        return pd.DataFrame({"group": names, "entry": places, **cut})
    if len(groups) == 1:
        return pd.DataFrame(cut, index=flat_index(groups[0].labels))
    labels = [
        label
        for one, size in zip(groups, sizes, strict=True)
        for label in (flat_index(one.labels).tolist() if one.labels else range(size))
    ]
    index = pd.MultiIndex.from_arrays([names, pd.Index(labels, dtype=object, tupleize_cols=False)])
    return pd.DataFrame(cut, index=index.set_names(["group", "label"]))


def frame_table(title: str, frame: pd.DataFrame) -> str:
    """The first rows of a table in HTML, with its labels before them."""
    few = frame.head(MOST_ROWS)
    names = [str(name or "") for name in few.index.names]
    keys = few.index.tolist() if few.index.nlevels > 1 else [(key,) for key in few.index.tolist()]
    rows = [(*key, *row) for key, row in zip(keys, few.itertuples(index=False), strict=True)]
    return rows_table(title, [*names, *map(str, few.columns)], rows, count=len(frame))


def read_table(path: Any, groups: tuple[Group, ...]) -> dict[str, Any]:
    """A table of private values from a CSV file, by group: texts where labels are texts."""
    import pandas as pd

    names = {name for group in groups for name in level_names(group.labels) if name}
    texts = {name: str for name in names if _holds_texts(name, groups)} | {"group": str}
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])  # type: ignore
    if len(groups) == 1 and "group" not in frame.columns:
        return {groups[0].name: frame}
    if set(frame["group"]) != {group.name for group in groups}:
        raise ValueError
    return {
        group.name: frame[frame["group"] == group.name].drop(columns="group") for group in groups
    }


def _holds_texts(name: str, groups: tuple[Group, ...]) -> bool:
    """Whether the labels of a level are texts (a file may hold 007 for one)."""
    axes = [axis for group in groups for axis in group.labels if name in axis.names]
    return all(isinstance(label, str) for axis in axes for label in axis.get_level_values(name))


def private_group(data: Any, group: Group) -> FloatArray | None:
    """The private values of a group from a table or an array, in its order; None if none fit.

    Groups with labels take tables by their labels, others by place. Arrays have the group's shape.
    """
    if not is_table(data):
        return _fitting(data, group.shape)
    if group.labels:
        cells = _labelled_cells(data, group)
        return None if cells is None else _fitting(cells, (prod(group.shape),))
    if data.ndim == 2 and data.shape != group.shape:
        if (column := _value_column(data, group)) is None:
            return None
        data = data[column]
    return _fitting(data.to_numpy(), group.shape)


def _fitting(data: Any, shape: tuple[int, ...]) -> FloatArray | None:
    """Numbers of that shape, flat; one number may stand for a vector of one."""
    array = check.private_array("values", data)
    fits = array.shape == shape or (array.size == 1 and shape in ((), (1,)) and array.ndim < 2)
    return array.ravel() if fits else None


def _labelled_cells(data: Any, group: Group) -> Any:
    if data.ndim == 2 and len(group.labels) == 2:
        wide = _wide_cells(data, group.labels)
        if wide is not None:
            return wide
    names = level_names(group.labels)
    rows = _by_labels(data, names)
    if rows.ndim == 2:
        if (column := _value_column(rows, group)) is None:
            return None
        rows = rows[column]
    place = positions(flat_index(group.labels), rows.index)
    return None if place is None else rows.to_numpy()[place]


def _wide_cells(data: Any, labels: Labels) -> Any:
    """The cells of a table whose rows and columns are the two axes; None for another table."""
    names = [level_names((axis,)) for axis in labels]
    rows = _by_labels(data, names[0])
    for own, other in zip(names, (rows.columns, rows.index), strict=True):
        if set(own) & set(filter(None, level_names((other,)))):
            return None  # the other way round
    row, col = positions(labels[0], rows.index), positions(labels[1], rows.columns)
    return None if row is None or col is None else rows.to_numpy()[np.ix_(row, col)].ravel()


def _value_column(data: Any, group: Group) -> Any:
    """The column named as the group, or "value", or the only one."""
    columns = list(data.columns)
    named = [name for name in (group.name, VALUE) if columns.count(name) == 1]
    return named[0] if named else columns[0] if len(columns) == 1 else None


def _by_labels(data: Any, names: list[str]) -> Any:
    """The table with its labels as index: they may stand in columns that have their names."""
    if data.ndim == 1 or list(data.index.names) == names:
        return data
    there = all(names) and all(list(data.columns).count(name) == 1 for name in names)
    return data.set_index(names) if there else data
