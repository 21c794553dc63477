"""The constraints of a cvxpy problem as rational numbers: every atom evaluated in fractions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import NonNeg
from cvxpy.constraints.zero import Equality, Zero

#: Atoms that numpy cannot evaluate in fractions, in words of the definition.
OWN = {
    "norm1": lambda _, x: sum(abs(each) for each in x.ravel()),
    "norm_inf": lambda _, x: max(abs(each) for each in x.ravel()),
    "abs": lambda _, x: np.vectorize(abs, otypes=[object])(x),
    "max": lambda atom, x: x.max(axis=atom.axis, keepdims=atom.keepdims),
    "min": lambda atom, x: x.min(axis=atom.axis, keepdims=atom.keepdims),
    "sum_largest": lambda atom, x: sum(sorted(x.ravel())[-atom.k :]),
    "Promote": lambda atom, x: np.full(atom.shape, x.item(), dtype=object),
    "DivExpression": lambda _, x, y: x / y,
    "Trace": lambda _, x: np.trace(x),
    "transpose": lambda atom, x: np.transpose(x, atom.axes),
    "maximum": lambda _, *x: reduce(np.maximum, x),
    "minimum": lambda _, *x: reduce(np.minimum, x),
    "cumsum": lambda atom, x: np.cumsum(x, axis=atom.axis),
    "diag_mat": lambda _, x: np.diagonal(x),
    "reshape": lambda atom, x: np.reshape(x, atom.shape, order=atom.order),
}


def fractions(values: Any) -> Any:
    """An array of fractions, equal to the floats."""
    dense: Any = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return np.vectorize(Fraction, otypes=[object])(dense.astype(float))


def value(expression: Any, data: Mapping[str, Any]) -> Any:
    """An expression in fractions, with parameters at the given data and variables as they are."""
    if not expression.args and expression.name() in data:
        return data[expression.name()]
    if not expression.args:
        return fractions(expression.value)
    args = [value(arg, data) for arg in expression.args]
    own = OWN.get(type(expression).__name__)
    found = np.asarray(own(expression, *args) if own else expression.numeric(args), dtype=object)
    assert all(isinstance(item, Fraction | int) for item in found.ravel()), type(expression)
    return found.reshape(expression.shape) if found.size == expression.size else found


def shortfall(problem: cp.Problem, data: Mapping[str, Any]) -> Fraction:
    """By how much the worst inequality or bound of a problem fails: exactly, ≤ 0 if none does."""
    worst = []
    for constraint in (*problem.constraints, *(c for v in problem.variables() for c in v.domain)):
        parts = [value(arg, data) for arg in constraint.args]
        gap = np.ravel(parts[0] - parts[1] if len(parts) == 2 else parts[0])
        if isinstance(constraint, Equality | Zero):
            size = max(abs(each) for each in np.ravel(parts[0]))
            assert max(abs(each) for each in gap) <= Fraction(1, 2**40) * (1 + size)
        else:
            worst.append(max(-gap if isinstance(constraint, NonNeg) else gap))
    return max(worst)
