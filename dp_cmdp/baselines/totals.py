"""Totals in any case: the planned release with the best plan that measures some.

Protected: A, b and c, through the database they read. Adjacency: one record changes, each entry by
at most its radius. Guaranteed: (ε, δ)-differential privacy; every answer is feasible for the true
constraints with certainty.

Differences from the publication
1. It has none: it shows what :mod:`~dp_cmdp.baselines.planned` would lose without the choice.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines import planned
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.program.parametric import ParametricLP


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
) -> Answer:
    """Measure totals, after a look at the entries or without one, and solve for what is known.

    Notes
    -----
    **Privacy.** *Spends the budget*.
    """
    return planned.answer(program, database, budget, rng=rng, plan="totals")


METHOD = Method(
    name="totals",
    label="Totals (ours)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    model="differential privacy",
    solver=answer,
)
