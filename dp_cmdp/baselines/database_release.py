"""The database released once (ours).

    θ̃_k = θ_k + Δ_k Z_k,   Z_k i.i.d. truncated Laplace

then the robust program over the intervals [θ̃_k − sΔ_k, θ̃_k + sΔ_k], cut to the envelope.

Protected: A, b and c, through the database they read. Adjacency: one record changes, each entry by
at most its radius. Guaranteed: (ε, δ)-differential privacy; every answer is feasible for the true
constraints with certainty.

Differences from the publication
1. It has none: it is this project's own method. Against Algorithm 1 it spends the budget once
   instead of three times, and its support does not grow with the number of entries.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
    calibration: str = "tight",
    close: str | Mapping[str, str] = "upper",
) -> Answer:
    """Release the database, solve for everything the release allows.

    Parameters
    ----------
    calibration, close
        As in :func:`dp_cmdp.release.entries.release_database`.

    Notes
    -----
    **Privacy.** *Spends the budget*.
    """
    release = release_database(database, budget, rng=rng, calibration=calibration, close=close)
    return Answer(solve_private(program, release).x, converged=True, release=release)


METHOD = Method(
    name="database",
    label="Database release (ours)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    solver=answer,
)
