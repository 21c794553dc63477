"""Many draws at once, where states are few.

In a sweep most draws need one pricing problem, which does no more than certify the mixture that the
pool already offers: the mixture's heaviest policy π is evaluated for the reward r − λᵀf, and one
Bellman step bounds the optimum. A batch of draws does this in two compiled passes, one over all
master programs and one over all evaluations, draws with the same π one after the other, each from
the values of the last. The bound μᵀv + max δ/(1 − γ) + λᵀf0 holds for whatever v comes out
(:mod:`dp_cmdp.cmdp.pricing`), so rounding can cost a certificate but not make a false one. A draw
without a certificate is left to :mod:`dp_cmdp.cmdp.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.columns import FLOW, NEGATIVE
from dp_cmdp.cmdp.krylov import assign, compiled, evaluate
from dp_cmdp.cmdp.master import simplex, start_basis
from dp_cmdp.cmdp.mixture import largest, occupancy_measure, totals
from dp_cmdp.cmdp.pricing import improve
from dp_cmdp.cmdp.solution import CMDPSolution, relative_gap

if TYPE_CHECKING:
    from dp_cmdp.cmdp.pool import PolicyPool

#: Models with more states are solved draw by draw: there, the time between passes is not felt.
FEW_STATES = 300
#: Accuracy of an evaluation, relative to the accepted gap.
ACCURACY = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """The best mixture of pooled policies for every draw: names, weights, prices and costs."""

    names: NDArray[np.int64]  # (draws, K + 1); negative where no policy is meant
    mix: FloatArray  # (draws, K + 1), zero there
    dual: FloatArray  # (draws, K)
    costs: FloatArray  # (draws, K)
    feasible: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: PolicyPool, tables: FloatArray, b: FloatArray) -> Mixtures:
        """Solve the master program of every draw."""
        draws, rows = b.shape
        horizon = 1.0 / (1.0 - pool.dynamics.gamma)
        names, weights = np.empty((draws, rows + 1), np.int64), np.empty((draws, rows + 1))
        prices, scale = np.empty((draws, rows + 1)), np.empty((draws, rows))
        costs, unit = np.empty((draws, rows)), pool.reward_scale * horizon or 1.0
        masters(tables, b, pool.values, unit, horizon, pool.policies, pool.occupancies,
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
        totals(tables[d], policies, occupancies, scale[d], own)
        start_basis(own, right, names[d])
        simplex(values, unit, own, right, names[d], weights[d], prices[d])
        for i in range(rows):
            costs[d, i] = 0.0
            for j in range(rows + 1):
                if names[d, j] >= 0:
                    costs[d, i] += weights[d, j] * own[names[d, j], i] * scale[d, i]


def offers(
    pool: PolicyPool, tables: FloatArray, b: FloatArray, *, gap: float
) -> list[CMDPSolution | None]:
    """What the pool can certify: one solution per draw, or None.

    Parameters
    ----------
    pool : PolicyPool
        With at least one policy.
    tables : (draws, K, pairs)
    b : (draws, K)
    gap : float

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *post-processing* of the draws.
    """
    found = Mixtures.of(pool, tables, b)
    used = np.unique(found.names[(found.mix > 0.0) & found.feasible[:, None]])
    refined = [pool.refine(p, residual=FLOW) for p in used.tolist()]
    if any(refined):
        found = Mixtures.of(pool, tables, b)
    values = pool.values[np.maximum(found.names, 0)]
    value = (found.mix * values).sum(axis=1)
    allowed = gap * np.maximum(np.abs(value), pool.reward_scale)
    upper = _bounds(pool, tables, found, allowed=allowed) + (found.dual * b).sum(axis=1)
    certain = found.feasible & (upper - value <= allowed)
    return _solutions(pool, found, value=value, upper=upper, chosen=certain)


def _bounds(
    pool: PolicyPool, tables: FloatArray, found: Mixtures, *, allowed: FloatArray
) -> FloatArray:
    """Upper bounds of max_π (c_π − λᵀa_π), one per draw."""
    heaviest = np.take_along_axis(found.names, found.mix.argmax(axis=1)[:, None], axis=1)[:, 0]
    upper = np.empty(len(tables))
    certify(
        pool.dynamics, pool.reward, tables, found.dual, pool.policies, heaviest,
        np.argsort(heaviest, kind="stable"), ACCURACY * allowed, pool.guess, pool.rank, upper,
    )  # fmt: skip
    return upper


@compiled
def certify(dyn, reward, tables, dual, policies, heaviest, order, accuracy, v, rank, upper):
    """Bound the optimum of every draw by its heaviest policy's values, from the guess v."""
    policy, income = np.empty(dyn.num_states, np.int32), np.empty(reward.size)
    for k in range(order.size):
        d = order[k]
        assign(policy, policies[heaviest[d]])
        for pair in range(income.size):
            income[pair] = reward[pair]
            for i in range(dual.shape[1]):
                income[pair] -= dual[d, i] * tables[d, i, pair]
        evaluate(dyn, income, policy, v, rank, accuracy[d] * (1.0 - dyn.gamma))
        start, _, high, _ = improve(dyn, income, v, policy)
        upper[d] = start + high / (1.0 - dyn.gamma)


def _solutions(
    pool: PolicyPool,
    found: Mixtures,
    *,
    value: FloatArray,
    upper: FloatArray,
    chosen: NDArray[np.bool_],
) -> list[CMDPSolution | None]:
    answers: list[CMDPSolution | None] = [None] * chosen.size
    for d in np.flatnonzero(chosen).tolist():
        mixed = found.mix[d] > 0.0
        names, mix = found.names[d, mixed], found.mix[d, mixed]
        policies, occupancy = pool.policies[names], np.zeros(pool.shape)
        occupancy_measure(policies, pool.occupancies[names], mix, occupancy)
        pool.touch(names)
        answers[d] = CMDPSolution(
            occupancy=frozen(occupancy),
            value=float(value[d]),
            costs=frozen(found.costs[d]),
            dual=frozen(found.dual[d]),
            upper_bound=float(upper[d]),
            gap=relative_gap(upper[d], value[d], reward_scale=pool.reward_scale),
            engine="columns",
            iterations=1,
            weights=frozen(mix),
            policies=frozen(policies),
        )
    return answers
