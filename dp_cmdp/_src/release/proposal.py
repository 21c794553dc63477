"""Which linear queries to measure, proposed from public data.

A query is cheap to measure when no entry dominates it. Let θ̂ be a public estimate, s the support of
the noise in units of its scale, φ_ik shares of each record's budget (at most 1 together over its
pairs of row i and entry k), and m a *safety* factor. The problem's robust answer over the
hypothetical set

    { θ : θ between θ̂ and its worst end,   Σ_k φ_ik |θ_k − θ̂_k| / Δ_k ≤ m s  for every row i }

says what to measure. The multipliers λ_ij by which row i is proved from these inequalities sum to
the scale t_i of its query, and the weights are those of the answer, capped by what the multipliers
pay for: W_ik = sign(w_ik) min(|w_ik|, Σ_j λ_ij φ_jk/Δ_k). What exceeds the cap pays its own worst
case, so a row pays for the m·s largest of its entries (the budgeted uncertainty of Bertsimas and
Sim 2004). The set is inside the known one, so the answer exists whenever the robust one does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.uncertainty import UncertaintySet
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import Belief

FloatArray = NDArray[np.float64]

#: Weights below this share of the largest of their query are left to the bounds.
UNSEEN = 1e-9
#: Share of a record's budget that a pair which a proposal did not use keeps in the next one.
KEPT = 0.01
#: Lattice steps that one record moves a query by, in bits.
QUERY_BITS = 34


@dataclass(frozen=True, eq=False)
class Proposal:
    """Weights (rows × entries), the scale of each row's noise, and the answer they are for."""

    weights: sparse.csr_array
    scale: FloatArray
    answer: Answer

    def integers(self, envelope: Envelope) -> sparse.csr_array:
        """Weights of lattice cells, rounded towards 0: the bounds take what is rounded off."""
        W = self.weights.tocoo()
        unit = self.scale[W.row] / (envelope.step[W.col] * 2.0**QUERY_BITS)
        whole = np.trunc(np.divide(W.data, unit, np.zeros(W.nnz), where=unit > 0.0))
        keep = np.isfinite(whole) & (np.abs(whole) < 2.0**62) & (whole != 0.0)
        found = sparse.csr_array(
            (whole[keep].astype(np.int64), (W.row[keep], W.col[keep])), W.shape
        )
        return sparse.csr_array(found[np.diff(found.indptr) > 0])


def propose(
    problem: Problem,
    known: UncertaintySet,
    belief: Belief,
    budget: PrivacyBudget,
    *,
    safety: float,
    shift: float,
    alone: bool = False,
) -> Proposal | None:
    """The queries worth measuring around a belief; None where there is nothing to measure.

    The second pass looks at queries that lie `shift` standard deviations higher than believed. With
    `alone`, a record's budget is counted row by row, as the largest of several queries costs it.
    """
    found, pairs = None, _Pairs(problem, alone)
    mean, variance = belief.moments()
    estimate = mean
    try:
        for _ in range(2):
            found = pairs.propose(problem, known, estimate, safety * support(budget), found)
            if not found.weights.nnz:
                return None
            deviation = np.sqrt(found.weights.power(2) @ variance)
            rows = np.divide(shift, deviation, np.zeros_like(deviation), where=deviation > 0.0)
            moved = mean + variance * (found.weights.T @ rows)
            estimate = np.clip(moved, belief.lower, belief.lower + belief.width)
    except (SolverError, RefusedError, InvalidArgumentError):  # no answer that floats hold
        pass
    return found


def support(budget: PrivacyBudget) -> float:
    """Of truncated Laplace noise, in units of the ℓ1 sensitivity."""
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    return math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon


