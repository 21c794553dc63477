"""What the integers of a release say of the database, rebuilt in fractions.

With n_k = ⌊θ_k/h_k⌋, y = Σ w_k n_k + Z, low ≤ Z ≤ high, and θ_k ∈ [h_k n_k, h_k(n_k + 1)],

    Σ (w_k/h_k) θ_k ≤ y − low + Σ_{w>0} w_k    and    −Σ (w_k/h_k) θ_k ≤ high − y + Σ_{w<0} |w_k|.

A query of one entry bounds that entry, in whole cells. The other inequalities stand in the order in
which multipliers name them: measurement by measurement, those from above before those from below,
each multiplied by a power of two. Of the largest of several queries minus their centres e_i
only the first inequality follows, for each of them, with y + e_i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp._src.checking.verify.adjacency import Adjacency

Row = dict[int, Fraction]


@dataclass
class Known:
    """{θ : lower ≤ θ ≤ upper, rows · θ ≤ limits}, exactly."""

    lower: list[Fraction]
    upper: list[Fraction]
    rows: list[Row] = field(default_factory=list[Row])
    limits: list[Fraction] = field(default_factory=list[Fraction])

    @classmethod
    def box(cls, adjacency: Adjacency) -> Known:
        return cls(list(map(Fraction, adjacency.lower)), list(map(Fraction, adjacency.upper)))

    def bound(
        self, entry: int, weight: int, step: Fraction, least: int | None, most: int | None
    ) -> None:
        """least ≤ weight·n ≤ most of one entry's cell n, in whole cells."""
        if weight < 0:
            weight, least, most = -weight, *(None if y is None else -y for y in (most, least))
        if least is not None:
            self.lower[entry] = max(self.lower[entry], -(-least // weight) * step)
        if most is not None:
            self.upper[entry] = min(self.upper[entry], (most // weight + 1) * step)

    def add(
        self, weights: Mapping[int, int], step: Sequence[Fraction], most: int, *, sign: int
    ) -> None:
        """sign·Σ w n ≤ most, in units in which the largest coefficient lies in [1/2, 1)."""
        row = {entry: sign * weight / step[entry] for entry, weight in weights.items()}
        limit = most + sum(sign * weight for weight in weights.values() if sign * weight > 0)
        largest = max(map(abs, row.values()))
        unit = Fraction(2) ** (
            largest.denominator.bit_length() - 1 - largest.numerator.bit_length()
        )
        self.rows.append({entry: weight * unit for entry, weight in row.items()})
        self.limits.append(limit * unit)

    def is_empty(self) -> bool:
        """Whether it is proved that no database is in the set: Σλ(row·θ) > Σλ·limit in the box."""
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            return True
        total, combined = Fraction(0), Row()
        for place, factor in self.multipliers({}):
            total += factor * self.limits[place]
            for entry, weight in self.rows[place].items():
                combined[entry] = combined.get(entry, Fraction(0)) + factor * weight
        least = sum(
            weight * (self.lower[entry] if weight > 0 else self.upper[entry])
            for entry, weight in combined.items()
        )
        return least > total

    def multipliers(self, weights: Row) -> list[tuple[int, Fraction]]:
        """λ ≥ 0 that bound Σ w θ well over the set; without weights, that may prove it empty.

        They are guessed in floats: any λ proves a bound.
        """
        n, m = len(self.lower), len(self.rows)
        if not m:
            return []
        span = float(max(high - low for low, high in zip(self.lower, self.upper, strict=True))) or 1
        entries = [(i, k, float(w)) for i, row in enumerate(self.rows) for k, w in row.items()]
        i, k, weight = zip(*entries, *((row, n, -span) for row in range(m)), strict=True)
        rows: Any = sparse.csr_array((weight, (i, k)), shape=(m, n + 1))
        cost = np.append(np.zeros(n), float(not weights))
        for entry, size in weights.items():
            cost[entry] = -float(size)
        broken = (0, 0) if weights else (0, None)
        found: Any = linprog(
            cost,
            A_ub=rows,
            b_ub=list(map(float, self.limits)),
            bounds=[*zip(map(float, self.lower), map(float, self.upper), strict=True), broken],
            method="highs",
        )
        if found.status != 0:
            return []
        guessed = enumerate((-np.asarray(found.ineqlin.marginals)).tolist())
        return [(place, Fraction(dual)) for place, dual in guessed if dual > 0]
