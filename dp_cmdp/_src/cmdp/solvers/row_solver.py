"""The best occupancy under rows with auxiliary variables, and the choice of an engine for it.

Small models are one linear program in HiGHS, large ones column generation (``row_columns.py``).
Either way the bound is ours: with multipliers y of the rows and whatever values v of the states,

    optimum ≤ startᵀv + max δ/(1 − γ) + bᵀy,        δ = r − Aᵀy + γ T v − v.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base.errors import ConvergenceError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.solvers.occupancy_lp import Solution, flow_matrix
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.rows import RobustRows

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool

#: Linear programs of models with at least so many states are solved by interior points.
INTERIOR = 800
#: Answers for models with more states are found by column generation.
LARGE = 4_000


def row_program(mdp: MDP, rows: RobustRows) -> LinearProgram:
    """The occupancy program whose cost rows hold for a whole uncertainty set."""
    none, top = np.zeros(mdp.r.size), np.full(mdp.r.size, np.inf)
    return rows.program(mdp.r.ravel(), lower=none, upper=top, A_eq=flow_matrix(mdp), b_eq=mdp.start)


def solve_rows(
    mdp: MDP,
    rows: RobustRows,
    *,
    margin: FloatArray,
    gap: float,
    pool: PolicyPool | EpisodePool | None,
    basis: Any = None,
) -> Solution:
    """The best occupancy under the counterpart of `rows`, each `margin` below its limit.

    With a pool, by column generation, which learns from it and teaches it; where that is slow in a
    model that is not large, and without a pool, as one linear program, from a basis if there is
    one of its shape. Over a horizon there is no such program.
    """
    if pool is not None and (not isinstance(pool, PolicyPool) or pool.workspace is not None):
        from dp_cmdp._src.cmdp.solvers.row_columns import GOOD_GAP, RowColumns

        large = mdp.num_states > LARGE or mdp.horizon is not None
        A, b = rows.counterpart
        right = b - np.append(margin, np.zeros(b.size - margin.size))
        try:
            found = RowColumns(pool, A, right, num_rows=margin.size, gap=gap).run()
            if large or found.gap <= max(gap, GOOD_GAP):
                return found
        except ConvergenceError:
            if large:
                raise
    lp = row_program(mdp, rows)
    lp = replace(lp, b=lp.b - np.append(margin, np.zeros(lp.b.size - margin.size)))
    engine = HighsEngine(lp, start=basis, interior=mdp.num_states >= INTERIOR)
    found, n = engine.run(), mdp.r.size
    x, y, v = np.maximum(found.x[:n], 0.0), found.dual, found.dual_eq
    income = mdp.r.ravel() - lp.A[:, :n].T @ y
    residual = (income + mdp.gamma * (mdp.T @ v)).reshape(mdp.r.shape) - v[:, None]
    bound = float(mdp.start @ v + residual.max() / (1.0 - mdp.gamma) + lp.b @ y)
    more = {"auxiliary": frozen(found.x[n:]), "basis": found.basis}
    return Solution.of(mdp, x, y, bound, engine="lp", **more)
