"""The occupancy of a policy, with a certain bound on what it misses.

The floats of a file are exact rationals; rows of T and of π, and the start, are divided by their
sums in fractions. The visits v of a policy are the fixed point of

    F(v)(s') = μ(s') + γ Σ_{s,a} v(s) π(a|s) T(s, a, s'),

which shrinks ℓ1-distances by γ, so |v − v̂|₁ ≤ |F(v̂) − v̂|₁/(1 − γ) for every v̂. Here v̂ is made of
integers over 2^BITS and corrected by its own residual, which is evaluated in integers. Only states
that the graph of the policy reaches are visited: elsewhere v = 0 exactly.

Undiscounted totals are visits of the states before the end of an episode: the others cannot be left
and earn and cost nothing. There the factor 1/(1 − γ) is max w/min(w − Pw), for any w > 0 that makes
it positive, which also proves that the episode ends.

Over a horizon the visits are pushed forward step by step, rounded down. They sum to Σ_{t<H} γ^t, so
what that sum lacks is exactly what was missed.

Visits ṽ that were found in floats solve, to rounding, the same equations with every coefficient
changed by a share η at most: distributions are taken as they stand, although they miss 1, and sums
of m terms are rounded, mu with u = 2⁻⁵³. So |v − ṽ|₁ ≤ η(1 + γ|ṽ|₁)/(1 − γ), or η/(1 − γ)² up to
terms in η² (over a horizon ηHΣγ^t): what numbers that follow from a policy may miss the exact ones
by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from dp_cmdp._src.checking.verify.reading import Refused, member, refuse_unless

#: Binary digits of visits, and corrections: each gains about 40 digits.
BITS = 200
CORRECTIONS = 4
#: Rows of a policy are divided by their exact sums, which must be 1 but for rounding.
SUM_TOLERANCE = 1e-6
#: Roundings of a visit beside those of the sum over the moves into its state.
SUMS = 8
#: Up to so many states a policy that just keeps its limit is judged in fractions.
EXACT_STATES = 60
#: Beyond so many states nothing is factorised here, and beyond so many visits nothing is pushed.
MOST_STATES, MOST_VISITS = 200_000, 20_000_000

FloatArray = NDArray[np.float64]
Row = dict[int, Fraction]


@dataclass(frozen=True)
class Visits:
    """v̂ per reached state, a bound on |v − v̂|₁, 0 where v̂ is exact, and one on the sum of the
    weights of all steps from any state."""

    visits: Mapping[int, Fraction]
    missed: Fraction
    longest: Fraction = Fraction(0)


@dataclass(frozen=True)
class PolicyFile:
    """What a policy's document states: `actions` per step and state, and the odds of the places
    step·states + state that mix; a table for all steps has one step, and `horizon` is None."""

    horizon: int | None
    num_actions: int
    actions: NDArray[np.int64]
    odds: Mapping[int, FloatArray]

    @classmethod
    def read(cls, said: Any) -> PolicyFile:
        if "changes" in said:
            return cls._of_steps(said)
        table = member(said, "probabilities")
        sound = hasattr(table, "dtype") and table.ndim == 2 and table.dtype.kind == "f"
        refuse_unless(sound, "a policy is a table of probabilities")
        return cls(None, table.shape[1], table.argmax(axis=1)[None],
                   dict(enumerate(_distributions(table))))  # fmt: skip

    @classmethod
    def _of_steps(cls, said: Any) -> PolicyFile:
        """Actions that differ from those of the step before are told by their differences."""
        changes, places, odds = (member(said, name) for name in ("changes", "mixed", "odds"))
        (width,) = member(said, "actions").tolist()
        refuse_unless(changes.dtype.kind in "iu" and changes.ndim == 2, "there is no action")
        actions = np.bitwise_xor.accumulate(changes.astype(np.int64), axis=0)
        refuse_unless(bool(((actions >= 0) & (actions < width)).all()), "an action does not exist")
        fits = odds.shape == (places.size, width) and len({*places.tolist()}) == places.size
        refuse_unless(fits and odds.dtype.kind == "f", "its odds are of other places")
        rows = dict(zip(places.tolist(), _distributions(odds), strict=True))
        refuse_unless(all(0 <= at < actions.size for at in rows), "a place does not exist")
        return cls(actions.shape[0], width, actions, rows)

    @property
    def num_states(self) -> int:
        return self.actions.shape[1]

    def choice(self, state: int, step: int, off: dict[str, Fraction]) -> Row:
        """The distribution of the actions, by exact shares."""
        row = self.odds.get(step * self.num_states + state)
        if row is None:
            return {int(self.actions[step, state]): Fraction(1)}
        given: list[float] = row.tolist()
        return _shares(dict(enumerate(given)), "the policy", off)


@dataclass(frozen=True)
class Moves:
    """Start and transitions of a model, in exact shares; `ended` are states after the end."""

    T: Any
    start: FloatArray
    gamma: Fraction
    num_actions: int
    ended: frozenset[int] = frozenset()

    def first(self, off: dict[str, Fraction]) -> Row:
        given: list[float] = self.start.tolist()
        found = _shares(dict(enumerate(given)), "the start", off)
        return {state: share for state, share in found.items() if state not in self.ended}

    def after(self, state: int, action: int, off: dict[str, Fraction]) -> Row:
        row = state * self.num_actions + action
        span = slice(self.T.indptr[row], self.T.indptr[row + 1])
        pairs = zip(self.T.indices[span].tolist(), self.T.data[span].tolist(), strict=True)
        shares = _shares(dict(pairs), "T", off)
        return {following: p for following, p in shares.items() if following not in self.ended}

    def visits_of(self, policy: PolicyFile, horizon: int) -> tuple[Row, Fraction, Fraction]:
        """Visits of pairs over a horizon, rounded down, what they miss of all visits, and what
        those that are found in floats may miss."""
        one, weight, all_weights = 1 << BITS, Fraction(1), Fraction(0)
        off: dict[str, Fraction] = {}
        now = {state: _floor(share * one) for state, share in self.first(off).items()}
        found: dict[int, int] = {}
        known: dict[int, list[tuple[int, int]]] = {}
        pushed = 0
        for step in range(horizon):
            following: dict[int, int] = {}
            pushed += len(now)
            refuse_unless(pushed <= MOST_VISITS, f"more than {MOST_VISITS} visits: too many here")
            for state, mass in now.items():
                own = policy.choice(state, step if policy.horizon else 0, off)
                for action, share in own.items():
                    pair, here = state * self.num_actions + action, _floor(mass * share)
                    found[pair] = found.get(pair, 0) + _floor(here * weight)
                    if pair not in known:
                        shares = self.after(state, action, off).items()
                        known[pair] = [(to, _floor(chance * one)) for to, chance in shares]
                    for to, chance in known[pair]:
                        following[to] = following.get(to, 0) + (here * chance >> BITS)
            now, all_weights, weight = following, all_weights + weight, weight * self.gamma
        x = {pair: Fraction(many, one) for pair, many in found.items()}
        share = sum(off.values(), Fraction(0)) + _sums(
            to for row in known.values() for to, _ in row
        )
        return x, all_weights - sum(x.values(), Fraction(0)), share * horizon * all_weights


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
    def of(cls, model: Moves, policy: PolicyFile) -> Chain:
        """Only what the policy reaches is looked at."""
        off: dict[str, Fraction] = {}
        first = model.first(off)
        chosen: dict[int, Row] = {}
        moves: dict[int, Row] = {}
        todo = list(first)
        while todo:
            state = todo.pop()
            if state in moves:
                continue
            chosen[state] = policy.choice(state, 0, off)
            into: Row = {}
            for action, share in chosen[state].items():
                for following, chance in model.after(state, action, off).items():
                    into[following] = into.get(following, Fraction(0)) + share * chance
            moves[state] = into
            todo += into
        return cls(first, model.gamma, chosen, moves, sum(off.values(), Fraction(0)))

    @property
    def rounding(self) -> Fraction:
        """η: what visits that are found in floats may miss, divided by (1 − γ)⁻²."""
        return self.off + _sums(following for row in self.moves.values() for following in row)

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
        longest = self._longest(states, solver)
        found = {state: Fraction(visits[place[state]], one) for state in states}
        return Visits(found, Fraction(missed, one) * longest, longest)

    def _longest(self, states: list[int], solver: Any) -> Fraction:
        """A bound on the sum of the weights of all steps from any state."""
        if self.gamma < 1:
            return 1 / (1 - self.gamma)
        found: list[float] = solver.solve(np.ones(len(states)), "T").tolist()
        refuse_unless(all(map(np.isfinite, found)), "the episodes are not proved to end")
        w = dict(zip(states, map(Fraction, found), strict=True))
        drops = [
            w[state] - sum((p * w[to] for to, p in self.moves[state].items()), Fraction(0))
            for state in states
        ]
        ends = min(w.values(), default=1) > 0 and min(drops, default=1) > 0
        refuse_unless(ends, "the episodes are not proved to end")
        return max(w.values(), default=Fraction(1)) / min(drops, default=Fraction(1))

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


def _distributions(table: FloatArray) -> FloatArray:
    """Rows that are distributions, but for rounding."""
    sums = table.sum(axis=1) if table.size else np.ones(0)
    proper = (table >= 0).all() and (np.abs(sums - 1) < SUM_TOLERANCE).all()
    refuse_unless(bool(proper), "a policy has a row that is no distribution")
    return table


def _sums(moves: Iterable[int]) -> Fraction:
    """Roundings of the visits of a state, of which moves into it are the terms."""
    return Fraction(max(Counter(moves).values(), default=0) + SUMS, 2**53)


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
