"""Reference: the robust program over the whole envelope, which reads no data (ε = 0).

Protected: everything; the answer is a function of public data alone, so privacy is perfect under
any adjacency. Guaranteed: (0, 0)-differential privacy; every answer is feasible with certainty.
A private method that does no better than this one has spent its budget for nothing.

Differences from the publication
1. It has none: a reference. The objective is taken at the middle of the envelope.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Guarantee, Release
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
    """Solve for every database of the envelope; `database`, `budget` and `rng` are not used.

    Notes
    -----
    **Privacy.** *Public*.
    """
    envelope = program.envelope
    release = Release(
        estimate=(envelope.lower + envelope.upper) / 2,
        lower=envelope.lower,
        upper=envelope.upper,
        guarantee=Guarantee(Fraction(0), Fraction(0), envelope.record_size),
        method="database",
        groups=envelope.groups,
        noise=(),
        secure=True,
        envelope=envelope,
    )
    return Answer(solve_private(program, release).x, converged=True, release=release)


METHOD = Method(
    name="robust",
    label="Robust program (ε = 0)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    solver=answer,
)
