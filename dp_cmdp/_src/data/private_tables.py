"""Tables of private values, read only where there are some.

Rows are found by their labels, never by their place, so a shuffled table says the same. What does
not fit gives None, and no error of pandas leaves :mod:`dp_cmdp._src.data.database`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.data.labels import (
    flat_index,
    index_of,
    is_default,
    kind,
    level_names,
    plain,
    refuse_kinds,
)

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp._src.data.envelope import Group
    from dp_cmdp._src.data.labels import Labels

#: Where the values of a table are, unless in a column named as their group.
VALUE = "value"


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


def cells_of(data: Any, group: Group) -> Any:
    """The cells of a group: by its labels, or by place if it has none; None if they do not fit."""
    if not group.labels:
        if data.ndim == 2 and data.shape != group.shape:
            column = _value_column(data, group)
            return None if column is None else data[column].to_numpy()
        return data.to_numpy()
    if data.ndim == 2 and len(group.labels) == 2:
        wide = _wide_cells(data, group.labels)
        if wide is not None:
            return wide
    names = level_names(group.labels)
    rows = by_labels(data, names)
    if rows.ndim == 2:
        if (column := _value_column(rows, group)) is None:
            return None
        rows = rows[column]
    place = positions(flat_index(group.labels), rows.index)
    return None if place is None else rows.to_numpy()[place]


def _wide_cells(data: Any, labels: Labels) -> Any:
    """The cells of a table whose rows and columns are the two axes; None for another table."""
    names = [level_names((axis,)) for axis in labels]
    rows = by_labels(data, names[0])
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


def by_labels(data: Any, names: list[str]) -> Any:
    """The table with its labels as index: they may stand in columns that have their names."""
    if data.ndim == 1 or list(data.index.names) == names:
        return data
    there = all(names) and all(list(data.columns).count(name) == 1 for name in names)
    return data.set_index(names) if there else data


def positions(wanted: pd.Index, found: pd.Index) -> NDArray[np.intp] | None:
    """Where each of the wanted labels is in `found`; None unless both hold the same, each once.

    Levels are matched by their names, where all have one, and otherwise by their order, which no
    name may contradict. Nothing is said about what differs, and no error leaves: labels of a
    private table may be private.
    """
    try:
        if found.nlevels != wanted.nlevels or len(found) != len(wanted) or is_default(found):
            return None
        wanted, found = _plain_index(wanted), _plain_index(found)
        if kind(wanted[0]) != kind(found[0]):
            return None
        own, given = level_names((wanted,)), level_names((found,))
        if wanted.nlevels > 1 and all((*own, *given)):
            found = cast(Any, found.set_names(given)).reorder_levels(own)
            given = own
        if _contradict(own, given):
            return None
        place = np.asarray(found.get_indexer(cast(Any, wanted))) if found.is_unique else None
        return None if place is None or (place < 0).any() else place
    except Exception:
        return None


def _plain_index(index: pd.Index) -> pd.Index:
    """The index with every label in its one form, all of one kind."""
    levels = []
    for number in range(index.nlevels):
        levels.append([plain(label) for label in index.get_level_values(number).tolist()])
        refuse_kinds("labels", levels[-1])
    rows = levels[0] if len(levels) == 1 else list(zip(*levels, strict=True))
    return index_of(rows, ["" if name is None else str(name) for name in index.names])


def _contradict(wanted: Sequence[str], found: Sequence[str]) -> bool:
    """Whether a level has another name than the one it is matched with; "" is no name."""
    return any(
        there and (there != name if name else there in wanted)
        for name, there in zip(wanted, found, strict=True)
    )
