"""A cost of entering a state is counted in full, whatever T was rounded to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.promises.adapter import Envelope, entering_costs, robust_policy

GAMMA = 0.875
#: States: a fork, a hazard, a meadow. Actions: through the hazard, which pays, or around it.
TO = [[1, 2], [0, 0], [0, 0]]
REWARD = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
HAZARD, LIMIT, WORST = 1, 0.75, 1.0


def moves(weight: float) -> Any:
    """Every pair of a state and an action has one successor, of this weight."""
    table = np.zeros((3, 2, 3))
    for state, successors in enumerate(TO):
        for action, successor in enumerate(successors):
            table[state, action, successor] = weight
    return table


def exact_cost(probabilities: Any, entries: Fraction) -> Fraction:
    """Discounted cost of a policy at the worst hazard, where every risk enters it so often.

    v(fork) = risk·(entries·WORST + γ·v(hazard)) + (1 − risk)·γ·v(meadow), and v(hazard) and
    v(meadow) are γ·v(fork): rows of T divided by their sum are certain moves.
    """
    row = [Fraction(p) for p in probabilities[0].tolist()]
    return row[0] / sum(row) * entries * Fraction(WORST) / (1 - Fraction(GAMMA) ** 2)


@pytest.mark.parametrize("counted", ["as in T", "once"])
@pytest.mark.parametrize("weight", [1.0, 1 - 9e-10, 1 + 9e-10, 1 - 2.0**-40])
def test_certified_costs_of_certain_moves_are_not_rounded_down(weight: float, counted: str) -> None:
    """Rows of T may miss 1 by rounding; expected entries are divided by the same sum."""
    model = entering_costs(
        moves(weight),
        REWARD,
        gamma=GAMMA,
        start=[1.0, 0.0, 0.0],
        states=[HAZARD],
        cost=Envelope([0.0], [WORST], radius=0.1),
        limit=Envelope([LIMIT], [2.0], radius=0.1),
        arrivals=None if counted == "as in T" else moves(1.0),
    )
    found = robust_policy(model)
    assert found.verified
    entries = Fraction(1) if counted == "as in T" else 1 / Fraction(weight)
    true = exact_cost(found.probabilities, entries)
    assert true > Fraction(99, 100) * Fraction(LIMIT)  # the limit decides
    assert true <= Fraction(found.worst_cost) <= Fraction(LIMIT)
