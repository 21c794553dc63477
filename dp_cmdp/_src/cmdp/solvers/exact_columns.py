"""Column generation in whole numbers: the last resort in small models.

As ``kernels/columns.c``: the best mixture of the policies at hand prices the next one. Worths and
bounds are those of :mod:`dp_cmdp.cmdp.solvers.whole_numbers`, mixtures are found in fractions, and
nothing is rounded before the answer is written down. Tolerances that every policy misses by no more
than :data:`dp_cmdp.cmdp.solvers.solution.FEASIBILITY` are raised by the least excess.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.fractions_simplex import Mixture, best_mixture
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, distance, infeasible
from dp_cmdp.cmdp.solvers.whole_numbers import (
    PLACES,
    WholeChain,
    WholeModel,
    Wholes,
    exactly,
    rounded,
)  # fmt: skip
from dp_cmdp.errors import InfeasibleError

#: Larger models are not factorised.
STATES = 5_000
#: Pricing problems at most, and states in all of them: one of 500 states takes 0.1 s.
EXACT_COLUMNS, PRICED_STATES = 60, 30_000
#: Every tolerance is raised by this much of its largest cost, far less than a double can tell: at
#: the least cost itself multipliers would be as large as the last places of whole numbers allow.
ROOM = Fraction(1, 2**64)


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """A policy with its exact visits, value and costs."""

    policy: NDArray[np.int32]
    visits: Wholes
    value: Fraction
    costs: list[Fraction]

    @classmethod
    def of(cls, model: WholeModel, policy: NDArray[np.int32]) -> Worth:
        chain = WholeChain(model, policy)
        visits = chain.visits()

        def total(table: Wholes) -> Fraction:
            return exactly(int((visits * table[chain.rows]).sum()) >> PLACES)

        return cls(policy, visits, total(model.r), [total(table) for table in model.f])


def refined_bound(
    cmdp: CMDP, dual: FloatArray, *, policy: NDArray[np.int32], f0: FloatArray
) -> float:
    """The Lagrangian bound at λ = `dual`, from the guess of a policy; ∞ in models too large.

    Notes
    -----
    **Privacy.** *Post-processing* of `cmdp`.
    """
    if cmdp.num_states > STATES:
        return np.inf
    model = WholeModel(cmdp)
    return _bound(model, dual, policy, paid=[Fraction(b) for b in f0.tolist()])[1]


def exact_solution(
    cmdp: CMDP, policies: NDArray[np.int32], *, gap: float
) -> CMDPSolution | InfeasibleError | None:
    """The answer to `cmdp`, from policies that may serve; None where this is not the way.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of `cmdp`.
    """
    if cmdp.num_states > STATES:
        return None
    model = WholeModel(cmdp)
    peaks = np.abs(cmdp.f).max(axis=(1, 2))
    unit = [Fraction(peak) / (1 - Fraction(cmdp.gamma)) for peak in np.where(peaks > 0, peaks, 1)]
    b = [Fraction(f0) + ROOM * size for f0, size in zip(cmdp.f0.tolist(), unit, strict=True)]
    known = [Worth.of(model, policy) for policy in policies]
    known = known or [Worth.of(model, np.zeros(cmdp.num_states, np.int32))]
    for _ in range(min(EXACT_COLUMNS, PRICED_STATES // cmdp.num_states)):
        mixture = best_mixture([(own.value, own.costs) for own in known], b, unit)
        dual = np.array([float(price) for price in mixture.prices])
        last = max(mixture.weights, key=lambda j: mixture.weights[j])
        kept = mixture.excess == 0
        paid = mixture.kept if kept else b
        policy, bound = _bound(model, dual, known[last].policy, paid=paid, reward=kept)
        if kept:
            answer = _answer(cmdp, known, mixture, dual, bound)
            if answer.gap <= gap:
                return answer
        fresh = not any(np.array_equal(policy, own.policy) for own in known)
        if fresh:
            known.append(Worth.of(model, policy))
        elif kept:
            return None
        elif mixture.excess > Fraction(FEASIBILITY):
            return infeasible(dual, -bound) if bound < 0.0 else None
        else:
            b = [own + ROOM * size for own, size in zip(mixture.kept, unit, strict=True)]
    return None


def _bound(
    model: WholeModel,
    dual: FloatArray,
    policy: NDArray[np.int32],
    *,
    paid: list[Fraction],
    reward: bool = True,
) -> tuple[NDArray[np.int32], float]:
    """The best policy at the multipliers, and what no policy exceeds there, rounded up."""
    net = model.net(dual, reward=reward)
    best, v = model.best(net, policy)
    bound = model.bound(net, v, dual, paid=paid)
    return best, float(np.nextafter(float(bound), np.inf))


def _answer(
    cmdp: CMDP, known: list[Worth], mixture: Mixture, dual: FloatArray, bound: float
) -> CMDPSolution:
    mixed = [(known[j], weight) for j, weight in mixture.weights.items() if weight > 0]
    measure = np.zeros(cmdp.r.shape)
    for own, weight in mixed:
        measure[np.arange(cmdp.num_states), own.policy] += float(weight) * rounded(own.visits)
    value = float(sum(weight * own.value for own, weight in mixed))
    costs = [float(sum(weight * own.costs[k] for own, weight in mixed))
             for k in range(cmdp.num_constraints)]  # fmt: skip
    return CMDPSolution(
        occupancy=frozen(np.maximum(measure, 0.0)),
        value=value,
        costs=frozen(np.array(costs)),
        dual=frozen(dual),
        upper_bound=bound,
        gap=distance(bound, value, reward_scale=float(np.abs(cmdp.r).max())),
        engine="policies",
        iterations=len(known),
        weights=frozen(np.array([float(weight) for _, weight in mixed])),
        policies=frozen(np.array([own.policy for own, _ in mixed])),
    )
