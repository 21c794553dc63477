"""Discounted costs in rational arithmetic, for small models.

The same numbers that ``certificate.py`` bounds: the floats of the model and the policy
are exact rationals, each distribution is divided by its own sum, and (I − γP_π)v = f_π is solved
by elimination over the fractions. Cubic, with numbers that grow: an oracle for tens of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dp_cmdp._src.cmdp.model import CMDP
from dp_cmdp._src.cmdp.policy import Policy

Row = list[Fraction]


def exact_costs(cmdp: CMDP, policy: Policy) -> tuple[Fraction, ...]:
    """The K discounted costs of `policy` as exact fractions."""
    gamma, start = Fraction(cmdp.gamma), _distribution(cmdp.start)
    choices = [_distribution(row) for row in policy.probabilities]
    moves = [_distribution(row) for row in cmdp.T.toarray()]
    table = []
    for state, choice in enumerate(choices):
        pairs = moves[state * cmdp.num_actions : (state + 1) * cmdp.num_actions]
        row = [-gamma * _dot(choice, column) for column in zip(*pairs, strict=True)]
        row[state] += 1
        row += [_dot(choice, [Fraction(x) for x in cost[state].tolist()]) for cost in cmdp.cost]
        table.append(row)
    solved = _eliminated(table)
    return tuple(_dot(start, column) for column in zip(*solved, strict=True))


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
