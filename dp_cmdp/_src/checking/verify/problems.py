"""Problem files, and what is proved of a decision from a problem and a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.documents import document_digest
from dp_cmdp._src.checking.verify.adjacency import Adjacency
from dp_cmdp._src.checking.verify.known import (
    ROUNDING,
    Known,
    Multipliers,
    Point,
    Rows,
    Table,
    matrix,
    point,
)
from dp_cmdp._src.checking.verify.policies import EXACT_STATES, Chain, Moves, PolicyFile
from dp_cmdp._src.checking.verify.reading import member, numbers, refuse_unless, triples

LINEAR, CMDP = "linear program", "constrained MDP"


@dataclass(frozen=True)
class Judged:
    """Certain bounds on what each constraint is exceeded by, and the decision in full.

    `missed`: how far from x, in ℓ1, what was computed in floats may be; `within`: whether every
    variable of a linear program lies in its bounds.
    """

    worst: list[Fraction]
    x: Point
    missed: Fraction = Fraction(0)
    how: str = ""
    within: bool = True

    @property
    def holds(self) -> bool:
        return max(self.worst, default=Fraction(0)) <= 0

    @property
    def words(self) -> str:
        slack = -max(self.worst, default=Fraction(0))
        return f"{len(self.worst)} constraints, least slack {float(slack):.6g}{self.how}"


@dataclass(frozen=True)
class ProblemFile:
    """What a problem file states: `kind`, the adjacency, and the parts of its kind."""

    kind: str
    adjacency: Adjacency
    said: Mapping[str, Any]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> ProblemFile:
        kind = member(said, "problem")
        refuse_unless(
            kind in (LINEAR, CMDP), f"a problem of the kind {str(kind)[:60]!r} is unknown"
        )
        made = cls(kind, Adjacency.read(member(said, "envelope")), said)
        _ = made.rows  # parts that do not fit together are refused
        return made

    def _table(self, name: str) -> Table:
        return Table.read(member(self.said, name), self.adjacency.size, name)

    @cached_property
    def rows(self) -> Rows:
        """The constraints: over the variables, or over the occupancies of states and actions."""
        A, b = (
            self._table(name) for name in (("A", "b") if self.kind == LINEAR else ("cost", "limit"))
        )
        refuse_unless(b.shape == (A.shape[0], 1), "there is one limit per constraint")
        return Rows(A, b)

    @cached_property
    def objective(self) -> Table:
        """What is maximised or minimised: a column of the variables, or states × actions."""
        name = "objective" if self.kind == LINEAR else "r"
        given = member(self.said, name)
        if isinstance(given, Mapping):
            return self._table(name)
        rewards = np.atleast_2d(np.asarray(given, dtype=np.float64))
        return Table(rewards.shape, triples(sparse.coo_array(rewards)), [])

    @cached_property
    def digest(self) -> str:
        """By which two problems are compared."""
        return document_digest("problem", self.said)

    @cached_property
    def names(self) -> list[str]:
        """Of the constraints."""
        return [*member(self.said, "row_names" if self.kind == LINEAR else "names")]

    def residual(self, x: Point) -> Fraction:
        """The largest |b_eq − A_eq x|, relative to the terms of its row."""
        A, b = matrix(member(self.said, "A_eq"), "A_eq"), numbers(member(self.said, "b_eq"), "b_eq")
        refuse_unless(A.shape == (len(b), self.rows.A.shape[1]), "A_eq and b_eq do not fit")
        gap = [Fraction(each) for each in b]
        size = [abs(each) for each in gap]
        for row, column, value in triples(A):
            if column in x:
                term = Fraction(value) * x[column]
                gap[row] -= term
                size[row] += abs(term)
        return max((abs(g) / s for g, s in zip(gap, size, strict=True) if s), default=Fraction(0))

    def value(
        self, x: Point, estimate: Sequence[float], missed: Fraction
    ) -> tuple[Fraction, Fraction]:
        """The objective of a decision, and what it may miss in floats that miss x by `missed`."""
        objective = self.objective
        width = objective.shape[1]  # of rewards: actions
        terms = [
            (row * width + column, Fraction(each)) for row, column, each in objective.constants
        ]
        terms += [
            (row * width + column, Fraction(factor) * Fraction(estimate[entry]))
            for row, column, entry, factor in objective.terms
        ]
        products = [factor * x[place] for place, factor in terms if place in x]
        largest = max((abs(factor) for _, factor in terms), default=Fraction(0))
        size = sum(map(abs, products), Fraction(0))
        return sum(products, Fraction(0)), ROUNDING * size + missed * largest

    def judge(self, decision: Any, known: Known, multipliers: Multipliers | None) -> Judged:
        """A decision, as an answer or a policy states it, over all databases of a set."""
        if self.kind == CMDP:
            return self._judge_policy(PolicyFile.read(decision), known, multipliers)
        x = numbers(member(decision, "x"), "the decision")
        refuse_unless(len(x) == self.rows.A.shape[1], "it has another number of variables")
        low, high = (
            numbers(member(self.said, name), name, finite=False) for name in ("lower", "upper")
        )
        at, within = point(x), all(a <= b <= c for a, b, c in zip(low, x, high, strict=True))
        return Judged(self.rows.excess(at, known, multipliers or []), at, within=within)

    def _judge_policy(
        self, policy: PolicyFile, known: Known, multipliers: Multipliers | None
    ) -> Judged:
        states, actions = policy.num_states, policy.num_actions
        T, start = matrix(member(self.said, "T"), "T"), member(self.said, "start")
        start = np.asarray(start, dtype=np.float64)
        refuse_unless(start.shape == (states,), "the policy is for another number of states")
        refuse_unless(self.rows.A.shape[1] == states * actions, "the policy is for other actions")
        refuse_unless(T.shape == (states * actions, states), "the policy is for another model")
        refuse_unless(self.objective.shape == (states, actions), "rewards are of other pairs")
        model, horizon = self._moves(T, start, actions), self._horizon()
        refuse_unless(policy.horizon in (None, horizon), "the policy is for another horizon")

        def judged(x: Point, missed: Fraction, rounding: Fraction, how: str) -> Judged:
            costs = self.rows.largest_costs(x, known)
            chosen = multipliers or [known.multipliers(row) for row in self.rows.weights(x)]
            at = self.rows.excess(x, known, chosen)
            worst = [each + cost * missed for each, cost in zip(at, costs, strict=True)]
            return Judged(worst, x, missed + rounding, how)

        if horizon is not None:
            x, missed, rounding = model.visits_of(policy, horizon)
            how = f", visits over {horizon} steps within {float(missed):.2g}"
            return judged(x, missed, rounding, how)
        chain = Chain.of(model, policy)
        found = chain.visits()
        rounding = chain.rounding * found.longest**2
        how = f", visits of {len(found.visits)} states within {float(found.missed):.2g}"
        bounded = judged(chain.occupancy(found, actions), found.missed, rounding, how)
        if bounded.holds or len(chain.moves) > EXACT_STATES:
            return bounded
        exact = chain.occupancy(chain.exact_visits(), actions)
        return judged(exact, Fraction(0), rounding, ", visits in fractions")

    def _horizon(self) -> int | None:
        steps = self.said.get("horizon")
        if steps is None:
            return None
        refuse_unless(steps.size == 1 and steps.dtype.kind == "i", "the horizon is one number")
        refuse_unless(int(steps[0]) >= 1, "the horizon is at least one step")
        return int(steps[0])

    @property
    def is_episodic(self) -> bool:
        """Whether costs are sums over an episode."""
        return self.kind == CMDP and (self._horizon() is not None or self._gamma() == 1.0)

    def _moves(self, T: Any, start: np.ndarray, actions: int) -> Moves:
        """The transitions; of totals, without the states after the end of an episode."""
        gamma = Fraction(self._gamma())
        total = gamma == 1 and self._horizon() is None
        refuse_unless(0 <= gamma <= 1, "gamma must lie in [0, 1]")
        return Moves(T, start, gamma, actions, self._ended(T, actions) if total else frozenset())

    def _ended(self, T: Any, actions: int) -> frozenset[int]:
        """States that no action leaves, and where nothing is earned or paid."""
        moving = {row // actions for row, to, p in triples(T) if p and to != row // actions}
        paying = {pair // actions for _, pair, value in self.rows.A.constants if value}
        paying |= {pair // actions for _, pair, _, factor in self.rows.A.terms if factor}
        paying |= {state for state, _, value in self.objective.constants if value}
        paying |= {state for state, _, _, factor in self.objective.terms if factor}
        return frozenset(range(T.shape[1])) - moving - paying

    def _gamma(self) -> float:
        gamma = member(self.said, "gamma")
        if isinstance(gamma, np.ndarray):
            refuse_unless(gamma.size == 1, "gamma is one number")
            gamma = gamma.ravel()[0].item()
        refuse_unless(isinstance(gamma, float | int), "gamma is a number")
        return float(gamma)
