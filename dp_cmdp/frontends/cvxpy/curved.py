"""Curved public objectives over private linear rows: a cone program, then an exact point.

Clarabel's point misses the rows of the robust counterpart by its tolerance. The point next to it
(in the sum of absolute differences) that satisfies them in exact arithmetic is found by a linear
program, so that the certificate is the same as that of linear programs. The curve is in the
objective only: what the correction changes there costs value, never feasibility.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import AssumptionError, InfeasibleError, SolverError, UnboundedError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem
from dp_cmdp.program.certified import solve_certified
from dp_cmdp.program.linear_program import LinearProgram, Solution, inequality_slack


def robust_curved(compiled: CompiledProblem) -> Solution:
    """The best point that is feasible for every database of the envelope, certified.

    Raises
    ------
    AssumptionError
        If there is none, or the objective is unbounded.
    """
    program = compiled.program
    program.check_robust_feasibility()
    low, high = program.envelope.lower, program.envelope.upper
    try:
        return curved_over(compiled, Polytope(low, high), estimate=(low + high) / 2)
    except UnboundedError:
        raise AssumptionError(
            "the objective is unbounded over the points that are feasible for every database. No "
            "data was read",
            label="ass:bounded",
        ) from None
    except SolverError as error:
        raise AssumptionError(
            f"no point could be certified for every database in the envelope: {error}. No data "
            "was read",
            label="ass:feast",
        ) from None


def curved_over(compiled: CompiledProblem, polytope: Polytope, *, estimate: FloatArray) -> Solution:
    """The best point for every database of a box, certified for the linear rows."""
    program = compiled.program
    n, rows = program.num_variables, program.A.shape[0] + program.b_ub.size
    uncertain = program.polytope_rows(polytope)
    lp = program.robust_over(polytope, estimate=estimate)
    point, dual, dual_eq = _conic_point(compiled, lp)

    def slack_of(x: FloatArray) -> FloatArray:
        sensitive = uncertain.exact_slack(x[:n], np.empty(0))
        return np.concatenate([sensitive, inequality_slack(program.A_ub, program.b_ub, x=x[:n])])

    found = solve_certified(_nearest(lp, point), slack_of=slack_of)
    x = found.x[:n]
    return replace(
        found,
        x=_check.frozen(x),
        objective=-compiled.least_value(x, estimate),
        dual=_check.frozen(dual[:rows]),
        dual_eq=_check.frozen(dual_eq),
        engine="clarabel",
    )


def _nearest(lp: LinearProgram, point: FloatArray) -> LinearProgram:
    """max −Σ s over the points of `lp` with |x − point| ≤ s."""
    n = lp.num_variables
    unit = sparse.eye_array(n)
    near = sparse.vstack([sparse.hstack([unit, -unit]), sparse.hstack([-unit, -unit])])
    wider = [sparse.hstack([part, sparse.csr_array(part.shape)]) for part in (lp.A, lp.A_eq)]
    return LinearProgram(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        sparse.vstack([wider[0], near]),
        b=np.concatenate([lp.b, point, -point]),
        A_eq=wider[1],
        b_eq=lp.b_eq,
        lower=np.concatenate([lp.lower, np.zeros(n)]),
        upper=np.concatenate([lp.upper, np.full(n, np.inf)]),
    )


def _conic_point(
    compiled: CompiledProblem, lp: LinearProgram
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Clarabel's point of the robust counterpart, and the multipliers of its rows."""
    x = cp.Variable(lp.num_variables)
    z = x[: compiled.program.num_variables]
    cost = -lp.c @ x
    if compiled.curve.nnz:
        cost = cost + 0.5 * cp.quad_form(z, cp.psd_wrap(compiled.curve))
    rows: list[Any] = [lp.A @ x <= lp.b] if lp.b.size else []
    equalities: list[Any] = [lp.A_eq @ x == lp.b_eq] if lp.b_eq.size else []
    bounds = [
        side * x[finite] <= side * limit[finite]
        for side, limit in ((1.0, lp.upper), (-1.0, lp.lower))
        if (finite := np.isfinite(limit)).any()
    ]
    problem = cp.Problem(cp.Minimize(cost), [*rows, *equalities, *bounds, *_cones(compiled, z)])
    try:
        with warnings.catch_warnings():  # of inaccuracy: what counts is certified afterwards
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise SolverError(f"Clarabel failed ({error}); rescale the problem") from None
    if problem.status in ("unbounded", "unbounded_inaccurate"):
        raise UnboundedError("the objective grows without limit; bound the variables")
    if problem.status not in ("optimal", "optimal_inaccurate") or x.value is None:
        raise InfeasibleError("no point satisfies the rows in the domain of the objective")
    return np.array(x.value), _dual(rows, lp.b.size), _dual(equalities, lp.b_eq.size)


def _dual(constraints: list[Any], size: int) -> FloatArray:
    return np.array(constraints[0].dual_value).reshape(size) if constraints else np.empty(0)


def _cones(compiled: CompiledProblem, z: Any) -> list[Any]:
    """The cones of the objective's atoms, which read no private entry, over the variables z."""
    found, start = [], 0
    A, b = compiled.cone_rows()
    for constraint in compiled.cone_constraints():
        args = []
        for arg in constraint.args:
            part = slice(start, start := start + arg.size)
            args.append(cp.reshape(A[part] @ z + b[part], arg.shape, order="F"))
        data = constraint.get_data() or []
        found.append(type(constraint)(*args, *data[: len(data) - 1]))
    return found
