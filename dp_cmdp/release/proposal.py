"""Which totals to measure, proposed from public data.

A total is cheap to measure when no entry dominates it. Let θ̂ be a public estimate, s the support of
the noise in units of its scale, φ_ik shares of each record's budget (Σ φ_ik ≤ 1 over its pairs of
row i and entry k), and m a *caution*: how many supports the row should be able to pay. Then solve

    max c(θ̂)ᵀx   s.t. row i holds for every θ with  θ between θ̂ and its worst end, and
                      Σ_k φ_ik |θ_k − θ̂_k| / Δ_k ≤ m s

The multiplier of that one fact about row i is the scale t_i of its total, and the weights to be
measured are those of the answer, capped: W_ik = sign(w_ik) min(|w_ik(x̂)|, φ_ik t_i/Δ_k). What
exceeds the cap pays its own worst case, so the row pays for the m·s largest of its entries (the
budgeted uncertainty of Bertsimas and Sim 2004), not for all of them. The program is feasible
whenever the robust one over the box is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import Links, PolytopeRows
from dp_cmdp.release.row_solver import RowSolver, Solver, solved

#: Weights below this share of the largest of their total are left to the box.
UNSEEN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Totals worth measuring: weights W, scales of their noise, and the answer they are for.

    Notes
    -----
    **Privacy.** *Post-processing* of what it was proposed from.
    """

    W: sparse.csr_array
    scale: FloatArray
    x: FloatArray

    def __len__(self) -> int:
        return self.scale.size

    def measured(self) -> Proposal:
        """Without the rows that have nothing to measure."""
        rows = np.flatnonzero(np.diff(self.W.indptr))
        return Proposal(self.W[rows], self.scale[rows], self.x)


def propose(
    program: ParametricLP,
    box: Polytope,
    *,
    estimate: FloatArray,
    payment: float,
    previous: Proposal | None = None,
    solver: Solver | None = None,
) -> Proposal:
    """The totals worth measuring around an estimate.

    Parameters
    ----------
    program : ParametricLP
    box : Polytope
        Where the entries certainly are.
    estimate : FloatArray
        θ̂, within the box.
    payment : float
        m·s: caution times the support of the noise in units of its scale.
    previous : Proposal, optional
        Records that meet several rows split their budget as they did there; equally without it.
    solver : callable, optional
        Solves the program; HiGHS by default.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    pairs, envelope = program.uncertain_rows, program.envelope
    sign = pairs.signs()
    with np.errstate(over="ignore"):  # the polytope refuses what is not finite
        per_radius = _shares(program, previous) / envelope.radius[pairs.entry]
    used = np.flatnonzero((sign != 0) & (box.upper > box.lower)[pairs.entry])
    weight = (sign * per_radius)[used]
    middle = estimate[pairs.entry]
    W = sparse.csr_array(
        (weight, (pairs.row[used], pairs.entry[used])),
        shape=(pairs.num_rows, envelope.num_entries),
    )
    fact = np.unique(pairs.row[used])
    believed = np.zeros(pairs.num_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(believed, pairs.row[used], weight * middle[used])
    hypothetical = Polytope(box.lower, box.upper, W=W[fact], q=believed[fact] + payment)
    rows = PolytopeRows(
        pairs,
        hypothetical,
        low=np.where(sign > 0, middle, box.lower[pairs.entry]),
        high=np.where(sign < 0, middle, box.upper[pairs.entry]),
        links=Links(fact, np.arange(fact.size)),
    )
    own = RowSolver() if solver is None else solver
    x, multipliers = solved(own, program, rows, program.c.at(estimate))
    scale = np.zeros(pairs.num_rows)
    scale[fact] = multipliers
    cap = per_radius[used] * scale[pairs.row[used]]
    w = pairs.weights(x)[used]
    kept = np.sign(w) * np.minimum(np.abs(w), cap) * (np.sign(w) == sign[used])
    return _tidy(envelope, pairs.row[used], pairs.entry[used], weight=kept, scale=scale, x=x)


def _shares(program: ParametricLP, previous: Proposal | None) -> FloatArray:
    """φ of every pair: each record's budget, split equally or as a previous proposal used it."""
    pairs, records = program.uncertain_rows, program.envelope.records
    owner = records[pairs.entry]
    used = np.ones(owner.size)
    if previous is not None and len(previous):
        load = np.zeros(owner.size)
        W = previous.W[pairs.row, pairs.entry]
        scale = previous.scale[pairs.row]
        np.divide(np.abs(W) * program.envelope.radius[pairs.entry], scale, load, where=scale > 0)
        used = load + 0.01 / np.bincount(owner)[owner]
    return used / np.bincount(owner, weights=used)[owner]


def _tidy(
    envelope: Envelope,
    row: IntArray,
    entry: IntArray,
    *,
    weight: FloatArray,
    scale: FloatArray,
    x: FloatArray,
) -> Proposal:
    """Without negligible weights; scales as small as the records that meet them allow."""
    largest = np.zeros(scale.size)
    np.maximum.at(largest, row, np.abs(weight))
    keep = (np.abs(weight) > UNSEEN * largest[row]) & (scale[row] > 0.0)
    row, entry, weight = row[keep], entry[keep], weight[keep]
    load = np.abs(weight) * envelope.radius[entry] / scale[row]
    owner = envelope.records[entry]
    whole = np.bincount(owner, weights=load, minlength=1)
    tightest = np.zeros(scale.size)
    np.maximum.at(tightest, row, whole[owner])
    W = sparse.csr_array((weight, (row, entry)), shape=(scale.size, envelope.num_entries))
    return Proposal(W, scale * tightest, x)
