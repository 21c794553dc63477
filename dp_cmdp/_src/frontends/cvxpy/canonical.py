"""cvxpy's own reductions, up to the tensors that map parameters to the data of a cone program.

The reductions are those of ``Problem.get_problem_data``, stopped before a solver's layout is made
and before any parameter needs a value. Public parameters are replaced by their values first: a
public number times a private one is no product of two parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality, Zero
from cvxpy.expressions.expression import Expression
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.cvx_attr2constr import (
    CvxAttr2Constr,
    lower_value,
    recover_value_for_leaf,
)
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eliminate_zero_sized import EliminateZeroSized
from cvxpy.reductions.flip_objective import FlipObjective
from cvxpy.reductions.solution import Solution as CvxpySolution
from scipy import sparse

from dp_cmdp._src.base.errors import Error, InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, is_sparse, text_of
from dp_cmdp._src.frontends.cvxpy.parameter import PrivateParameter
from dp_cmdp._src.frontends.cvxpy.refusals import (
    constraint_name,
    refuse_cone,
    refuse_inner_equality,
    refuse_non_convex,
)
from dp_cmdp._src.frontends.cvxpy.tensors import LINEAR, ConeProgram, cone_program


@dataclass(frozen=True, slots=True)
class Row:
    """Where a canonical constraint comes from."""

    name: str
    inner: bool  # made for an atom inside, not the constraint itself


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """A problem after cvxpy's reductions, and the way back."""

    cone: ConeProgram
    origin: dict[int, Row]  # the user's constraint behind each canonical one, by id
    restated: Restated
    _chain: Chain
    _inverse: list[Any]

    def inverted(self, solution: CvxpySolution) -> CvxpySolution:
        """A solution of the cone program as one of the restated problem."""
        return self._chain.invert(solution, self._inverse)

    def lowered(self, variable: cp.Variable, value: FloatArray) -> tuple[int, FloatArray]:
        """Where a variable of the restated problem begins in the cone program, and its numbers."""
        replaced = self._inverse[-2]
        own = replaced[0][variable.id] if replaced else variable
        found = np.ravel(lower_value(variable, value), order="F")
        back: Any = recover_value_for_leaf(
            variable, found.reshape(own.shape, order="F"), project=False
        )
        if not np.array_equal(back.toarray() if is_sparse(back) else back, value):
            raise InvalidArgumentError(
                f"decision must be what {variable.name()} may be: symmetric, diagonal or sparse"
            )
        return self.cone.variable_start[own.id], found


class Restated:
    """A problem with a constant for every public parameter and a row for every parametric bound.

    To cvxpy, a variable whose bounds are parameters is an expression in parameters, which a private
    parameter must not multiply; as rows its bounds are in nobody's way. Running sums are products
    with a matrix of ones: cvxpy defines them by equalities, which hold only to the rounding of
    floats. Constraints keep their ids.
    """

    def __init__(self, problem: cp.Problem) -> None:
        self._twins: dict[int, cp.Variable] = {}
        rows = []
        for variable in problem.variables():
            if variable.parameters():
                rows += self._bounds(variable)
        constraints = list(map(self._constraint, problem.constraints))
        objective = type(problem.objective)(self._expression(problem.objective.expr))
        self.problem = cp.Problem(objective, [*constraints, *rows])

    def twin(self, variable: cp.Variable) -> cp.Variable:
        """The variable that stands for one of the user's: itself, unless its bounds are rows."""
        return self._twins.get(variable.id, variable)

    def _bounds(self, variable: cp.Variable) -> list[Any]:
        """Rows for the bounds of a variable that are expressions; its twin keeps the others."""
        low, high = variable.attributes["bounds"]
        sides = ((low, -np.inf), (high, np.inf))
        numbers = [none if isinstance(bound, Expression) else bound for bound, none in sides]
        attributes: dict[str, Any] = variable.attributes | {"bounds": numbers}
        twin = cp.Variable(variable.shape, name=variable.name(), **attributes)
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
        private = all(isinstance(p, PrivateParameter) for p in expression.parameters())
        kept = all(variable.id not in self._twins for variable in expression.variables())
        return private and kept and cp.cumsum not in expression.atoms()

    def _expression(self, expression: Any) -> Any:
        if isinstance(expression, list):
            return [self._expression(part) for part in expression]
        if isinstance(expression, cp.Variable):
            return self.twin(expression)
        if self._stays(expression):
            return expression
        if isinstance(expression, cp.Parameter):
            return cp.Constant(expression.value)
        args = [self._expression(arg) for arg in expression.args]
        if isinstance(expression, cp.cumsum):
            return _running_sum(args[0], expression.axis)
        return expression.copy(args)


