"""The best occupancy under rows with auxiliary variables, and the door to two engines for it.

Models of fewer than :data:`LARGE` states are one linear program in HiGHS, larger ones column
generation (:mod:`dp_cmdp.cmdp.solvers.row_columns`). Either way the bound is ours: with multipliers y of the rows and whatever values v of the states,

    optimum ≤ μᵀv + max δ/(1 − γ) + bᵀy,        δ = c − Aᵀy + γ T v − v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.solution import relative_gap
from dp_cmdp.errors import ConvergenceError, SolverError
from dp_cmdp.program.counterpart import Counterpart
from dp_cmdp.program.linear_program import make_engine
from dp_cmdp.program.parametric import ParametricLP

if TYPE_CHECKING:
    from dp_cmdp.cmdp.solvers.pool import PolicyPool

#: Models with at least so many states are solved by column generation, …
LARGE = 1_700
#: … and where that fails, those with at most so many become one linear program too.
ROW_LP_LIMIT = 3_000


@dataclass(frozen=True, slots=True, eq=False)
class RowSolution:
    """An occupancy measure under rows, the auxiliary variables beside it, and its gap.

    Attributes
    ----------
    occupancy : (num_states, num_actions)
    auxiliary : (auxiliary variables,)
    value : float
    dual : (rows,)
        Multipliers of the sensitive rows and of those that define auxiliary variables, at which
        `upper_bound` was found.
    upper_bound : float
    gap : float
        (upper_bound − value) / max(|value|, max|r|); what was asked for is not always reached.
    iterations : int

    Notes
    -----
    **Privacy.** *Post-processing* of the rows.
    """

    occupancy: FloatArray
    auxiliary: FloatArray
    value: float
    dual: FloatArray
    upper_bound: float
    gap: float
    iterations: int


def solve_rows_of(
    program: ParametricLP,
    cmdp: CMDP,
    rows: Counterpart,
    *,
    objective: FloatArray,
    gap: float,
    pool: PolicyPool | None,
) -> RowSolution:
    """The best occupancy of `cmdp` under a counterpart of the sensitive rows of its program."""
    if cmdp.num_states < LARGE:
        return solve_row_lp(program, cmdp, rows, objective=objective)
    from dp_cmdp.cmdp.solvers.pool import PolicyPool
    from dp_cmdp.cmdp.solvers.row_columns import RowColumns

    library = (PolicyPool(cmdp) if pool is None else pool).library
    library.prepare()
    try:
        return RowColumns(library, rows, objective=objective, gap=gap).run()
    except SolverError as error:
        if not isinstance(error, ConvergenceError) or cmdp.num_states > ROW_LP_LIMIT:
            raise
    return solve_row_lp(program, cmdp, rows, objective=objective)


def solve_row_lp(
    program: ParametricLP, cmdp: CMDP, rows: Counterpart, *, objective: FloatArray
) -> RowSolution:
    """One linear program in HiGHS."""
    lp = program.with_rows(rows, objective)
    found = make_engine(lp, "highs").run(lp.b)
    n = objective.size
    x, y, v = np.maximum(found.x[:n], 0.0), found.dual, found.dual_eq
    income = objective - (lp.A[:, :n]).T @ y
    residual = (income + cmdp.gamma * (cmdp.T @ v)).reshape(cmdp.r.shape) - v[:, None]
    bound = float(cmdp.mu @ v + residual.max() / (1.0 - cmdp.gamma) + lp.b @ y)
    value = float(objective @ x)
    return RowSolution(
        occupancy=frozen(x.reshape(cmdp.r.shape)),
        auxiliary=frozen(found.x[n:]),
        value=value,
        dual=frozen(y),
        upper_bound=bound,
        gap=relative_gap(bound, value, reward_scale=float(np.abs(objective).max())),
        iterations=0,
    )
