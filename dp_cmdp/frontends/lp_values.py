"""The private numbers of a linear program: out of a model, or a CSV file with one line per number.

    group,row,column,value
    capacity,CAP1,,12.5
    hours,M1,X3,0.75

Curator only. Errors name places, never numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.lp_file import LpModel, shown
from dp_cmdp.frontends.lp_places import Group, place

_COLUMNS = ("group", "row", "column", "value")
_PARTS = ("c", "row_lower", "row_upper", "lower", "upper")


def blanked(model: LpModel, groups: Sequence[Group], envelope: Envelope) -> LpModel:
    """The model without its private numbers.

    Costs and coefficients become 0; sides of rows and bounds the harmful end of their public
    bounds, so that rows stay what they are (two sides at 0 would look like an equality).
    """
    parts = {name: np.array(getattr(model, name)) for name in _PARTS}
    A, width = sparse.csr_array(model.A.copy()), model.num_columns
    keys = np.repeat(np.arange(model.num_rows), np.diff(A.indptr)) * width + A.indices
    for group in groups:
        ends = envelope.lower if group.side == "upper" else envelope.upper
        if group.kind == "coefficient":
            A.data = np.where(np.isin(keys, group.row * width + group.column), 0.0, A.data)
        elif group.kind == "objective":
            parts["c"][group.column] = 0.0
        elif group.kind == "rhs":
            parts[f"row_{group.side}"][group.row] = ends[envelope.index(group.name)]
        else:
            parts[str(group.side)][group.column] = ends[envelope.index(group.name)]
    A.eliminate_zeros()
    public = {name: _check.frozen(part) for name, part in parts.items()}
    return replace(model, A=_check.frozen_sparse(A), **public)


def read_values(
    model: LpModel, groups: Sequence[Group], public: LpModel, envelope: Envelope
) -> FloatArray:
    """The numbers at the private places of a model that agrees with `public` elsewhere."""
    model = _in_order(model, public)
    other = blanked(model, groups, envelope)
    same = all(np.array_equal(getattr(other, part), getattr(public, part)) for part in _PARTS)
    same = same and (other.maximise, other.offset) == (public.maximise, public.offset)
    if not same or abs(other.A - public.A).max() > 0.0:
        raise InvalidArgumentError(
            "the file of private numbers must agree with the model wherever numbers are public"
        )
    return np.concatenate([own_numbers(model, group) for group in groups])


def own_numbers(model: LpModel, group: Group) -> FloatArray:
    """The model's own numbers at the places of a group; 0 for coefficients that it has not."""
    if group.kind == "objective":
        return model.c[group.column]
    if group.kind == "bound":
        return (model.upper if group.side == "upper" else model.lower)[group.column]
    if group.kind == "rhs":
        return (model.row_upper if group.side == "upper" else model.row_lower)[group.row]
    width = model.num_columns
    keys = np.repeat(np.arange(model.num_rows), np.diff(model.A.indptr)) * width + model.A.indices
    order = np.argsort(keys, kind="stable")
    wanted = group.row * width + group.column
    at = np.minimum(np.searchsorted(keys[order], wanted), max(keys.size - 1, 0))
    if not keys.size:
        return np.zeros(group.size)
    return np.where(keys[order][at] == wanted, model.A.data[order][at], 0.0)


def _in_order(model: LpModel, public: LpModel) -> LpModel:
    """The model with rows and columns in the order of the public one, by their names."""
    if (model.row_names, model.column_names) == (public.row_names, public.column_names):
        return model
    rows = _order(model.row_names, public.row_names, "rows")
    columns = _order(model.column_names, public.column_names, "columns")
    return replace(
        model,
        A=sparse.csr_array(model.A[rows][:, columns]),
        c=model.c[columns],
        lower=model.lower[columns],
        upper=model.upper[columns],
        row_lower=model.row_lower[rows],
        row_upper=model.row_upper[rows],
        row_names=public.row_names,
        column_names=public.column_names,
    )


def _order(names: tuple[str, ...], wanted: tuple[str, ...], what: str) -> IntArray:
    number = {name: i for i, name in enumerate(names)}
    if number.keys() != set(wanted):
        raise InvalidArgumentError(f"the file of private numbers must have the model's {what}")
    return np.array([number[name] for name in wanted], dtype=np.int64)


def check_bounds(
    values: FloatArray,
    groups: Sequence[Group],
    public: LpModel,
    envelope: Envelope,
    lines: Sequence[int] | None = None,
) -> None:
    """Raise unless every number lies within its public bounds; by place and line, not by number."""
    outside = np.flatnonzero(~((values >= envelope.lower) & (values <= envelope.upper)))
    if not outside.size:
        return
    places = [
        (group, int(i), int(j))
        for group in groups
        for i, j in zip(group.row, group.column, strict=True)
    ]

    def words(at: int) -> str:
        group, row, column = places[at]
        line = "" if lines is None else f", line {lines[at]}"
        return f"{place(public, group.kind, row, column)} ({group.name}{line})"

    raise InvalidArgumentError(
        f"{outside.size} number(s) lie outside their public bounds: "
        + shown([words(int(at)) for at in outside])
    )


def read_csv(
    path: Path, groups: Sequence[Group], public: LpModel
) -> tuple[FloatArray, tuple[int, ...]]:
    """One number for every private place, from a table group, row, column, value; and its line."""
    found = None
    with suppress(UnicodeDecodeError, csv.Error):  # these hold what they could not read
        found = _read_table(path, groups, public)
    if found is None:
        raise InvalidArgumentError(f"{path.name} must be a table of comma-separated values, UTF-8")
    return found


def _read_table(
    path: Path, groups: Sequence[Group], public: LpModel
) -> tuple[FloatArray, tuple[int, ...]]:
    places = {}
    start = 0
    for group in groups:
        for k, (i, j) in enumerate(zip(group.row.tolist(), group.column.tolist(), strict=True)):
            row = public.row_names[i] if i >= 0 else ""
            column = public.column_names[j] if j >= 0 else ""
            places[group.name, row, column] = start + k
        start += group.size
    only = groups[0].name if len(groups) == 1 else None
    values, where = np.full(start, np.nan), [0] * start
    with path.open(newline="", encoding="utf-8-sig") as lines:
        table = csv.DictReader(lines, skipinitialspace=True)
        if not set(table.fieldnames or ()) <= set(_COLUMNS) or "value" not in (
            table.fieldnames or ()
        ):
            raise InvalidArgumentError(f"{path.name} must have the header {','.join(_COLUMNS)}")
        for line in table:
            if None in line:
                raise InvalidArgumentError(
                    f"{path.name}, line {table.line_num}: it has more fields than the header; "
                    "write numbers with a point, and quote names with commas"
                )
            key = (line.get("group") or only, line.get("row") or "", line.get("column") or "")
            at = places.get(key)  # pyright: ignore[reportArgumentType]
            if at is None or not np.isnan(values[at]):
                raise InvalidArgumentError(
                    f"{path.name}, line {table.line_num}: "
                    + ("no private number stands there" if at is None else "it is there twice")
                )
            values[at] = _number(line["value"], path, table.line_num)
            where[at] = table.line_num
    if np.isnan(values).any():
        group, row, column = list(places)[int(np.argmax(np.isnan(values)))]
        raise InvalidArgumentError(
            f"{path.name} must have a line for every private number; {group}, "
            f"{', '.join(filter(None, (row, column)))} is missing"
        )
    return values, tuple(where)


def _number(text: str | None, path: Path, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InvalidArgumentError(f"{path.name}, line {line}: the value is not a finite number")
    return value
