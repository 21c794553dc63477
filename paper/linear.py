"""Linear programs in plain numbers: maximise c·x, A x ≤ b, A_eq x = b_eq, lower ≤ x ≤ upper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from dp_cmdp.errors import InfeasibleError, SolverError, UnboundedError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: What ``linprog`` says of programs that it did not solve.
FAILURES = {2: InfeasibleError, 3: UnboundedError}


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """One program; rows may be given in any form scipy knows."""

    c: Floats
    A: sparse.csr_array
    b: Floats
    A_eq: sparse.csr_array
    b_eq: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(
        cls,
        c: Any,
        A: Any = None,
        b: Any = (),
        *,
        A_eq: Any = None,
        b_eq: Any = (),
        lower: Any = 0.0,
        upper: Any = np.inf,
    ) -> LinearProgram:
        """With missing rows, and bounds spread over all variables."""
        objective = np.asarray(c, dtype=float)
        n = objective.size
        empty = sparse.csr_array((0, n))
        rows: list[Any] = [
            empty if part is None else sparse.csr_array(part, dtype=float) for part in (A, A_eq)
        ]
        return cls(
            objective,
            rows[0],
            np.asarray(b, dtype=float),
            rows[1],
            np.asarray(b_eq, dtype=float),
            np.broadcast_to(np.asarray(lower, dtype=float), n),
            np.broadcast_to(np.asarray(upper, dtype=float), n),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A best point, its objective, and the prices ≥ 0 of the rows A x ≤ b."""

    x: Floats
    objective: float
    dual: Floats


def solve(lp: LinearProgram) -> Solution:
    """A float optimum."""
    found = _run(lp, lp.c, 1.0)
    if found.status == 4:  # undecided: in other units, then without an objective
        unit = max(float(np.abs(side).max(initial=0.0)) for side in (lp.b, lp.b_eq)) or 1.0
        found = _run(lp, lp.c, unit)
        if found.status == 4 and _run(lp, 0.0 * lp.c, unit).status == 2:
            raise InfeasibleError(found.message)
    if found.status:
        raise FAILURES.get(found.status, SolverError)(found.message)
    dual = -np.asarray(found.ineqlin.marginals) if lp.b.size else np.empty(0)
    x = np.clip(found.x, lp.lower, lp.upper)
    return Solution(x, float(lp.c @ x), np.maximum(dual, 0.0))


def coordinate_ranges(
    lp: LinearProgram, directions: sparse.csr_array | None = None
) -> tuple[Floats, Floats]:
    """Smallest and largest value of linear functions over the feasible set."""
    n = lp.c.size
    matrix = sparse.eye_array(n, format="csr") if directions is None else directions
    low, high = np.empty(matrix.shape[0]), np.empty(matrix.shape[0])
    for number, (start, end) in enumerate(pairwise(matrix.indptr)):
        row = np.zeros(n)  # one at a time: all of them would be as large as a dense matrix
        row[matrix.indices[start:end]] = matrix.data[start:end]
        high[number], low[number] = _largest(lp, row), -_largest(lp, -row)
    return low, high


def _largest(lp: LinearProgram, c: Floats) -> float:
    """max cᵀx; 0 without a solve where x = 0 is feasible and clearly the best."""
    holds_at_zero = (lp.upper >= 0).all() and (lp.b >= 0).all() and (lp.b_eq == 0).all()
    if holds_at_zero and (c <= 0).all() and (lp.lower <= 0).all() and not lp.lower[c < 0].any():
        return 0.0
    try:
        return solve(replace(lp, c=c)).objective
    except UnboundedError:
        return np.inf


def _run(lp: LinearProgram, c: Floats, unit: float) -> Any:
    """HiGHS, with x counted in a unit."""
    engine: Any = optimize.linprog  # its stubs know no sparse rows
    found = engine(
        -c,
        A_ub=lp.A if lp.b.size else None,
        b_ub=lp.b / unit if lp.b.size else None,
        A_eq=lp.A_eq if lp.b_eq.size else None,
        b_eq=lp.b_eq / unit if lp.b_eq.size else None,
        bounds=np.column_stack([lp.lower, lp.upper]) / unit,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.x is not None:
        found.x = unit * found.x
    return found
