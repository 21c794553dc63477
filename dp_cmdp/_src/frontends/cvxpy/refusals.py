"""What cannot be made private, said by name, with what to change; all from public data."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import cvxpy as cp
import numpy as np

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.frontends.cvxpy.parameter import PrivateParameter

#: Characters of a constraint that a message shows.
SHORT = 60


def constraint_name(number: int, constraint: Any) -> str:
    """The label of a constraint, or its number and text."""
    if constraint.label is not None:
        return str(constraint.label)
    text = " ".join(str(constraint).split())
    return f"constraint {number} ({text if len(text) <= SHORT else text[: SHORT - 1] + '…'})"


def private_parameters(problem: cp.Problem) -> list[PrivateParameter]:
    """The private parameters of a problem, in its order."""
    return [p for p in problem.parameters() if isinstance(p, PrivateParameter)]


def refuse_unfit(problem: cp.Problem) -> None:
    """Raise unless the leaves of a problem are such that a private answer can be made."""
    if not private_parameters(problem):
        raise InvalidArgumentError(
            "the problem has no private parameter: use dp_cmdp.cvxpy.PrivateParameter for the data "
            "to protect, or problem.solve() if there is none"
        )
    if not problem.variables():
        raise InvalidArgumentError("the problem has no variable, so there is nothing to decide")
    for leaf in (*problem.variables(), *problem.parameters()):
        for kind in ("complex", "imag", "hermitian"):
            if leaf.attributes[kind]:
                raise InvalidArgumentError(
                    f"{leaf.name()} is {kind}: state its real and imaginary parts apart"
                )
    for leaf in problem.variables():
        if leaf.attributes["boolean"] or leaf.attributes["integer"]:
            raise InvalidArgumentError(
                f"variable {leaf.name()} is boolean or integer: only continuous problems have a "
                "certified private answer; relax it (bounds=[0, 1]) and round with care"
            )
    for leaf in problem.parameters():
        if not isinstance(leaf, PrivateParameter) and not _has_value(leaf):
            raise InvalidArgumentError(
                f"public parameter {leaf.name()} has no value: set {leaf.name()}.value, or make it "
                "a PrivateParameter"
            )


def _has_value(parameter: cp.Parameter) -> bool:
    try:
        return parameter.value is not None
    except Exception:  # a callback of somebody else, perhaps of a private parameter
        return False


def refuse_non_convex(problem: cp.Problem) -> None:
    """Raise unless a problem follows cvxpy's rules of convexity, and those for parameters."""
    parts: list[tuple[str, Any]] = [("the objective", problem.objective)]
    for number, constraint in enumerate(problem.constraints):
        parts.append((constraint_name(number, constraint), constraint))
    for name, part in parts:
        curved = not all(map(methodcaller("is_affine"), part.args))
        if curved and any(map(_has_nan, part.constants())):
            refuse_not_finite(name)  # inside an atom; those of rows are told with their place
        if not part.is_dcp():
            raise InvalidArgumentError(
                f"{name} is not convex by cvxpy's rules (DCP): state it with convex functions"
            )
    for name, part in parts:
        if not part.is_dcp(dpp=True):
            raise InvalidArgumentError(
                f"{name} is not linear in {_names(part)} by cvxpy's rules for parameters (DPP): "
                "products of two private parameters, non-linear functions of one that multiply a "
                "variable, and a few atoms (kron, convolve, …) are not. Make one PrivateParameter "
                "of the product, move one factor to the other side, or write the sums out"
            )


def _has_nan(constant: Any) -> bool:
    table = constant.value
    return bool(np.isnan(table.tocoo().data if hasattr(table, "tocoo") else table).any())


def _names(part: Any) -> str:
    private = [p.name() for p in part.parameters() if isinstance(p, PrivateParameter)]
    return ", ".join(private) or "its private parameters"


def refuse_equality(name: str, parameters: Sequence[str]) -> None:
    """Raise: a private equality cannot hold with certainty."""
    raise InvalidArgumentError(
        f"{name} is an equality with the private parameter {', '.join(parameters)}: nobody "
        "who must not know a number can satisfy an equality in it with certainty. Say which side "
        "may give way: one inequality, or two with a slack variable s >= 0 that the objective "
        "charges (left <= right + s, left >= right - s). A variable that the equality only defines "
        "can be replaced by its expression"
    )


def refuse_inner_equality(name: str) -> None:
    """Raise: what an equality defines is known to rounding only."""
    raise InvalidArgumentError(
        f"{name} has an atom that cvxpy defines by equalities of variables of its own (suppfunc, "
        "perspective, …): equalities hold only to the rounding of floats, so the constraint would "
        "not be certain. Write its rows out in your own variables (for a support function: one row "
        "per corner of the set), or move the atom to the objective"
    )


def refuse_cone(name: str, *, private: Sequence[str] = ()) -> None:
    """Raise: only linear constraints are certified."""
    if private:
        raise InvalidArgumentError(
            f"{name} has the private parameter {', '.join(private)} inside a curve (a square, a "
            "2-norm, an exponential, …): its worst case is not linear. Use abs, max, norms 1 or "
            "inf, or keep private data in linear rows"
        )
    raise InvalidArgumentError(
        f"{name} is curved (a square, a 2-norm, an exponential, a matrix cone, …), and only what "
        "is linear after cvxpy's reductions is certified in exact arithmetic. Put the curve into "
        "the objective, or use norms 1 or inf, abs, max, or tangents"
    )


def refuse_not_finite(name: str) -> None:
    """Raise: a public number of the problem is none."""
    raise InvalidArgumentError(
        f"{name} has a NaN or infinite number among its public constants: replace it, or leave the "
        "row out if it says nothing"
    )
