"""The discounted occupancy of a policy, with a certain bound on what it misses.

The floats of a file are exact rationals; rows of T and of π, and the start, are divided by their
sums in fractions. The visits v of a policy are the fixed point of

    F(v)(s') = μ(s') + γ Σ_{s,a} v(s) π(a|s) T(s, a, s'),

which shrinks ℓ1-distances by γ, so |v − v̂|₁ ≤ |F(v̂) − v̂|₁/(1 − γ) for every v̂. Here v̂ is made of
integers over 2^BITS and corrected by its own residual, which is evaluated in integers. Only states
that the graph of the policy reaches are visited: elsewhere v = 0 exactly.

Visits ṽ that were found in floats solve, to rounding, the same equations with every coefficient
changed by a share η at most: distributions are taken as they stand, although they miss 1, and sums
of m terms are rounded, mu with u = 2⁻⁵³. So |v − ṽ|₁ ≤ η(1 + γ|ṽ|₁)/(1 − γ), or η/(1 − γ)² up to
terms in η²: what numbers that follow from a policy may miss the exact ones by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from dp_cmdp._src.checking.verify.reading import Refused, refuse_unless

#: Binary digits of visits, and corrections: each gains about 40 digits.
BITS = 200
CORRECTIONS = 4
#: Roundings of a visit beside those of the sum over the moves into its state.
SUMS = 8
#: Up to so many states a policy that just keeps its limit is judged in fractions.
EXACT_STATES = 60
#: Beyond so many states nothing is factorised here.
MOST_STATES = 200_000

FloatArray = NDArray[np.float64]
Row = dict[int, Fraction]


@dataclass(frozen=True)
class Visits:
    """v̂ per reached state, and a bound on |v − v̂|₁: 0 where v̂ is exact."""

    visits: Mapping[int, Fraction]
    missed: Fraction


@dataclass(frozen=True)
class Chain:
    """A policy in a model: start, discount, and per reached state the next ones, all rational.

    `off`: the most that start, policy and T together miss their sums of 1 by.
    """

    start: Row
    gamma: Fraction
    choices: dict[int, Row]
    moves: dict[int, Row]
    off: Fraction

    @classmethod
    def of(cls, T: Any, start: FloatArray, gamma: Fraction, probabilities: FloatArray) -> Chain:
        """`T` has a row per state and action; only what the policy reaches is looked at."""
        states, actions = probabilities.shape
        refuse_unless(T.shape == (states * actions, states), "the policy is for another model")
        refuse_unless(0 <= gamma < 1, "gamma must lie in [0, 1)")
        given: list[float] = start.tolist()
        off: dict[str, Fraction] = {}
        first = _shares(dict(enumerate(given)), "the start", off)
        chosen: dict[int, Row] = {}
        moves: dict[int, Row] = {}
        todo = list(first)
        while todo:
            state = todo.pop()
            if state in moves:
                continue
            own: list[float] = probabilities[state].tolist()
            chosen[state] = _shares(dict(enumerate(own)), "the policy", off)
            into: Row = {}
            for action, share in chosen[state].items():
                row = state * actions + action
                span = slice(T.indptr[row], T.indptr[row + 1])
                pairs = zip(T.indices[span].tolist(), T.data[span].tolist(), strict=True)
                for following, chance in _shares(dict(pairs), "T", off).items():
                    into[following] = into.get(following, Fraction(0)) + share * chance
            moves[state] = into
            todo += into
        return cls(first, gamma, chosen, moves, sum(off.values(), Fraction(0)))

    @property
    def rounding(self) -> Fraction:
        """What the visits that are found in floats may miss, η/(1 − γ)²."""
        into = Counter(following for row in self.moves.values() for following in row)
        terms = max(into.values(), default=0) + SUMS
        return (self.off + Fraction(terms, 2**53)) / (1 - self.gamma) ** 2

    def visits(self) -> Visits:
        """v̂ by floats and corrections in integers."""
        states = sorted(self.moves)
        if len(states) > MOST_STATES:
            raise Refused(f"more than {MOST_STATES} states are reached: too many to judge here")
        place = {state: number for number, state in enumerate(states)}
        one = 1 << BITS
        rows: list[int] = []
        columns: list[int] = []
        shares: list[int] = []
        for state in states:
            for following, chance in self.moves[state].items():
                rows.append(place[following])
                columns.append(place[state])
                shares.append(_floor(self.gamma * chance * one))
        start = [_floor(self.start.get(state, Fraction(0)) * one) for state in states]
        step = sparse.csc_array(
            ([float(Fraction(share, one)) for share in shares], (rows, columns)),
            shape=(len(states), len(states)),
        )
        solver = splu(sparse.csc_array(sparse.eye_array(len(states)) - step))
        visits, gap = [0] * len(states), start
        for _ in range(CORRECTIONS):
            scale = max(max(map(abs, gap)), 1)
            change = solver.solve(np.array([float(Fraction(each, scale)) for each in gap]))
            if not np.isfinite(change).all():
                break
            visits = [
                max(0, old + _floor(Fraction(more) * scale))
                for old, more in zip(visits, change.tolist(), strict=True)
            ]
            total = [each << BITS for each in start]
            for row, column, share in zip(rows, columns, shares, strict=True):
                total[row] += share * visits[column]
            gap = [(a >> BITS) - old for a, old in zip(total, visits, strict=True)]
        # floors of start, shares and sums are each wrong by less than one unit
        flow = sum(visits[column] for column in columns)
        missed = sum(map(abs, gap)) + 2 * len(states) + (flow >> BITS) + 1
        bound = Fraction(missed, one) / (1 - self.gamma)
        found = {state: Fraction(visits[place[state]], one) for state in states}
        return Visits(found, bound)

    def exact_visits(self) -> Visits:
        """v by elimination in fractions, for few states."""
        states = sorted(self.moves)
        place = {state: number for number, state in enumerate(states)}
        table: list[Row] = [{place[state]: Fraction(1)} for state in states]
        for state in states:
            for following, chance in self.moves[state].items():
                row = table[place[following]]
                row[place[state]] = row.get(place[state], Fraction(0)) - self.gamma * chance
        last = len(states)
        for row, state in zip(table, states, strict=True):
            row[last] = self.start.get(state, Fraction(0))
        for pivot in range(last):  # columns of I − γPᵀ are dominated by their diagonals
            source = table[pivot]
            size = source[pivot]
            for column in source:
                source[column] /= size
            for row in table:
                factor = row.pop(pivot, None) if row is not source else None
                if factor:
                    for column, value in source.items():
                        if column != pivot:
                            row[column] = row.get(column, Fraction(0)) - factor * value
        return Visits({s: table[place[s]].get(last, Fraction(0)) for s in states}, Fraction(0))

    def occupancy(self, found: Visits, actions: int) -> dict[int, Fraction]:
        """Visits of pairs (state · actions + action); those not reached are left out."""
        return {
            state * actions + action: many * share
            for state, many in found.visits.items()
            for action, share in self.choices[state].items()
        }


def _shares(given: Mapping[int, float], what: str, off: dict[str, Fraction]) -> Row:
    """A distribution, divided by its own sum; `off` keeps the most that one of these misses 1."""
    refuse_unless(
        all(np.isfinite(value) and value >= 0 for value in given.values()),
        f"{what} has a probability that is negative or none",
    )
    total = sum(map(Fraction, given.values()), Fraction(0))
    refuse_unless(total > 0, f"{what} has a distribution of sum 0")
    refuse_unless(
        abs(total - 1) <= Fraction(1, 10**6), f"{what} has a distribution of another sum than 1"
    )
    off[what] = max(off.get(what, Fraction(0)), abs(total - 1))
    return {place: Fraction(value) / total for place, value in given.items() if value}


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
