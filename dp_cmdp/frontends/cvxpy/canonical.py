"""cvxpy's own reductions, up to the tensors that map parameters to the data of a cone program.

The reductions are those of ``Problem.get_problem_data``, stopped before a solver's layout is made
and before any parameter needs a value. Public parameters are replaced by their values first: a
public number times a private one is no product of two parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import NonNeg, Zero
from cvxpy.expressions.expression import Expression
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing, ParamConeProg
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eliminate_zero_sized import EliminateZeroSized
from cvxpy.reductions.flip_objective import FlipObjective

from dp_cmdp._scalars import text_of
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.cvxpy.parameter import PrivateParameter
from dp_cmdp.frontends.cvxpy.refusals import constraint_name, refuse_cone, refuse_non_convex

#: The back end of cvxpy whose time grows with the entries of its tensors only.
BACKEND = "COO"


@dataclass(frozen=True, slots=True)
class Row:
    """Where a canonical constraint comes from."""

    name: str
    inner: bool  # made for an atom inside, not the constraint itself


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """A problem after cvxpy's reductions, and the way back.

    Attributes
    ----------
    cone : ParamConeProg
        min q(θ)ᵀz + ½ zᵀPz + d(θ), A_i(θ)z + b_i(θ) in cone i.
    origin : dict
        The user's constraint behind each canonical one, by id.
    """

    cone: ParamConeProg
    chain: Chain
    inverse: list[Any]
    origin: dict[int, Row]
    restated: Restated


class Restated:
    """A problem with a constant for every public parameter and a row for every parametric bound.

    To cvxpy, a variable whose bounds are parameters is an expression in parameters, which a private
    parameter must not multiply; as rows its bounds are in nobody's way. Constraints keep their ids.
    """

    def __init__(self, problem: cp.Problem) -> None:
        self._twins: dict[int, cp.Variable] = {}
        rows = [row for v in problem.variables() if v.parameters() for row in self._bounds(v)]
        constraints = [self._constraint(c) for c in problem.constraints]
        objective = type(problem.objective)(self._expression(problem.objective.expr))
        self.problem = cp.Problem(objective, [*constraints, *rows])

    def twin(self, variable: cp.Variable) -> cp.Variable:
        """The variable that stands for one of the user's: itself, unless its bounds are rows."""
        return self._twins.get(variable.id, variable)

    def _bounds(self, variable: cp.Variable) -> list[Any]:
        """Rows for the bounds of a variable that are expressions; its twin keeps the others."""
        sides = zip(variable.bounds, (-np.inf, np.inf), strict=True)
        numbers = [none if isinstance(b, Expression) else b for b, none in sides]
        facts = variable.attributes | {"bounds": numbers}
        twin = cp.Variable(variable.shape, name=variable.name(), **facts)
        low, high = variable.bounds
        rows = [twin >= self._expression(low)] if isinstance(low, Expression) else []
        rows += [twin <= self._expression(high)] if isinstance(high, Expression) else []
        self._twins[variable.id] = twin
        return [row.set_label(f"bounds of {variable.name()}") for row in rows]

    def _constraint(self, constraint: Any) -> Any:
        if self._stays(constraint):
            return constraint
        restated = constraint.copy([self._expression(arg) for arg in constraint.args])
        restated.label = constraint.label
        return restated

    def _stays(self, expression: Any) -> bool:
        is_private = all(isinstance(p, PrivateParameter) for p in expression.parameters())
        return is_private and not any(v.id in self._twins for v in expression.variables())

    def _expression(self, expression: Any) -> Any:
        if isinstance(expression, list):
            return [self._expression(part) for part in expression]
        if isinstance(expression, cp.Variable):
            return self.twin(expression)
        if self._stays(expression):
            return expression
        if isinstance(expression, cp.Parameter):
            return cp.Constant(expression.value)
        return expression.copy([self._expression(arg) for arg in expression.args])


def canonical(problem: cp.Problem) -> Canonical:
    """Run the reductions; refuse constraints that are not linear after them."""
    restated = Restated(problem)
    public = restated.problem
    refuse_non_convex(public)
    curved = not public.objective.expr.is_pwl()
    if curved:  # an atom shared with the objective must not hide the curve of a constraint
        _refuse_cones(*_reduced(cp.Problem(cp.Minimize(0), public.constraints), quadratic=False))
    cone, chain, inverse, origin = _reduced(public, quadratic=curved)
    for constraint in cone.constraints:
        if not isinstance(constraint, Zero | NonNeg) and not curved:
            refuse_cone(origin[constraint.id].name)
    return Canonical(cone, chain, inverse, origin, restated)


def _refuse_cones(cone: ParamConeProg, _: Chain, __: list[Any], origin: dict[int, Row]) -> None:
    for constraint in cone.constraints:
        if not isinstance(constraint, Zero | NonNeg):
            refuse_cone(origin[constraint.id].name)


def _reduced(
    problem: cp.Problem, *, quadratic: bool
) -> tuple[ParamConeProg, Chain, list[Any], dict[int, Row]]:
    flip = [FlipObjective()] if isinstance(problem.objective, cp.Maximize) else []
    to_cone = Dcp2Cone(quad_obj=quadratic)
    to_rows = CvxAttr2Constr(reduce_bounds=True)
    try:
        found, data, origin, steps = problem, [], {}, [*flip, to_cone, to_rows]
        for step in steps:
            found, inverse = step.apply(found)
            data.append(inverse)
            if step is to_cone:
                origin = _origins(problem, found, quadratic=quadratic)
        for constraint in found.constraints:
            if constraint.id not in origin:
                origin[constraint.id] = Row(f"bounds of {_owner(constraint)}", inner=False)
        last: list[Any] = [EliminateZeroSized(), ConeMatrixStuffing(quad_obj=quadratic, canon_backend=BACKEND)]
        cone, inverse = Chain(reductions=last).apply(found)
    except InvalidArgumentError:
        raise
    except Exception as error:
        raise InvalidArgumentError(
            f"cvxpy cannot bring the problem into standard form: {text_of(error)[:300]}"
        ) from None
    return cone, Chain(reductions=[*steps, *last]), [*data, *inverse], origin


def _origins(problem: cp.Problem, reduced: cp.Problem, *, quadratic: bool) -> dict[int, Row]:
    """The user's constraint behind each canonical one: those made for its atoms come before it."""
    names = {c.id: constraint_name(k, c) for k, c in enumerate(problem.constraints)}
    ids = [c.id for c in reduced.constraints]
    start = 0 if problem.objective.expr.is_affine() else _count_inner(problem, quadratic=quadratic)
    found = {number: Row("the objective", inner=True) for number in ids[:start]}
    for end in (k for k, number in enumerate(ids) if number in names):
        name = names[ids[end]]
        found |= {number: Row(name, inner=True) for number in ids[start:end]}
        found[ids[end]] = Row(name, inner=False)
        start = end + 1
    return found


def _count_inner(problem: cp.Problem, *, quadratic: bool) -> int:
    """How many constraints the atoms of the objective make: they come first."""
    expression = problem.objective.expr
    least = -expression if isinstance(problem.objective, cp.Maximize) else expression
    alone, _ = Dcp2Cone(quad_obj=quadratic).apply(cp.Problem(cp.Minimize(least)))
    return len(alone.constraints)


def _owner(constraint: Any) -> str:
    return ", ".join(v.name() for v in constraint.variables())
