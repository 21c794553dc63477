"""The best occupancy under rows with auxiliary variables, and the door to the engines for it.

Small models are one linear program in HiGHS (by simplex, or from :data:`INTERIOR` states on by
interior points), large ones column generation (:mod:`dp_cmdp.cmdp.solvers.row_columns`). Either way
the bound is ours: with multipliers y of the rows and whatever values v of the states,

    optimum ≤ μᵀv + max δ/(1 − γ) + bᵀy,        δ = c − Aᵀy + γ T v − v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.solution import relative_gap
from dp_cmdp.errors import ConvergenceError
from dp_cmdp.program.counterpart import Counterpart
from dp_cmdp.program.engines.highs import HighsEngine
from dp_cmdp.program.parametric import ParametricLP

if TYPE_CHECKING:
    from dp_cmdp.cmdp.solvers.pool import PolicyPool

#: Linear programs of models with at least so many states are solved by interior points.
INTERIOR = 800
#: Answers for models with more states are found by column generation.
LARGE = 4_000


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
    """The best occupancy of `cmdp` under a counterpart of the sensitive rows of its program.

    With a pool, by column generation, which learns from it and teaches it; where that is slow in a
    model that is not large, and without a pool, as one linear program.
    """
    if pool is not None and pool.library is not None:
        from dp_cmdp.cmdp.solvers.row_columns import GOOD_GAP, RowColumns

        large = cmdp.num_states > LARGE
        try:
            with pool.lock:
                found = RowColumns(pool.library, rows, objective=objective, gap=gap).run()
            if large or found.gap <= max(gap, GOOD_GAP):
                return found
        except ConvergenceError:
            if large:
                raise
    return solve_row_lp(program, cmdp, rows, objective=objective)


def solve_row_lp(
    program: ParametricLP, cmdp: CMDP, rows: Counterpart, *, objective: FloatArray
) -> RowSolution:
    """One linear program in HiGHS."""
    lp = program.with_rows(rows, objective)
    engine = HighsEngine(lp)
    if cmdp.num_states >= INTERIOR:
        engine = engine.by_interior_points()
    found = engine.run(lp.b)
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
