"""Many draws at once, where states are few.

In a sweep most draws need one or two pricing problems. A batch of draws takes them in rounds of two
compiled passes: one over all master programs, which mix the policies of the library, and one
over all pricing problems, draws whose mixtures lean on the same policy one after the other, each
from the values of the last. A draw whose bound meets its mixture is done; the others leave their
best policies in the library and try again. The bound μᵀv + max δ/(1 − γ) + λᵀf0 holds for whatever
v comes out (:mod:`dp_cmdp.cmdp.solvers.pricing`), so rounding can cost a certificate but not make a
false one. With one cost there is one round. What rounds do not settle is left to
:mod:`dp_cmdp.cmdp.solvers.newton` and :mod:`dp_cmdp.cmdp.solvers.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.solvers.columns import NEGATIVE
from dp_cmdp.cmdp.solvers.krylov import assign, compiled
from dp_cmdp.cmdp.solvers.library import FLOW, PolicyLibrary
from dp_cmdp.cmdp.solvers.master import simplex, start_basis
from dp_cmdp.cmdp.solvers.mixture import costly_states, largest, totals
from dp_cmdp.cmdp.solvers.pricing import price_at
from dp_cmdp.cmdp.solvers.solution import CMDPSolution

#: Models with more states are solved draw by draw: there, the time between passes is not felt.
FEW_STATES = 300
#: Accuracy of a pricing problem, relative to the accepted gap.
PRICING_ACCURACY = 0.25
#: Rounds at most; one that settles nothing is the last, too.
BATCH_ROUNDS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """The best mixture of pooled policies for every draw: names, weights, prices and costs."""

    names: NDArray[np.int64]  # (draws, K + 1); negative where no policy is meant
    mix: FloatArray  # (draws, K + 1), zero there
    dual: FloatArray  # (draws, K)
    costs: FloatArray  # (draws, K)
    feasible: NDArray[np.bool_]

    @classmethod
    def of(cls, library: PolicyLibrary, tables: FloatArray, b: FloatArray) -> Mixtures:
        """Solve the master program of every draw."""
        draws, rows = b.shape
        horizon = 1.0 / (1.0 - library.dynamics.gamma)
        names, weights = np.empty((draws, rows + 1), np.int64), np.empty((draws, rows + 1))
        prices, scale = np.empty((draws, rows + 1)), np.empty((draws, rows))
        costs, unit = np.empty((draws, rows)), library.reward_scale * horizon or 1.0
        masters(tables, b, library.values, unit, horizon, library.policies, library.occupancies,
                names, weights, prices, scale, costs)  # fmt: skip
        mix = np.where(names >= 0, np.maximum(weights, 0.0), 0.0)
        return cls(
            names=names,
            mix=mix / mix.sum(axis=1, keepdims=True),
            dual=np.maximum(prices[:, :-1], 0.0) * unit / scale,
            costs=costs,
            feasible=(names > -1 - rows).all(axis=1) & (weights >= -NEGATIVE).all(axis=1),
        )


@compiled
def masters(tables, b, values, unit, horizon, policies, occupancies,
            names, weights, prices, scale, costs):  # fmt: skip
    """The restricted master of every draw, from its own start basis; `costs` of its mixture."""
    rows = b.shape[1]
    own, right = np.empty((values.size, rows)), np.empty(rows)
    for d in range(b.shape[0]):
        largest(tables[d], scale[d])
        for i in range(rows):
            scale[d, i] = scale[d, i] * horizon if scale[d, i] > 0.0 else 1.0
            right[i] = b[d, i] / scale[d, i]
        states = costly_states(tables[d], policies.shape[1])
        totals(tables[d], states, policies, occupancies, scale[d], own)
        start_basis(own, right, names[d])
        simplex(values, unit, own, right, names[d], weights[d], prices[d])
        for i in range(rows):
            costs[d, i] = 0.0
            for j in range(rows + 1):
                if names[d, j] >= 0:
                    costs[d, i] += weights[d, j] * own[names[d, j], i] * scale[d, i]


def solve_batch(
    library: PolicyLibrary, tables: FloatArray, b: FloatArray, *, gap: float
) -> list[CMDPSolution | None]:
    """What rounds can settle: one solution per draw, or None.

    Parameters
    ----------
    library : PolicyLibrary
        With at least one policy; it learns from the draws.
    tables : (draws, K, pairs)
    b : (draws, K)
    gap : float

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of the draws.
    """
    answers: list[CMDPSolution | None] = [None] * len(tables)
    left, rounds = np.arange(len(tables)), 1 if b.shape[1] == 1 else BATCH_ROUNDS
    for turn in range(1, rounds + 1):
        found = _round(library, frozen(tables[left]), b[left], gap=gap, turn=turn)
        for d, answer in zip(left.tolist(), found, strict=True):
            answers[d] = answer
        before, left = left.size, left[[answer is None for answer in found]]
        if left.size in (0, before):
            break
    return answers


def _round(
    library: PolicyLibrary, tables: FloatArray, b: FloatArray, *, gap: float, turn: int
) -> list[CMDPSolution | None]:
    """Mix and price every draw once; what is not settled leaves its best policy in the library."""
    found = Mixtures.of(library, tables, b)
    used = np.unique(found.names[(found.mix > 0.0) & found.feasible[:, None]])
    refined = [library.refine(p, residual=FLOW) for p in used.tolist()]
    if any(refined):
        found = Mixtures.of(library, tables, b)
    value = (found.mix * library.values[np.maximum(found.names, 0)]).sum(axis=1)
    share = (found.dual * b).sum(axis=1)
    allowed = gap * np.maximum(np.abs(value), library.reward_scale or 1.0)
    upper, best = np.full(len(tables), np.inf), np.empty((len(tables), library.shape[0]), np.int32)
    heaviest = np.take_along_axis(found.names, found.mix.argmax(axis=1)[:, None], axis=1)[:, 0]
    order = np.argsort(heaviest, kind="stable")
    price_all(
        library.dynamics, library.reward, tables, found.dual, library.policies, heaviest,
        order[found.feasible[order]], PRICING_ACCURACY * allowed, value - share, library.guess,
        library.rank, upper, best,
    )  # fmt: skip
    upper += share
    certain = found.feasible & (np.abs(upper - value) <= allowed)
    answers = _solutions(library, found, value=value, upper=upper, chosen=certain, turn=turn)
    for d in np.flatnonzero(found.feasible & ~certain).tolist():
        mixed = found.mix[d] > 0.0
        library.add(best[d], found.names[d, mixed], found.mix[d, mixed], residual=FLOW)
    return answers


@compiled
def price_all(dyn, reward, tables, dual, policies, heaviest, order, tolerance, target,
              v, rank, upper, best):  # fmt: skip
    """Price the draws in `order`, from their heaviest policies and the guess v."""
    trust = policies.shape[0] > 0  # always; a constant would be compiled apart
    for k in range(order.size):
        d = order[k]
        assign(best[d], policies[heaviest[d]])
        upper[d] = price_at(
            dyn, reward, 1.0, tables[d], dual[d], v, best[d], rank, tolerance[d], target[d], trust
        )


def _solutions(
    library: PolicyLibrary,
    found: Mixtures,
    *,
    value: FloatArray,
    upper: FloatArray,
    chosen: NDArray[np.bool_],
    turn: int,
) -> list[CMDPSolution | None]:
    answers: list[CMDPSolution | None] = [None] * chosen.size
    for d in np.flatnonzero(chosen).tolist():
        mixed = found.mix[d] > 0.0
        answers[d] = library.mixture(
            found.names[d, mixed],
            found.mix[d, mixed],
            value=float(value[d]),
            costs=found.costs[d],
            dual=found.dual[d],
            bound=float(upper[d]),
            iterations=turn,
        )
    return answers
