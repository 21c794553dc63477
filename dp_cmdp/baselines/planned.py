"""Facts about the database as planned: intervals, and bounds on totals where they promise more.

A first look releases the entries with a share of the budget; what it says proposes totals, which
are measured with the rest (:mod:`dp_cmdp.release.looks`). The share, and whether totals are
measured at all, is chosen on public trials (:mod:`dp_cmdp.release.planner`).

Protected: A, b and c, through the database they read. Adjacency: one record changes, each entry by
at most its radius. Guaranteed: (ε, δ)-differential privacy; every answer is feasible for the true
constraints with certainty.

Differences from the publication
1. It has none: it is this project's own method. Against the database release it pays for the sum of
   a row with one noise instead of one per entry.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.errors import SolverError
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import planned
from dp_cmdp.release.solve import robust_solution, solve_private


@lru_cache(maxsize=16)
def robust_point(program: ParametricLP) -> FloatArray:
    """The answer that reads no data, found once per program: *public*."""
    return robust_solution(program).x


@lru_cache(maxsize=64)
def plan_of(word: str, program: ParametricLP, budget: PrivacyBudget) -> Plan:
    """The plan meant by "auto" or "totals", chosen once per program and budget: *public*."""
    return planned(word, program, budget).plan


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
    plan: str = "auto",
) -> Answer:
    """Release what the plan says, solve for everything the release allows.

    As :func:`dp_cmdp.release.solve.release_and_solve`, whose public work is done once per program,
    with the noise of the other methods, so that what differs is the plan.

    Parameters
    ----------
    plan : {"auto", "database", "totals"}
        As in :func:`dp_cmdp.release.solve.release_and_solve`.

    Notes
    -----
    **Privacy.** *Spends the budget*.
    """
    program.check_owns(database)
    spare = robust_point(program)
    chosen = plan_of(plan, program, budget)
    release = release_looks(
        database, budget, program=program, plan=chosen, rng=rng, calibration="tight"
    )
    try:
        x = solve_private(program, release).x
    except SolverError:
        x = spare
    return Answer(x, converged=True, release=release)


METHOD = Method(
    name="planned",
    label="Planned release (ours)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    model="differential privacy",
    solver=answer,
)
