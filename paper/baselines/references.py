"""References beside the compared systems: no data, no privacy, and A at its worst.

``robust``         the program that holds for every database of the envelope reads no data: (0, 0)-
                   differential privacy. Who does no better has spent the budget for nothing
``nonprivate``     the true optimum. Protected: nothing
``sup_A_exact_c``  A at its worst over the envelope, true b and c: what is lost by never trusting A,
                   the floor of every method that saturates. Where one database entry is read by
                   both A and c (a price), c leaks it

Guaranteed: all their answers are feasible for the true constraints with certainty.

Differences from the publication
1. They have none.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import dp_cmdp as dp
from paper.baselines.method import Answer, Method, unprotected
from paper.baselines.perturb import perturbed
from paper.blocks import form
from paper.linear import Floats


@lru_cache(maxsize=64)
def robust_point(program: dp.ParametricLP) -> Floats:
    """The answer that reads no data, found once per program: *public*."""
    return dp.answer(program).x


def robust(
    program: dp.ParametricLP, values: Floats, budget: dp.PrivacyBudget, *, rng: np.random.Generator
) -> Answer:
    """The best for every database; `values`, `budget` and `rng` are not used."""
    return Answer(robust_point(program))


def nonprivate(
    program: dp.ParametricLP, values: Floats, budget: dp.PrivacyBudget, *, rng: np.random.Generator
) -> Answer:
    """The true optimum, feasible in exact arithmetic; `budget` and `rng` are not used."""
    known = dp.extend.UncertaintySet.box(values, values)
    leaks = "; ".join(map(unprotected, form(program).sensitive))
    return Answer(program.answer(known, values).x, note=leaks)


def worst_case(
    program: dp.ParametricLP, values: Floats, budget: dp.PrivacyBudget, *, rng: np.random.Generator
) -> Answer:
    """Solve with Â and the true b and c; `budget` and `rng` are not used."""
    found = perturbed(program, values, budget, alphas={}, rng=rng, unread="A")
    return Answer(found.x, note=found.note)


ROBUST = Method(
    name="robust",
    label="Robust program (ε = 0)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    solver=robust,
)
NONPRIVATE = Method(
    name="nonprivate",
    label="No privacy",
    private=(),
    promises_feasibility=True,
    model="none",
    solver=nonprivate,
)
SUP_A = Method(
    name="sup_A_exact_c",
    label="Worst-case A, exact b and c",
    private=("A",),
    promises_feasibility=True,
    model="none",
    solver=worst_case,
)