def _running_sum(expression: Any, axis: Any) -> Any:
    """A cumulative sum as a product: every sum is stated in the terms themselves."""
    if expression.ndim == 0:
        return expression if axis is not None else cp.reshape(expression, (1,), order="F")
    if axis is None:
        return _running_sum(cp.reshape(expression, (expression.size,), order="C"), 0)
    shape = expression.shape
    places = np.arange(expression.size).reshape(shape, order="F")
    lines = np.moveaxis(places, axis, -1).reshape(-1, shape[axis])
    later, sooner = np.tril_indices(shape[axis])
    at = (lines[:, later].ravel(), lines[:, sooner].ravel())
    ones = sparse.csr_array((np.ones(at[0].size), at), shape=(places.size, places.size))
    flat = cp.reshape(expression, (places.size,), order="F")
    return cp.reshape(cp.Constant(ones) @ flat, shape, order="F")


def canonical(problem: cp.Problem) -> Canonical:
    """Run the reductions; refuse constraints that are not linear after them."""
    restated = Restated(problem)
    public = restated.problem
    refuse_non_convex(public)
    curved = not public.objective.expr.is_pwl()
    if curved:
        _refuse_constraints(public)
    reduced, origin, chain, inverse = _reduced(public, curved=curved)
    if not curved:
        _refuse_cones(reduced, origin)
        if any(_inner_equalities(reduced, origin)):
            _refuse_constraints(public)
    with named_errors():
        cone = cone_program(reduced, curved=curved)
    return Canonical(cone, origin, restated, chain, inverse)


def _refuse_constraints(problem: cp.Problem) -> None:
    """Raise unless the constraints alone become linear rows that can be certain.

    Alone: an atom that they share with the objective counts as the objective's otherwise.
    """
    alone = cp.Problem(cp.Minimize(0), problem.constraints)
    reduced, origin, _, _ = _reduced(alone, curved=False)
    _refuse_cones(reduced, origin)
    for name in _inner_equalities(reduced, origin):
        refuse_inner_equality(name)


def _inner_equalities(reduced: cp.Problem, origin: dict[int, Row]) -> Iterator[str]:
    """Where equalities come from that cvxpy made for atoms, with variables of its own."""
    for constraint in reduced.constraints:
        if isinstance(constraint, Equality | Zero) and origin[constraint.id].inner:
            yield origin[constraint.id].name


def _refuse_cones(reduced: cp.Problem, origin: dict[int, Row]) -> None:
    for constraint in reduced.constraints:
        if not isinstance(constraint, LINEAR):
            private = [p.name() for p in constraint.parameters()]
            refuse_cone(origin[constraint.id].name, private=private)


def _reduced(
    problem: cp.Problem, *, curved: bool
) -> tuple[cp.Problem, dict[int, Row], Chain, list[Any]]:
    """The problem in affine cone constraints, their origins, and the way back."""
    flip = [FlipObjective()] if isinstance(problem.objective, cp.Maximize) else []
    to_cone = Dcp2Cone(quad_obj=curved)
    steps = [*flip, to_cone, CvxAttr2Constr(reduce_bounds=True), EliminateZeroSized()]
    found, inverse, origin = problem, [], {}
    with named_errors():
        for step in steps:
            found, data = step.apply(found)
            inverse.append(data)
            if step is to_cone:
                origin = _origins(problem, found, curved=curved)
    for constraint in found.constraints:
        if constraint.id not in origin:
            names = ", ".join(map(methodcaller("name"), constraint.variables()))
            origin[constraint.id] = Row(f"bounds of {names}", inner=False)
    return found, origin, Chain(reductions=steps), inverse


@contextmanager
def named_errors() -> Iterator[None]:
    """What cvxpy says against the problem, which is public, as an error of this package."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        raise InvalidArgumentError(
            f"cvxpy cannot bring the problem into standard form: {text_of(error)[:300]}"
        ) from None


def _origins(problem: cp.Problem, reduced: cp.Problem, *, curved: bool) -> dict[int, Row]:
    """The user's constraint behind each canonical one: those made for its atoms come before it."""
    names, found, inside = {}, {}, []
    for number, constraint in enumerate(problem.constraints):
        names[constraint.id] = constraint_name(number, constraint)
    first = 0 if problem.objective.expr.is_affine() else _count_inner(problem, curved=curved)
    for number, constraint in enumerate(reduced.constraints):
        if number < first:
            found[constraint.id] = Row("the objective", inner=True)
        elif constraint.id in names:
            name = names[constraint.id]
            found |= dict.fromkeys(inside, Row(name, inner=True))
            found[constraint.id], inside = Row(name, inner=False), []
        else:
            inside.append(constraint.id)
    return found


def _count_inner(problem: cp.Problem, *, curved: bool) -> int:
    """How many constraints the atoms of the objective make: they come first."""
    expression = problem.objective.expr
    least = -expression if isinstance(problem.objective, cp.Maximize) else expression
    alone, _ = Dcp2Cone(quad_obj=curved).apply(cp.Problem(cp.Minimize(least)))
    return len(alone.constraints)
