"""Curved public objectives over private linear rows: a cone program, then an exact point.

Clarabel's point misses the rows of the robust counterpart by its tolerance. The point next to it
(in the sum of absolute differences) that satisfies them in exact arithmetic is found by a linear
program, so that the certificate is the same as that of linear programs. The curve is in the
objective only: what the correction changes there costs value, never feasibility.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InfeasibleError, RefusedError, SolverError, UnboundedError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import UncertaintySet, is_everything
from dp_cmdp._src.frontends.cvxpy.tensors import LINEAR
from dp_cmdp._src.program.certified import solve_certified
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.parametric import LPAnswer
from dp_cmdp._src.program.rows import RobustRows

if TYPE_CHECKING:
    from dp_cmdp._src.frontends.cvxpy.problem import CvxpyProblem


def curved_answer(
    made: CvxpyProblem, known: UncertaintySet, estimate: FloatArray | None
) -> LPAnswer:
    """The best point for every database of a set, certified; refused where it is the envelope."""
    if not is_everything(known, made.linear.envelope):
        return _answer(made, known, estimate)
    n = made.linear.lower.size
    made.linear.with_objective(maximize=np.zeros(n)).answer(known)  # refuses by the user's rows
    try:
        return _answer(made, known, estimate)
    except UnboundedError:
        raise RefusedError(
            "the objective is unbounded over the points that are feasible for every database. No "
            "data was read"
        ) from None
    except SolverError as error:
        raise RefusedError(
            f"no point could be certified for every database of the envelope: {error}. No data was "
            "read"
        ) from None


def _answer(made: CvxpyProblem, known: UncertaintySet, estimate: FloatArray | None) -> LPAnswer:
    program = made.linear
    theta = known.lower + (known.upper - known.lower) / 2 if estimate is None else estimate
    robust, sense = RobustRows(program._rows, known), program.sense
    c = np.asarray(program.objective.at(theta), dtype=np.float64)
    lp = robust.program(
        sense * c,
        lower=program.lower,
        upper=program.upper,
        A_eq=program.A_eq,
        b_eq=program.b_eq,
    )
    near = _nearest(lp, _conic_point(made, lp))
    size = lp.c.size
    point = solve_certified(near, lambda found: robust.slack(*robust.split(found[:size]))).x
    x, links = robust.split(point[:size])
    return LPAnswer(
        decision=check.frozen(x.copy()),
        value=float(c @ x),
        estimate=check.frozen(np.array(theta, dtype=np.float64)),
        bound=sense * np.inf,
        certificate=program._proof(robust, x, links),
        weights=program._rows.table(program._rows.weights(x)),
        multipliers=robust.multipliers(links),
        problem=program,
        source="robust" if is_everything(known, program.envelope) else "release",
    )


def _nearest(lp: LinearProgram, point: FloatArray) -> LinearProgram:
    """max −Σ s over the points of `lp` with |x − point| ≤ s."""
    n = lp.c.size
    unit = sparse.eye_array(n)
    near = sparse.vstack([sparse.hstack([unit, -unit]), sparse.hstack([-unit, -unit])])
    wider = [sparse.hstack([part, sparse.csr_array(part.shape)]) for part in (lp.A, lp.A_eq)]
    return LinearProgram(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        sparse.csr_array(sparse.vstack([wider[0], near])),
        np.concatenate([lp.b, point, -point]),
        sparse.csr_array(wider[1]),
        lp.b_eq,
        np.concatenate([lp.lower, np.zeros(n)]),
        np.concatenate([lp.upper, np.full(n, np.inf)]),
    )


def _conic_point(made: CvxpyProblem, lp: LinearProgram) -> FloatArray:
    """Clarabel's point of the robust counterpart."""
    x = cp.Variable(lp.c.size)
    z = x[: made.size]
    cost = -lp.c @ x
    if made.curve.nnz:
        cost = cost + 0.5 * cp.quad_form(z, cp.psd_wrap(made.curve))
    rows: list[Any] = [lp.A @ x <= lp.b] if lp.b.size else []
    rows += [lp.A_eq @ x == lp.b_eq] if lp.b_eq.size else []
    rows += [
        side * x[finite] <= side * limit[finite]
        for side, limit in ((1.0, lp.upper), (-1.0, lp.lower))
        if (finite := np.isfinite(limit)).any()
    ]
    problem = cp.Problem(cp.Minimize(cost), [*rows, *_cones(made, z)])
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
    return np.array(x.value)


def _cones(made: CvxpyProblem, z: Any) -> list[Any]:
    """The cones of the objective's atoms, which read no private entry, over the variables z."""
    found, start = [], 0
    A, b = made.cones
    for constraint in made.canonical.cone.constraints:
        if isinstance(constraint, LINEAR):
            continue
        args = []
        for arg in constraint.args:
            part = slice(start, start := start + arg.size)
            args.append(cp.reshape(A[part] @ z + b[part], arg.shape, order="F"))
        data = constraint.get_data() or []
        found.append(type(constraint)(*args, *data[: len(data) - 1]))
    return found
