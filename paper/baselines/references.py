"""References beside the compared systems: no data, no privacy, A at its worst, no truncation.

``robust``         the program that holds for every database of the envelope reads no data: (0, 0)-
                   differential privacy. Who does no better has spent the budget for nothing
``nonprivate``     the true optimum. Protected: nothing
``sup_A_exact_c``  A at its worst over the envelope, true b and c: what is lost by never trusting A,
                   the floor of every method that saturates. Where one database entry is read by
                   both A and c (a price), c leaks it
``laplace``        Algorithm 1 with Laplace(σ) noise on the whole line, shifted by the same s: an
                   entry is on the wrong side of the truth with probability e^(−s/σ)/2, what
                   truncation is for. Rows with many private entries average that out and are
                   violated rarely; ``shift=0`` violates about half the tight rows. (ε, 0)-private
                   when one record changes each entry by at most its radius (δ only sets the shift)

Guaranteed: all answers but those of ``laplace`` certainly satisfy the true constraints.

Differences from the publication
1. They have none.
"""

from __future__ import annotations

from functools import lru_cache

import dp_cmdp as dp
from paper.baselines.method import Answer, Method, Task, unprotected
from paper.baselines.perturb import perturbed
from paper.blocks import equal_shares
from paper.linear import Floats


@lru_cache(maxsize=64)
def robust_point(program: dp.ParametricLP) -> Floats:
    """The answer that reads no data, found once per program: *public*."""
    return dp.answer(program).x


def robust(task: Task) -> Answer:
    """The best for every database: no data, no budget."""
    return Answer(robust_point(task.program))


def nonprivate(task: Task) -> Answer:
    """The true optimum, feasible in exact arithmetic."""
    known = dp.extend.UncertaintySet.box(task.values, task.values)
    leaks = "; ".join(map(unprotected, task.part.sensitive))
    return Answer(task.program.answer(known, task.values).x, note=leaks)


def worst_case(task: Task) -> Answer:
    """Solve with Â and the true b and c."""
    found = perturbed(task, alphas={}, unread="A")
    return Answer(found.x, note=found.note)


def untruncated(task: Task, *, shift: float = 1.0) -> Answer:
    """Algorithm 1 without truncation, shifted by `shift`·s; 0 is plain Laplace noise."""
    return perturbed(task, alphas=equal_shares(task.part), truncated=False, shift=shift)


ROBUST = Method("robust", private="Abc", promises_feasibility=True, solver=robust)
NONPRIVATE = Method(
    "nonprivate", private="", promises_feasibility=True, solver=nonprivate, model="none"
)
SUP_A = Method(
    "sup_A_exact_c", private="A", promises_feasibility=True, solver=worst_case, model="none"
)
LAPLACE = Method("laplace", private="Abc", promises_feasibility=False, solver=untruncated)
