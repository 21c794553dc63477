"""Problem files, and what is proved of a decision from a problem and a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dp_cmdp._src.checking.verify.adjacency import Adjacency
from dp_cmdp._src.checking.verify.known import Known
from dp_cmdp._src.checking.verify.policies import EXACT_STATES, Chain, Visits
from dp_cmdp._src.checking.verify.reading import Refused, member, numbers, refuse_unless
from dp_cmdp._src.checking.verify.rows import Multipliers, Rows, Table, matrix, point

LINEAR, CMDP = "linear program", "constrained MDP"
#: Equality rows hold to this share of their own terms: few have a solution in floats.
EQUALITY_TOLERANCE = Fraction(1, 2**44)
#: Values are sums of floats: they may miss the exact ones by this share of their terms, per term.
ROUNDING = Fraction(1, 2**52)


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
        made.rows  # refuses what does not fit together
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

    def judge_point(
        self, x: Sequence[float], known: Known, multipliers: Multipliers
    ) -> tuple[list[Fraction], list[tuple[str, bool, str]]]:
        """Excess of every row of a linear program, and further claims of a point."""
        refuse_unless(len(x) == self.rows.A.shape[1], "the point has another number of variables")
        at = point(x)
        ends = zip(_vector(self.said, "lower"), _vector(self.said, "upper"), x, strict=True)
        inside = all(low <= value <= high for low, high, value in ends)
        worst = self._residual(at)
        claims = [
            ("the variables lie in their bounds", inside, f"{len(x)} variables"),
            (
                f"equality rows hold to {float(EQUALITY_TOLERANCE):.2g} of their own terms",
                worst <= EQUALITY_TOLERANCE,
                f"largest residual {float(worst):.3g}",
            ),
        ]
        return self.rows.excess(at, known, multipliers), claims

    def _residual(self, x: Mapping[int, Fraction]) -> Fraction:
        """The largest |b_eq − A_eq x|, relative to the terms of its row."""
        A, b = matrix(member(self.said, "A_eq"), "A_eq"), numbers(member(self.said, "b_eq"), "b_eq")
        refuse_unless(A.shape == (len(b), self.rows.A.shape[1]), "A_eq and b_eq do not fit")
        gap = [Fraction(each) for each in b]
        size = [abs(each) for each in gap]
        table = A.tocoo()
        for row, column, value in zip(
            *(part.tolist() for part in (*table.coords, table.data)), strict=True
        ):
            if column in x:
                term = Fraction(value) * x[column]
                gap[row] -= term
                size[row] += abs(term)
        return max((abs(g) / s for g, s in zip(gap, size, strict=True) if s), default=Fraction(0))

    def value(self, x: Sequence[float], estimate: Sequence[float]) -> tuple[Fraction, Fraction]:
        """The objective of a point of a linear program, and how far a sum of floats may be off."""
        objective, at = self._table("objective"), point(x)
        total = size = Fraction(0)
        terms = [(place, Fraction(value)) for place, _, value in objective.constants]
        terms += [
            (place, Fraction(factor) * Fraction(estimate[entry]))
            for place, _, entry, factor in objective.terms
        ]
        for place, factor in terms:
            if place in at:
                total += factor * at[place]
                size += abs(factor * at[place])
        return total, 4 * (len(terms) + 4) * ROUNDING * size

    def judge_policy(
        self, probabilities: np.ndarray, known: Known, multipliers: Multipliers
    ) -> tuple[list[Fraction], str]:
        """Excess of every cost of a policy over its limit, certain, and how it was found."""
        states, actions = (int(size) for size in probabilities.shape)
        T, start = matrix(member(self.said, "T"), "T"), member(self.said, "start")
        start = np.asarray(start, dtype=np.float64)
        refuse_unless(start.shape == (states,), "the policy is for another number of states")
        refuse_unless(self.rows.A.shape[1] == states * actions, "the policy is for other actions")
        chain = Chain.of(T, start, Fraction(self._gamma()), probabilities)

        def excess(found: Visits) -> list[Fraction]:
            x = chain.occupancy(found, actions)
            costs = self.rows.largest_costs(x, known)
            at = self.rows.excess(x, known, multipliers)
            return [each + cost * found.missed for each, cost in zip(at, costs, strict=True)]

        found = chain.visits()
        worst = excess(found)
        if max(worst, default=Fraction(0)) > 0 and len(chain.moves) <= EXACT_STATES:
            return excess(chain.exact_visits()), "visits in fractions"
        return worst, f"visits of {len(found.visits)} states within {float(found.missed):.2g}"

    def _gamma(self) -> float:
        gamma = member(self.said, "gamma")
        if isinstance(gamma, np.ndarray):
            refuse_unless(gamma.size == 1, "gamma is one number")
            gamma = gamma.ravel()[0].item()
        refuse_unless(isinstance(gamma, float | int), "gamma is a number")
        return float(gamma)


def _vector(said: Mapping[str, Any], name: str) -> list[float]:
    """Bounds of variables, which may be infinite."""
    given = member(said, name)
    refuse_unless(isinstance(given, np.ndarray) and given.ndim == 1, f"{name} must be a vector")
    found = given.astype(np.float64).tolist()
    if any(value != value for value in found):
        raise Refused(f"{name} must hold numbers")
    return found
