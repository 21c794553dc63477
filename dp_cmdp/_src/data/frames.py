"""Public tables of pandas: envelopes in, entries out.

Errors name the column and the label that break a rule. Rows are found by their labels, never by
their place; the index that pandas gives a table without one, 0, 1, …, is no label. Private tables
are read in :mod:`dp_cmdp._src.data.private_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.html import MOST_ROWS, rows_table
from dp_cmdp._src.data.labels import flat_index, is_default

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp._src.data.envelope import Envelope


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

    groups = envelope.groups if group is None else (envelope._group(group),)
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
