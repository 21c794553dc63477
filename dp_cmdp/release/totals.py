"""Weighted sums of entries, measured with one noise each: a look at totals.

Given public weights W and scales t, total i is published as Σ_k W_ik θ_k + noise of size t_i. One
record moves its entries by at most their radii; the integers that this moves, in all totals
together, are counted, and the noise is calibrated to that count (:mod:`dp_cmdp.data.totals` has the
grid). Weights are rounded towards 0 to the grid, so a total lies on the lattice of its noise
*before* it is perturbed: rounding a total after looking at it would add to its sensitivity.

Weights and scales may depend on what was published before, never on the database: looks at one
database compose, (ε₁ + ε₂, δ₁ + δ₂).
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Noise
from dp_cmdp.data.totals import INDEX_LIMIT, Totals, short_steps
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.lattice import BITS, Lattice
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

#: Steps of the noise's lattice in one scale, in bits: what rounding takes from W is left to boxes.
SCALE_BITS = 38
#: Entries are read with at most so many bits.
ENTRY_BITS = 46


@dataclass(frozen=True, slots=True, eq=False)
class TotalsPlan:
    """The noise of a look at totals, fixed and checked before any value is read.

    Notes
    -----
    **Privacy.** *Public*.
    """

    counts: sparse.csr_array
    step: FloatArray
    grid: FloatArray
    noise: LatticeTruncatedLaplace

    def draw(self, values: FloatArray, rng: np.random.Generator | None = None) -> Totals:
        """Measure the totals of private values: *spends the budget*."""
        source = os.urandom if rng is None else rng.bytes
        drawn = self.noise.sample(self.step.size, source=source)
        cells = Lattice(self.grid, 1).index(values)
        index = integer_totals(self.counts, cells)
        return Totals(
            self.counts,
            np.array([n + int(z) for n, z in zip(index, drawn, strict=True)], dtype=np.int64),
            support=self.noise.support,
            step=self.step,
            grid=self.grid,
        )

    def facts(self, budget: PrivacyBudget) -> Noise:
        """What is said of the noise."""
        proof = self.noise.certificate
        return Noise(
            block="totals",
            law=proof.law,
            calibration="tight",
            scale=float(proof.entries / proof.epsilon),
            support=self.noise.support / float(proof.steps),
            certificate=json.loads(proof.to_json()),
            epsilon=budget.epsilon,
            delta=budget.delta,
        )


@door
def plan_totals(
    envelope: Envelope, budget: PrivacyBudget, *, W: Any, scale: ArrayLike
) -> TotalsPlan:
    """The noise for totals Wθ, in units of `scale`.

    Parameters
    ----------
    envelope : Envelope
    budget : PrivacyBudget
    W : sparse or array_like, (totals, entries)
        Public weights.
    scale : array_like, (totals,)
        Public units of the noise, positive: a total of twice the scale gets twice the noise.

    Notes
    -----
    **Privacy.** *Public*: no data is read.
    """
    weights = _check.matrix("W", W, columns=envelope.num_entries)
    scales = _check.vector("scale", scale, size=weights.shape[0])
    if not weights.shape[0] or (scales <= 0.0).any():
        raise InvalidArgumentError("scale must be positive, one per total, and there must be some")
    grid = entry_grid(envelope)
    if (grid == 0.0).any():
        raise InvalidArgumentError("radius and bounds must not all be next to 0; rescale the data")
    bits = _scale_bits(envelope, weights, scales)
    step = short_steps(scales) * 2.0**-bits
    row = np.repeat(np.arange(step.size), np.diff(weights.indptr))
    with np.errstate(all="ignore"):
        counts = np.trunc(weights.data * grid[weights.indices] / step[row])
    if not np.isfinite(counts).all():
        raise InvalidArgumentError("scale must be above the smallest floats; rescale the data")
    V = sparse.csr_array((counts, weights.indices.copy(), weights.indptr.copy()), weights.shape)
    V.eliminate_zeros()
    largest, total = record_moves(envelope, V, grid)
    if not total:
        raise InvalidArgumentError("W must hold weights that one step of noise can see; raise them")
    noise = LatticeTruncatedLaplace.calibrate(
        budget.epsilon, budget.delta, steps=largest, entries=Fraction(total, largest)
    )
    nothing = np.zeros(step.size, dtype=np.int64)
    made = Totals(V, nothing, support=noise.support, step=step, grid=grid)  # refuses what is odd
    return TotalsPlan(made.counts, made.step, made.grid, noise)


def entry_grid(envelope: Envelope) -> FloatArray:
    """A power of two per entry: about 2^-20 of its radius, more where its bounds are huge."""
    largest = np.maximum(np.abs(envelope.lower), np.abs(envelope.upper))
    fine = np.frexp(envelope.radius)[1] - 1 - BITS
    coarse = np.frexp(largest)[1] - ENTRY_BITS
    return _check.frozen(np.ldexp(1.0, np.maximum(fine, np.where(largest > 0.0, coarse, fine))))


def record_moves(envelope: Envelope, counts: sparse.csr_array, grid: FloatArray) -> tuple[int, int]:
    """The most integers that one record moves one total, and all totals together (ℓ1)."""
    far = [math.ceil(Fraction(r) / Fraction(g)) for r, g in _pairs(envelope.radius, grid)]
    moved: dict[tuple[int, int], int] = {}
    whole: dict[int, int] = {}
    V = counts.tocoo()
    for row, entry, count in zip(V.row.tolist(), V.col.tolist(), V.data.tolist(), strict=True):
        record = int(envelope.records[entry])
        steps = abs(int(count)) * far[entry]
        moved[record, row] = moved.get((record, row), 0) + steps
        whole[record] = whole.get(record, 0) + steps
    return max(moved.values(), default=0), max(whole.values(), default=0)


def integer_totals(counts: sparse.csr_array, cells: IntArray) -> list[int]:
    """Σ_k V_ik n_k, in integers of any size."""
    products = counts.data.astype(np.int64).astype(object) * cells[counts.indices].astype(object)
    ends = counts.indptr.tolist()
    return [int(sum(products[a:b])) for a, b in pairwise(ends)]


def _scale_bits(envelope: Envelope, W: sparse.csr_array, scale: FloatArray) -> int:
    """Bits per scale, fewer where a total is so large that its index would not fit."""
    largest = np.maximum(np.abs(envelope.lower), np.abs(envelope.upper)) + envelope.radius
    with np.errstate(over="ignore"):
        size = float(np.max(abs(W) @ largest / scale, initial=1.0))
    room = math.floor(math.log2(INDEX_LIMIT / 4) - math.log2(size)) if size < INDEX_LIMIT else 0
    if room < BITS:
        raise InvalidArgumentError("scale must be at least 2^-39 of the totals; raise it")
    return min(SCALE_BITS, room)


def _pairs(left: FloatArray, right: FloatArray) -> list[tuple[float, float]]:
    return list(zip(left.tolist(), right.tolist(), strict=True))
