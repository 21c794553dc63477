# ruff: noqa: N999
"""Reference: A at its worst over the envelope, b and c exact.

    maximise c(D)ᵀx   subject to   Âx ≤ b(D)

What is lost by never trusting A: the floor of every method that saturates, as Benvenuti et al. 2024
does when the noise is wide. Protected: A, which is not read. b and c are read as they are and leak;
where one database entry is read by both A and c (a price), c leaks it. Guaranteed: feasibility with
certainty, and an answer that does not depend on A.

Differences from the publication
1. It has none: a reference.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.blocks import publish_blocks
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Noise
from dp_cmdp.noise.plans import Intervals, unbounded
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.solve import solve_private


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
) -> Answer:
    """Solve with Â and the true b and c; `budget` and `rng` are not used.

    Notes
    -----
    **Privacy.** *Curator only*, because of b and c.
    """
    release = publish_blocks(program, database, budget, noise={"A": _unread})
    x = solve_private(program, release).x
    return Answer(x, converged=True, note="; ".join(release.leaks))


def _unread(values: FloatArray) -> Intervals:
    """Intervals that know nothing; publishing cuts them to the envelope."""
    return unbounded(np.zeros(values.size), Noise("A", "none", "none", 0.0, None))


METHOD = Method(
    name="sup_A_exact_c",
    label="Worst-case A, exact b and c",
    private=("A",),
    promises_feasibility=True,
    model="none",
    solver=answer,
)
