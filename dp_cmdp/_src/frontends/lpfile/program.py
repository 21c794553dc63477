"""A file's linear program with private numbers.

Where the private numbers are:

* **in a file of their own** (``relative_to_model=True``): the model is public, its numbers at the
  private places are nominal, and public bounds may be relative to them.
* **in the model file itself**: then nothing public may follow from its numbers at private places.
  They stay texts until they are paid for; bounds must be absolute, which coefficients may be
  non-zero must be said, and where a file states two sides by one number (ranges, fixed columns),
  both are private or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.storage import check_is_file
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.labels import labels_of
from dp_cmdp._src.frontends.constant import with_constant
from dp_cmdp._src.frontends.lpfile.model import Model, ending_of, model_of, read_outline
from dp_cmdp._src.frontends.lpfile.places import (
    Group,
    IntArray,
    at_places,
    check_places,
    groups_of,
    numbers_at,
)
from dp_cmdp._src.frontends.lpfile.spec import blocks_of
from dp_cmdp._src.program.parametric import ParametricLP

_NONE = np.empty(0, dtype=np.int64)
#: Sides and their signs: lower ≤ A x is −A x ≤ −lower.
_SIGNS = {"upper": 1.0, "lower": -1.0}


@validated
def load(
    path: str | Path,
    private: str | Path | Mapping[str, Any],
    *,
    relative_to_model: bool = False,
    relax: bool = False,
) -> ParametricLP:
    """Read an MPS or LP file, some of whose numbers are private.

    Parameters
    ----------
    path : str or Path
        Its name ends in ``.mps``, ``.lp``, ``.mps.gz`` or ``.lp.gz``.
    private : path or mapping
        A TOML file of ``[[private]]`` blocks, or its content: which numbers are private, and what
        is public about them.
    relative_to_model : bool
        The model's own numbers are public: bounds may be relative to them, and the private numbers
        come from elsewhere. Without it the model's numbers at private places are the private ones:
        nothing public is made from them, and :func:`values` reads them.
    relax : bool
        Take integer columns as continuous ones; refused otherwise.

    Returns
    -------
    ParametricLP
        It minimises or maximises as the file does; rows and columns have the file's names. Entries
        of the database are labelled by the names of their row and column. A constant of the
        objective is one column more, the last, which is fixed at 1.

    Raises
    ------
    InvalidArgumentError
        By line, row or column, with what to do; no number of the file is quoted.

    Notes
    -----
    **Privacy.** *Public*: what it returns and refuses follows from names, public numbers and
    `private`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import dp_cmdp as dp
    >>> farm = "max\\n 3 wheat + 2 rye\\nst\\n land: wheat + rye <= 4\\nend"
    >>> _ = Path("farm.lp").write_text(farm)
    >>> land = {"kind": "rhs", "rows": ["land"], "lower": 3, "upper": 5, "radius": 0.1}
    >>> lp = dp.lpfile.load("farm.lp", {"private": [land]})
    >>> round(dp.answer(lp).value, 6)  # what is certain without data
    9.0
    """
    model, groups = _read(path, private, relative=relative_to_model, relax=relax)
    return _program(model, groups, _envelope(model, groups))


@validated
def values(
    path: str | Path,
    private: str | Path | Mapping[str, Any],
    *,
    model: str | Path | None = None,
) -> dict[str, FloatArray]:
    """The private numbers that a model file holds, by group.

    Parameters
    ----------
    path : str or Path
        The file with the private numbers.
    private : path or mapping
        As in :func:`load`.
    model : str or Path, optional
        The public model (``relative_to_model=True``), with which the file must agree wherever
        numbers are public. Rows and columns are found by their names. By default the file itself is
        the model.

    Returns
    -------
    dict
        For a :class:`~dp_cmdp.Database`: ``Database(lambda: values("model.mps", "spec.toml"), lp,
        ledger=ledger)`` reads it after the debit.

    Raises
    ------
    InvalidArgumentError
        Naming places, never numbers.

    Notes
    -----
    **Privacy.** *Curator only*.

    Examples
    --------
    >>> from pathlib import Path
    >>> import dp_cmdp as dp
    >>> farm = "max\\n 3 wheat + 2 rye\\nst\\n land: wheat + rye <= 4\\nend"
    >>> _ = Path("farm.lp").write_text(farm)
    >>> land = {"kind": "rhs", "rows": ["land"], "lower": 3, "upper": 5, "radius": 0.1}
    >>> dp.lpfile.values("farm.lp", {"private": [land]})
    {'rhs': array([4.])}
    """
    public, groups = _read(model or path, private, relative=model is not None, relax=True)
    source = check_is_file(path, "MPS or LP")
    own = model_of(read_outline(source, relax=True), source)
    if model is not None:
        own = _in_order(own, public)
        _refuse_difference(own, public, groups)
    return {group.name: numbers_at(own, group) for group in groups}


def _read(path: Any, private: Any, *, relative: bool, relax: bool) -> tuple[Model, list[Group]]:
    """The public part of a model, and its private places."""
    source = check_is_file(path, "MPS or LP")
    ending_of(source)
    blocks = blocks_of(private)
    outline = read_outline(source, relax=relax)
    stated = model_of(outline, source, lambda spot: not relative)  # places follow from names
    groups = groups_of(stated, blocks, relative=relative)
    model = stated if relative else model_of(outline, source, at_places(stated, groups))
    check_places(model, groups, relative=relative)
    return model, groups


def _envelope(model: Model, groups: Sequence[Group]) -> Envelope:
    """Bounds, radius, records and names of all private numbers."""
    parts, records, start = {}, {}, 0
    first = model.num_rows + model.num_columns + 1  # after the records of rows, columns and "all"
    for group in groups:
        try:
            parts[group.name] = Envelope(
                group.lower, group.upper, radius=group.radius, labels=_labels(model, group)
            )
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{group.name}: {error}") from None
        records[group.name] = {
            "entry": first + start + np.arange(group.size),
            "row": group.row,
            "column": model.num_rows + group.column,
            "all": np.full(group.size, first - 1),
        }[group.block.record]
        start += group.size
    return Envelope.join(parts, records=records)


def _labels(model: Model, group: Group) -> Any:
    """The names by which a table says which number is which."""
    import pandas as pd

    names = {"row": (model.row_names, group.row), "column": (model.column_names, group.column)}
    levels = {n: [known[k] for k in at] for n, (known, at) in names.items() if (at >= 0).all()}
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))
    ((name, level),) = levels.items()
    return pd.Index(level, name=name)


def _program(model: Model, groups: Sequence[Group], envelope: Envelope) -> ParametricLP:
    """Rows A(θ)x ≤ b(θ): one for each finite side of a row, and one for each private bound.

    Bounds are sides of the rows of a unit matrix below the file's own.
    """
    m, n = model.num_rows, model.num_columns
    start = {group.name: group.start for group in envelope.groups}
    c, A = _without_private(model, groups)

    def affine(shape: tuple[int, ...], constant: Any, kinds: tuple[str, ...], side: Any) -> Affine:
        """The constant, and the numbers of these kinds (of one side) at their places."""
        own = [g for g in groups if g.kind in kinds and side in (None, g.side)]
        row, column, entry = (
            np.concatenate([_NONE, *part])
            for part in (
                [g.at if g.side else g.row for g in own],
                [g.column for g in own],
                [start[g.name] + np.arange(g.size) for g in own],
            )
        )
        at = {"objective": (column, 0 * column), "coefficient": (row, column)}
        place = at.get(kinds[0], (row, 0 * row))
        return Affine._of(envelope, shape, *place, entry, np.ones(entry.size), constant)

    whole = sparse.vstack([A, sparse.eye_array(n)], format="csr")
    matrix = affine((m + n, n), whole, ("coefficient",), None)
    ends = {"upper": model.upper[m:].copy(), "lower": model.lower[m:].copy()}
    for group in groups:
        if group.kind == "bound":  # public bounds hold for every database
            loose = group.upper if group.side == "upper" else group.lower
            ends[str(group.side)][group.column] = loose
    sides = {side: _side(model, groups, side) for side in ends}
    count, first = sum(place.size for place, _ in sides.values()), 0
    units, right, names = sparse.csr_array((count, m + n)), [], []
    for side, (place, known) in sides.items():
        at = first + np.arange(place.size)
        unit = sparse.csr_array((np.full(at.size, _SIGNS[side]), (at, place)), shape=units.shape)
        vector = affine((m + n,), known.reshape(-1, 1), ("rhs", "bound"), side)
        right.append(vector.__rmatmul__(unit))
        names += _names(model, side, place.tolist())
        units, first = sparse.csr_array(units + unit), first + place.size
    equal = np.flatnonzero(model.equal[:m])
    made = ParametricLP._of(
        envelope,
        objective=affine((n,), c.reshape(-1, 1), ("objective",), None),
        A=matrix.__rmatmul__(units),
        b=right[0] + right[1],
        A_eq=sparse.csr_array(A[equal]),
        b_eq=model.upper[equal],
        **ends,
        minimizes=not model.maximize,
        variables=labels_of({"column": model.column_names}, name="variables"),
        row_names=names,
    )
    return made if model.offset == 0.0 else with_constant(made, model.offset)


def _side(model: Model, groups: Sequence[Group], side: str) -> tuple[IntArray, FloatArray]:
    """The rows that have a side, and the columns with a private bound, below each other; and what
    is public of these sides, 0 elsewhere."""
    m, limit = model.num_rows, model.side(side)
    place = np.flatnonzero((np.isfinite(limit) & ~model.equal)[:m])
    known = np.zeros(limit.size)
    known[place] = limit[place]
    mine = [group for group in groups if group.side == side]
    for group in mine:
        known[group.at] = 0.0
    return np.concatenate([place, *(group.at for group in mine if group.kind == "bound")]), known


def _names(model: Model, side: str, places: list[int]) -> list[str]:
    """The file's names, with the side where a row has two."""
    two = (np.isfinite(model.lower) & np.isfinite(model.upper)).tolist()
    own = [
        name + (f" ({side} side)" if both else "")
        for name, both in zip(model.row_names, two, strict=False)
    ]
    bounds = [f"{side} bound of {name}" for name in model.column_names]
    return [[*own, *bounds][place] for place in places]


