"""No policy keeps its limits for every database: by how much limits must be raised, and why."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._src.base.errors import RefusedError, SolverError
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.charges import LISTED
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.cmdp.safest import safest_policy
from dp_cmdp._src.cmdp.solvers.pool import LP_LIMIT
from dp_cmdp._src.cmdp.solvers.row_solver import row_program
from dp_cmdp._src.cmdp.solvers.whole_lp import elastic
from dp_cmdp._src.cmdp.synthesis import proof
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.rows import RobustRows

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.parametric import ParametricCMDP


def refusal(problem: ParametricCMDP, rows: RobustRows) -> RefusedError:
    """No policy keeps its limits for every database: by how much limits must be raised, and why."""
    worst = problem.worst(rows.known)
    safest = safest_policy(worst)
    repairs = _repairs(problem, rows, safest)
    raised = ", ".join(f"that of {name!r} by {much:.6g}" for name, much in repairs.items())
    x = chain_of(problem.mdp, safest).occupancy()
    share = (worst.cost.sum(axis=0) * x).sum(axis=1)
    order = np.argsort(-share, kind="stable")[:LISTED]
    named = ", ".join(f"state {s} ({share[s]:.3g})" for s in order[share[order] > 0.0].tolist())
    where = (
        f". The safest policy still pays for what it does in: {named}; fewer candidates there (or "
        "entered from there), or a lower highest cost, help too"
    )
    return RefusedError(
        f"no policy keeps its limits for every possible database; raise the lowest limit, "
        f"{raised}{where if named else ''}",
        repairs=repairs,
    )


def _repairs(problem: ParametricCMDP, rows: RobustRows, safest: Policy) -> dict[str, float]:
    """By how much limits must be raised at least, in all; what the safest policy exceeds them by
    in models too large for a linear program, and over a horizon."""
    model = problem.solved
    worst = model.worst(rows.known)
    largest = np.abs(worst.cost).max(axis=(1, 2))
    scale = np.where(largest > 0.0, largest, 1.0)
    excess = None
    if model.mdp.horizon is None and model.mdp.num_states <= LP_LIMIT:
        inner = RobustRows(model.rows, rows.known)
        relaxed = elastic(row_program(model.mdp, inner), scale.size, scale=scale)
        with suppress(SolverError):
            excess = HighsEngine(relaxed).run().x[-scale.size :] * scale
    if excess is None or not (excess > 0.0).any():
        excess = -proof(problem, safest, rows)[0].slack
    pairs = zip(problem.names, excess.tolist(), strict=True)
    return {name: much for name, much in pairs if much > 0.0}
