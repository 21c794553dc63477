"""Costs in rational arithmetic, for small models.

The same numbers that ``certificate.py`` bounds: the floats of the model and the policy
are exact rationals, each distribution is divided by its own sum, and (I − γP_π)v = f_π is solved
by elimination over the fractions, for totals without the states after the end; over a horizon
v is stepped back. With numbers that grow: an oracle for tens of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dp_cmdp._src.cmdp.model import CMDP
from dp_cmdp._src.cmdp.policy import Policy

Row = list[Fraction]


def exact_costs(cmdp: CMDP, policy: Policy) -> tuple[Fraction, ...]:
    """The K costs of `policy` as exact fractions."""
    start, moves = _distribution(cmdp.start), [_distribution(row) for row in cmdp.T.toarray()]
    costs = [[[Fraction(x) for x in row] for row in cost.tolist()] for cost in cmdp.cost]
    if cmdp.horizon is not None:
        values = [_stepped(cmdp, policy, moves, cost) for cost in costs]
        return tuple(_dot(start, value) for value in values)
    table = []
    for state, choice in enumerate(map(_distribution, policy.probabilities)):
        row = [-Fraction(cmdp.gamma) * p for p in _mixed(cmdp, moves, choice, state)]
        if cmdp.ending is not None and cmdp.ending.lengths[state] == 0.0:
            row = [Fraction(0)] * len(row)
        row[state] += 1
        table.append(row + [_dot(choice, cost[state]) for cost in costs])
    return tuple(_dot(start, column) for column in zip(*_eliminated(table), strict=True))


def _mixed(cmdp: CMDP, moves: Sequence[Row], choice: Row, state: int) -> Row:
    """The transitions of a state under a choice of actions."""
    pairs = moves[state * cmdp.num_actions : (state + 1) * cmdp.num_actions]
    return [_dot(choice, column) for column in zip(*pairs, strict=True)]


def _stepped(cmdp: CMDP, policy: Policy, moves: Sequence[Row], cost: Sequence[Row]) -> Row:
    """What an episode costs from every state."""
    gamma, value = Fraction(cmdp.gamma), [Fraction(0)] * cmdp.num_states
    for t in reversed(range(cmdp.horizon or 0)):
        choices = map(_distribution, policy._step(t).table(cmdp.num_actions))
        value = [_dot(choice, cost[s]) + gamma * _dot(_mixed(cmdp, moves, choice, s), value)
                 for s, choice in enumerate(choices)]  # fmt: skip
    return value


def _distribution(row: np.ndarray) -> Row:
    entries = [Fraction(x) for x in row.tolist()]
    total = sum(entries)
    return [entry / total for entry in entries]


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def _eliminated(table: list[Row]) -> list[Row]:
    """Solve a diagonally dominant [M | g] by Gauss–Jordan elimination on the diagonal."""
    size = len(table)
    for pivot, source in enumerate(table):
        inverse = 1 / source[pivot]
        source[pivot:] = [inverse * entry for entry in source[pivot:]]
        for row in table:
            factor = row[pivot]
            if row is not source and factor:
                row[pivot:] = [
                    a - factor * b for a, b in zip(row[pivot:], source[pivot:], strict=True)
                ]
    return [row[size:] for row in table]