def _without_private(model: Model, groups: Sequence[Group]) -> tuple[FloatArray, sparse.csr_array]:
    """Costs and coefficients with 0 at private places."""
    c, stored = model.c.copy(), model.A.tocoo()
    width, kept = model.num_columns, np.ones(stored.nnz, dtype=bool)
    keys = stored.row.astype(np.int64) * width + stored.col
    for group in groups:
        if group.kind == "objective":
            c[group.column] = 0.0
        elif group.kind == "coefficient":
            kept &= ~np.isin(keys, group.row * width + group.column)
    at = stored.row[kept], stored.col[kept]
    return c, sparse.csr_array((stored.data[kept], at), shape=stored.shape)


# ----------------------------------------------------------------- private numbers in a model file


def _in_order(model: Model, public: Model) -> Model:
    """The model with rows and columns in the order of the public one, by their names."""
    rows = _order(model.row_names, public.row_names, "rows")
    columns = _order(model.column_names, public.column_names, "columns")
    sides = np.concatenate([rows, model.num_rows + columns])
    return replace(
        model,
        c=model.c[columns],
        A=sparse.csr_array(model.A[rows][:, columns]),
        lower=model.lower[sides],
        upper=model.upper[sides],
        equal=model.equal[sides],
        row_names=public.row_names,
        column_names=public.column_names,
    )


def _order(names: tuple[str, ...], wanted: tuple[str, ...], what: str) -> IntArray:
    number = {name: i for i, name in enumerate(names)}
    if number.keys() != set(wanted):
        raise InvalidArgumentError(f"the file of private numbers must have the model's {what}")
    return np.array([number[name] for name in wanted], dtype=np.int64)


def _refuse_difference(own: Model, public: Model, groups: Sequence[Group]) -> None:
    """Refuse a file that differs from the public model where numbers are public."""
    same = (own.maximize, own.offset) == (public.maximize, public.offset)
    for side in ("lower", "upper"):
        kept = np.ones(own.lower.size, dtype=bool)
        for group in groups:
            if group.side == side:
                kept[group.at] = False
        same = same and np.array_equal(own.side(side)[kept], public.side(side)[kept])
    (c, A), (c_public, A_public) = (_without_private(m, groups) for m in (own, public))
    if not same or not np.array_equal(c, c_public) or abs(A - A_public).max() > 0.0:
        raise InvalidArgumentError(
            "the file of private numbers must agree with the model wherever numbers are public"
        )
