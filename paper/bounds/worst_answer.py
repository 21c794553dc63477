"""The largest loss that any noise in the objective can cause, by one linear program.

With c̃ = c + Σ_k e_k h_k, −d_k ≤ e_k ≤ u_k, and g_k the chord of max(u_k(v − h_kᵀy), d_k(h_kᵀy − v))
on the range of h_kᵀx, the loss is at most
cᵀx* − min{cᵀx : x ∈ X, cᵀ(x − y) + Σ_k g_k(h_kᵀx) ≥ 0}: ``docs/theory.md``, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.blocks import Block
from paper.linear import Floats, Integers, LinearProgram, solve

#: Room for the solver's tolerances, relative to the terms of the row.
ROW_ROOM = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class WorstAnswer:
    """The true program and the errors its objective may carry: *curator only*."""

    truth: LinearProgram
    optimum: float
    direction: sparse.csr_array  # the h_k as rows
    span: tuple[Floats, Floats]  # χ⁻ and χ⁺ of the h_kᵀx
    limits: tuple[Floats, Floats]  # the largest e_k⁺ and e_k⁻

    def loss(self, y: Floats) -> float:
        """No answer that is at least as good as y under c̃ loses more; ∞ when nothing bounds it."""
        if self.direction.shape[0] == 0:
            return max(self.optimum - float(self.truth.c @ y), 0.0)
        slope, constant = self._chords(self.direction @ y)
        rows, sides = self.truth.A, self.truth.b
        if np.isfinite(slope).all() and np.isfinite(constant).all():
            row = self.truth.c + slope @ self.direction
            kept = float(self.truth.c @ y) - float(constant.sum())
            kept -= ROW_ROOM * (abs(self.optimum) + float(np.abs(constant).sum()))
            rows = sparse.vstack([rows, sparse.csr_array(-row[None])], format="csr")
            sides = np.append(sides, -kept)
        try:
            found = solve(replace(self.truth, c=-self.truth.c, A=rows, b=sides))
        except dp.errors.UnboundedError:
            return float("inf")
        return max(self.optimum + found.objective, 0.0)

    def _chords(self, at: Floats) -> tuple[Floats, Floats]:
        """Slope and constant of the chords g_k; flat where the range is a point or endless."""
        (low, high), (up, down) = self.span, self.limits
        with np.errstate(invalid="ignore"):
            last = np.where(up == 0, 0.0, up * np.maximum(high - at, 0.0))
            first = np.where(down == 0, 0.0, down * np.maximum(at - low, 0.0))
            width = high - low
            first, last = (np.where(np.isnan(end), np.inf, end) for end in (first, last))
            slope = np.where(np.isfinite(width) & (width > 0), (last - first) / width, 0.0)
            constant = np.where(slope == 0, np.maximum(first, last), first - slope * low)
        return slope, constant


def objective_directions(objective: Block, num_variables: int) -> tuple[Integers, sparse.csr_array]:
    """The entries that an objective reads, and their h_k as rows."""
    read, number = np.unique(objective.entry, return_inverse=True)
    shape = (read.size, num_variables)
    return read, sparse.csr_array((objective.coefficient, (number, objective.row)), shape=shape)
