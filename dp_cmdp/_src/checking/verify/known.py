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
        """Whether it is proved that no database is in the set."""
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            return True
        return bool(self.rows) and self._contradicts(self._multipliers())

    def _contradicts(self, multipliers: Sequence[float]) -> bool:
        """Whether Σλ(row·θ) > Σλ·limit for every θ of the box: an exact proof, whatever λ ≥ 0."""
        total, combined = Fraction(0), Row()
        for factor, row, limit in zip(multipliers, self.rows, self.limits, strict=True):
            if factor > 0:
                total += Fraction(factor) * limit
                for entry, weight in row.items():
                    combined[entry] = combined.get(entry, Fraction(0)) + Fraction(factor) * weight
        least = sum(
            weight * (self.lower[entry] if weight > 0 else self.upper[entry])
            for entry, weight in combined.items()
        )
        return least > total

    def _multipliers(self) -> list[float]:
        """Of the program that breaks the rows least, each row in its own unit: only a guess."""
        unit = [max(map(abs, row.values())) for row in self.rows]
        entries = [
            (i, k, float(weight / size))
            for i, (row, size) in enumerate(zip(self.rows, unit, strict=True))
            for k, weight in row.items()
        ]
        i, k, weight = zip(*entries, strict=True)
        n, m = len(self.lower), len(self.rows)
        span = float(max(high - low for low, high in zip(self.lower, self.upper, strict=True))) or 1
        matrix = sparse.coo_array((weight, (i, k)), shape=(m, n))
        rows: Any = sparse.hstack([matrix, sparse.coo_array(np.full((m, 1), -span))], format="csr")
        found: Any = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=rows,
            b_ub=[float(limit / size) for limit, size in zip(self.limits, unit, strict=True)],
            bounds=[*zip(map(float, self.lower), map(float, self.upper), strict=True), (0, None)],
            method="highs",
        )
        if found.status != 0:
            return [0.0] * m
        duals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        return [
            float(Fraction(dual) / size) for dual, size in zip(duals.tolist(), unit, strict=True)
        ]
