"""Reference: the program at the true database.

Protected: nothing. Guaranteed: the true optimum, feasible in exact arithmetic.

Differences from the publication
1. It has none: a reference.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import unprotected
from dp_cmdp.program.certified import solve_certified
from dp_cmdp.program.parametric import ParametricLP


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
) -> Answer:
    """The true optimum; `budget` and `rng` are not used.

    Notes
    -----
    **Privacy.** *Curator only*.
    """
    truth = database.values
    solution = solve_certified(
        program.at(truth),
        slack_of=lambda x: program.worst_case_slack(x, lower=truth, upper=truth),
    )
    leaks = "; ".join(map(unprotected, program.sensitive_blocks))
    return Answer(solution.x, converged=True, note=leaks)


METHOD = Method(
    name="nonprivate",
    label="No privacy",
    private=(),
    promises_feasibility=True,
    model="none",
    solver=answer,
)
