"""Rows of a model as A(θ)x ≤ b(θ): one for each side, and one for each private bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.frontends.lp_file import LpModel
from dp_cmdp.frontends.lp_places import Group

_NONE = np.empty(0, dtype=np.int64)
#: Sides and their signs: lower ≤ A x is −A x ≤ −lower.
_SIGNS = {"upper": 1.0, "lower": -1.0}


@dataclass(frozen=True, slots=True)
class PrivateRows:
    """Sensitive rows and public ones, and the bounds of x that are public."""

    A: Affine
    b: Affine
    A_ub: sparse.csr_array
    b_ub: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, ...]
    public_names: tuple[str, ...]


def private_rows(
    model: LpModel, groups: Sequence[Group], entry: Mapping[str, IntArray], envelope: Envelope
) -> PrivateRows:
    """The rows of a blanked model; `entry` numbers the entries of each group."""
    sides = _Sides(model)
    bounds = [group for group in groups if group.kind == "bound"]
    lower, upper = model.lower.copy(), model.upper.copy()
    for group in bounds:
        at = entry[group.name]
        if group.side == "upper":
            upper[group.column] = envelope.upper[at]
        else:
            lower[group.column] = envelope.lower[at]
    terms_A, terms_b = _terms(model, groups, entry, sides)
    sensitive = np.unique(np.concatenate([terms_A[0], terms_b[0]]))
    number = np.full(sides.row.size, -1)
    number[sensitive] = np.arange(sensitive.size)
    public = number < 0
    constant = sides.right.copy()
    constant[terms_b[0]] = 0.0
    column = np.concatenate([_NONE, *(group.column for group in bounds)])
    sign = np.concatenate([[], *(np.full(g.size, _SIGNS[str(g.side)]) for g in bounds)])
    limits = sparse.csr_array(
        (sign, (np.arange(column.size), column)), shape=(column.size, model.num_columns)
    )
    of_limit = np.arange(sensitive.size, sensitive.size + column.size)
    m = sensitive.size + column.size
    return PrivateRows(
        A=Affine(
            (m, model.num_columns),
            constant=sparse.vstack([sides.matrix(sensitive), limits], format="csr"),
            at=(number[terms_A[0]], terms_A[1]),
            entry=terms_A[2],
            coefficient=sides.sign[terms_A[0]],
        ),
        b=Affine(
            m,
            constant=np.concatenate([constant[sensitive], np.zeros(column.size)]),
            at=np.concatenate([number[terms_b[0]], of_limit]),
            entry=np.concatenate([terms_b[1], *(entry[g.name] for g in bounds)]),
            coefficient=np.concatenate([sides.sign[terms_b[0]], sign]),
        ),
        A_ub=sides.matrix(np.flatnonzero(public)),
        b_ub=sides.right[public],
        lower=lower,
        upper=upper,
        names=(
            *(sides.name(k) for k in sensitive),
            *(f"{g.side} bound of {model.column_names[j]}" for g in bounds for j in g.column),
        ),
        public_names=tuple(sides.name(int(k)) for k in np.flatnonzero(public)),
    )


class _Sides:
    """Every finite side of an inequality row as a row of its own: upper sides, then lower ones."""

    def __init__(self, model: LpModel) -> None:
        self._model = model
        has = {
            "upper": np.isfinite(model.row_upper) & ~model.equal,
            "lower": np.isfinite(model.row_lower) & ~model.equal,
        }
        up, down = (np.flatnonzero(has[side]) for side in _SIGNS)
        self.row = np.concatenate([up, down])
        self.sign = np.concatenate([np.ones(up.size), -np.ones(down.size)])
        self.right = np.concatenate([model.row_upper[up], -model.row_lower[down]])
        self._two = has["upper"] & has["lower"]
        self.number = {side: np.full(model.num_rows, -1) for side in _SIGNS}
        self.number["upper"][up] = np.arange(up.size)
        self.number["lower"][down] = up.size + np.arange(down.size)

    def matrix(self, chosen: IntArray) -> sparse.csr_array:
        rows = self._model.A[self.row[chosen]]
        data = rows.data * np.repeat(self.sign[chosen], np.diff(rows.indptr))
        return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)

    def name(self, number: int) -> str:
        row = self.row[number]
        side = "upper" if self.sign[number] > 0 else "lower"
        return self._model.row_names[row] + (f" ({side} side)" if self._two[row] else "")


def _terms(
    model: LpModel, groups: Sequence[Group], entry: Mapping[str, IntArray], sides: _Sides
) -> tuple[tuple[IntArray, IntArray, IntArray], tuple[IntArray, IntArray]]:
    """(side, column, entry) of each private coefficient in each side; (side, entry) of each rhs."""
    side, column, which = [_NONE], [_NONE], [_NONE]
    right, whose = [_NONE], [_NONE]
    for group in groups:
        if group.kind == "coefficient":
            for numbers in sides.number.values():
                at: IntArray = numbers[group.row]
                kept: NDArray[np.bool_] = at >= 0
                side.append(at[kept])
                column.append(group.column[kept])
                which.append(entry[group.name][kept])
        elif group.kind == "rhs":
            right.append(sides.number[str(group.side)][group.row])
            whose.append(entry[group.name])
    return (
        (np.concatenate(side), np.concatenate(column), np.concatenate(which)),
        (np.concatenate(right), np.concatenate(whose)),
    )