class _Pairs:
    """Pairs of a row and an entry that it reads, and the records that own the entry."""

    def __init__(self, problem: Problem, alone: bool) -> None:
        envelope, signs = problem.envelope, problem.signs.tocoo()
        use = (envelope.radius[signs.col] > 0.0) & (signs.data != 0)
        self.row, self.entry = signs.row[use].astype(np.int64), signs.col[use].astype(np.int64)
        self.sign, self.shape = signs.data[use].astype(np.float64), signs.shape
        self.radius = envelope.radius[self.entry]
        self.most = envelope.entries_per_record
        owners = sparse.csc_array(envelope.change)
        count = np.diff(owners.indptr)[self.entry]
        self.pair = np.repeat(np.arange(self.entry.size), count)
        place = np.arange(self.pair.size) - np.repeat(np.cumsum(count) - count, count)
        owner = owners.indices[owners.indptr[self.entry][self.pair] + place].astype(np.int64)
        key = self.row[self.pair] * owners.shape[0] + owner if alone else owner
        self.group = np.unique(key, return_inverse=True)[1]

    def heaviest(self, load: FloatArray) -> FloatArray:
        """Per pair, the most that a record which owns its entry is loaded with."""
        loads = load[self.pair]
        if self.most is None:
            total = np.bincount(self.group, weights=loads)
        else:
            total = self._worst_entries(loads, self.most)
        found = np.zeros(self.row.size)
        np.maximum.at(found, self.pair, total[self.group])
        return found

    def _worst_entries(self, loads: FloatArray, most: int) -> FloatArray:
        """Per record, the sum over the `most` entries that load it most."""
        key = self.group * self.shape[1] + self.entry[self.pair]
        unique, where = np.unique(key, return_inverse=True)
        per_entry = np.bincount(where, weights=loads)
        group = unique // self.shape[1]
        order = np.lexsort((-per_entry, group))
        start = np.searchsorted(group[order], group[order])
        first = np.arange(order.size) - start < most
        chosen = order[first]
        return np.bincount(group[chosen], weights=per_entry[chosen]).astype(float)

    def propose(
        self,
        problem: Problem,
        known: UncertaintySet,
        estimate: FloatArray,
        payment: float,
        previous: Proposal | None,
    ) -> Proposal:
        """The answer over the hypothetical set, and what its multipliers pay for."""
        share = self.shares(previous) / self.radius
        W = sparse.csr_array((self.sign * share, (self.row, self.entry)), self.shape)
        harmful, helpful = np.zeros((2, self.shape[1]), dtype=bool)
        harmful[self.entry[self.sign > 0]] = True
        helpful[self.entry[self.sign < 0]] = True
        lower = np.where(harmful & ~helpful, estimate, known.lower)
        upper = np.where(helpful & ~harmful, estimate, known.upper)
        hypothetical = UncertaintySet(lower, upper, W, W @ estimate + payment)
        start = None if previous is None else previous.answer
        answer = problem.answer(hypothetical, estimate, start=start, certify=False)
        prices = answer.multipliers.maximum(0.0)
        scale = np.asarray(prices.sum(axis=1), dtype=float).ravel()
        cap = _at(sparse.csr_array(prices @ W), self.row, self.entry)
        wanted = _at(answer.weights, self.row, self.entry)
        weight = np.minimum(np.abs(wanted), np.abs(cap))
        weight = np.where(np.sign(wanted) == self.sign, self.sign * weight, 0.0)
        # without negligible weights; scales as small as the records that meet them allow
        largest, tightest = np.zeros((2, scale.size))
        np.maximum.at(largest, self.row, np.abs(weight))
        keep = (np.abs(weight) > UNSEEN * largest[self.row]) & (scale[self.row] > 0.0)
        load = np.zeros(weight.size)
        load[keep] = np.abs(weight[keep]) * self.radius[keep] / scale[self.row[keep]]
        np.maximum.at(tightest, self.row[keep], self.heaviest(load)[keep])
        kept = sparse.csr_array((weight[keep], (self.row[keep], self.entry[keep])), self.shape)
        return Proposal(kept, scale * tightest, answer)

    def shares(self, previous: Proposal | None) -> FloatArray:
        """φ of every pair: equal parts of a record's budget, or as the last proposal used it."""
        used = np.ones(self.row.size)
        if previous is not None:
            load = np.abs(_at(previous.weights, self.row, self.entry)) * self.radius
            scale = previous.scale[self.row]
            used = KEPT * used / self.heaviest(used)
            used += np.divide(load, scale, np.zeros_like(load), where=scale > 0.0)
        return used / self.heaviest(used)


def _at(matrix: sparse.csr_array, row: Any, column: Any) -> FloatArray:
    """The numbers of a matrix at given places."""
    if not row.size:
        return np.empty(0)
    return np.asarray(matrix[row, column], dtype=np.float64).ravel()
