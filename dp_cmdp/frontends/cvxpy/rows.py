"""The rows of a cone program as those of a linear program with private data, named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.errors import AssumptionError
from dp_cmdp.frontends.cvxpy.affine_map import (
    BoolArray,
    Columns,
    Rows,
    Terms,
    bounds_of,
    inequalities,
    sorted_rows,
)
from dp_cmdp.frontends.cvxpy.canonical import Canonical
from dp_cmdp.frontends.cvxpy.refusals import refuse_cone, refuse_equality, refuse_not_finite
from dp_cmdp.frontends.cvxpy.tensors import ConeProgram, num_rows
from dp_cmdp.program.parametric import ParametricLP


def linear_program(
    canon: Canonical, columns: Columns, cost: Affine
) -> tuple[ParametricLP, Rows, tuple[sparse.csr_array, FloatArray]]:
    """Rows A z + b ≥ 0 (or = 0) of the cone program as rows and bounds of a linear program."""
    cone, n = canon.cone, canon.cone.size
    m = sum(num_rows(c) for c in cone.constraints)
    A, b = columns.terms(cone.A, height=max(m, 1)).split(n)
    constant = b.constant((m, 1)).toarray().ravel()
    private = np.zeros(m, dtype=bool)
    private[A.row[A.private]] = private[b.row[b.private]] = True
    public = inequalities(cone) & ~private
    vacuous = public & (constant == np.inf)  # x <= inf
    _refuse_not_finite(canon, (A, b), ~vacuous)
    bounds, lower, upper = bounds_of(A, constant, public, n)
    rows = sorted_rows(cone, private, bounds | vacuous)
    _refuse_private_rows(canon, columns, rows, (A, b))
    _refuse_contradiction(canon, lower, upper)
    left, s, p, e = A.negated(), rows.sensitive, rows.public, rows.equality
    program = ParametricLP(
        columns.envelope,
        c=cost,
        A=left.of_rows(s, m).matrix((s.size, n)),
        b=b.of_rows(s, m).vector(s.size),
        A_ub=left.of_rows(p, m).constant((p.size, n)),
        b_ub=constant[p],
        A_eq=left.of_rows(e, m).constant((e.size, n)),
        b_eq=constant[e],
        lower=lower,
        upper=upper,
        row_names=row_names(canon, s),
    )
    curved = A.of_rows(rows.cone, m).constant((rows.cone.size, n)), constant[rows.cone]
    return program, rows, curved


def curve_of(cone: ConeProgram, columns: Columns) -> sparse.csr_array:
    """P of ½ zᵀPz; refused where it reads a private entry."""
    n = cone.size
    if cone.P is None:
        return sparse.csr_array((n, n))
    terms = columns.terms(cone.P, height=n)
    if terms.private.any():
        refuse_cone("the objective", private=columns.names(terms.entry[terms.private]))
    return terms.constant((n, n))


def _refuse_private_rows(
    canon: Canonical, columns: Columns, rows: Rows, terms: tuple[Terms, Terms]
) -> None:
    """Raise if an equality or a cone reads a private entry."""
    for kind in (rows.equality, rows.cone):
        for part in terms:
            read = part.where(part.private & np.isin(part.row, kind))
            if read.row.size:
                where = _places(canon, read.row[:1])[0]
                if kind is rows.equality and not where.inner:
                    refuse_equality(where.name, columns.names(read.entry))
                refuse_cone(where.name, private=columns.names(read.entry))


def _refuse_not_finite(canon: Canonical, terms: tuple[Terms, Terms], kept: BoolArray) -> None:
    """Raise if a number of a row is NaN or infinite, but for bounds that say nothing."""
    A, b = terms
    wrong = [A.row[~np.isfinite(A.coefficient)], b.row[~np.isfinite(b.coefficient) & kept[b.row]]]
    for row in np.concatenate(wrong)[:1]:
        refuse_not_finite(row_names(canon, np.array([row]))[0])


def _refuse_contradiction(canon: Canonical, lower: FloatArray, upper: FloatArray) -> None:
    wrong = np.flatnonzero(lower > upper)
    if wrong.size:
        name = variable_name(canon.cone, int(wrong[0]))
        raise AssumptionError(
            f"the public bounds of {name} contradict each other. No data was read",
            label="ass:feast",
            rows=(name,),
        )


def row_names(canon: Canonical, rows: IntArray) -> list[str]:
    """Names of rows of the cone program: the user's constraint, and the place in it."""
    return [
        f"{place.name}{place.index}" + (" (inside)" if place.inner else "")
        for place in _places(canon, rows)
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    index: str
    inner: bool


def _places(canon: Canonical, rows: IntArray) -> list[_Place]:
    """Where rows of the cone program come from."""
    sizes = [num_rows(c) for c in canon.cone.constraints]
    ends = np.cumsum(sizes)
    which = np.searchsorted(ends, rows, side="right")
    found = []
    for row, k in zip(rows.tolist(), which.tolist(), strict=True):
        constraint = canon.cone.constraints[k]
        origin = canon.origin[constraint.id]
        index = _index(constraint.shape, row - int(ends[k]) + sizes[k])
        found.append(_Place(origin.name, index, origin.inner))
    return found


def _index(shape: tuple[int, ...], place: int) -> str:
    """[i, j] of a place in Fortran order; nothing for a single number."""
    if int(np.prod(shape)) <= 1:
        return ""
    index = np.unravel_index(place, shape, order="F")
    return f"[{', '.join(str(int(i)) for i in index)}]"


def variable_name(cone: ConeProgram, j: int) -> str:
    """Name and index of a variable of the cone program, as the user knows it."""
    for variable in cone.variables:
        place = j - cone.variable_start[variable.id]
        if 0 <= place < variable.size:
            return variable.name() + _index(variable.shape, place)
    return f"variable {j}"
