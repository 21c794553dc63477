"""The tensors of a cone program: one column per entry of a parameter, one row per place of [A, b].

They are cvxpy's (its back end for many parameters does the work). Stated here rather than taken
from ``ConeMatrixStuffing`` because that asks for room in proportion to parameters times rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import Any

import cvxpy as cp
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.zero import Equality, Zero
from cvxpy.lin_ops.backends.coo_backend import CooCanonBackend, CooTensor
from cvxpy.reductions.inverse_data import InverseData
from cvxpy.reductions.utilities import lower_equality, lower_ineq_to_nonneg
from cvxpy.utilities.coeff_extractor import CoeffExtractor
from scipy import sparse

#: Kinds of constraint that are linear when their arguments are affine.
LINEAR = (Equality, Inequality, NonNeg, NonPos, Zero)


@dataclass(frozen=True, slots=True, eq=False)
class ConeProgram:
    """min q(θ)ᵀz + ½ zᵀPz + d(θ), every A_i(θ)z + b_i(θ) in its cone, in tensors of [q; d], [A, b]
    and P: the places of the matrix, column after column, by parameter entry; last the constant."""

    q: Any
    A: Any
    P: Any
    size: int  # of z
    constraints: list[Any]  # Zero, NonNeg and other cones, in the order of the rows of A
    variables: list[Any]
    parameters: list[Any]
    variable_start: dict[int, int]  # first place in z, by id
    parameter_start: dict[int, int]  # first column, by id


class _Backend(CooCanonBackend):
    """cvxpy's, without a detour whose memory grows with parameters times rows."""

    def _to_coo_tensor(self, matrix: Any, param_id: int | None = None) -> CooTensor:
        if isinstance(matrix, CooTensor):
            return matrix
        return super()._to_coo_tensor(matrix, param_id)


def cone_program(problem: cp.Problem, *, curved: bool) -> ConeProgram:
    """The tensors of a problem whose constraints have affine arguments."""
    data = InverseData(problem)
    constraints = list(map(_lowered, problem.constraints))
    args = []
    for constraint in constraints:
        args += constraint.args
    if curved:
        P, q = CoeffExtractor(data, "COO").quad_form(problem.objective.expr.copy())
    else:
        P, q = None, _tensor([problem.objective.expr], data)
    return ConeProgram(
        q=q,
        A=_tensor(args, data),
        P=None if P is None else 2 * P,
        size=data.x_length,
        constraints=constraints,
        variables=problem.variables(),
        parameters=problem.parameters(),
        variable_start=data.var_offsets,
        parameter_start=data.param_id_map,
    )


def num_rows(constraint: Any) -> int:
    """How many rows of the cone program a canonical constraint has."""
    return sum(map(attrgetter("size"), constraint.args))


def _lowered(constraint: Any) -> Any:
    if isinstance(constraint, Equality):
        return lower_equality(constraint)
    if isinstance(constraint, Inequality):
        return lower_ineq_to_nonneg(constraint)
    if isinstance(constraint, NonPos):
        return NonNeg(-constraint.args[0], constr_id=constraint.id)
    return constraint


def _tensor(expressions: list[Any], data: InverseData) -> Any:
    width = sum(data.param_to_size.values())
    if not expressions:
        return sparse.coo_array((0, width))
    if not all(map(methodcaller("is_dpp"), expressions)):
        raise ValueError("an atom is not linear in the parameters")
    backend = _Backend(
        dict(data.var_offsets), data.param_to_size, data.param_id_map, width, data.x_length
    )
    return backend.build_matrix([expression.canonical_form[0] for expression in expressions])
