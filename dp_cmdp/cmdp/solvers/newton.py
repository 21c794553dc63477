"""One cost row: policy and multiplier found together, by Newton's method.

Around a policy π, the dual function of the multiplier is known to first order
(:mod:`dp_cmdp.cmdp.solvers.switch`): its least value lies between two policies, and one of them is
the next π. Where the multipliers of column generation halve an interval, these steps converge at
once; from the policy of a like draw, two or three will do.

Once π is one of its own two policies, nothing changes any more: with the multiplier λ at which the
two are equally good, and the values w and advantages A of π for the reward r − λf,

    optimum ≤ μᵀw + max_{s,a} A(s, a)/(1 − γ) + λ f0

holds for the numbers at hand, converged or not. The mixture of the two that costs f0 attains it.
Steps may also lead nowhere, or in a circle, where a change of action moves much of the occupancy;
such draws, and those that no policy can serve, are left to :mod:`dp_cmdp.cmdp.solvers.columns`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.solvers.krylov import (
    PULL,
    RESIDUAL_ROUNDING,
    assign,
    chain_of,
    compiled,
    evaluate,
    inner,
    occupy,
    ranking,
    size_of,
)
from dp_cmdp.cmdp.solvers.library import FLOW, PolicyLibrary
from dp_cmdp.cmdp.solvers.mixture import costly_states, largest, total, totals
from dp_cmdp.cmdp.solvers.pricing import MANY, RELATIVE_TIE, sweep
from dp_cmdp.cmdp.solvers.solution import CMDPSolution
from dp_cmdp.cmdp.solvers.switch import Model, advantages, switch

#: Steps before column generation takes over.
NEWTON_STEPS = 50
#: After more changes than this, value iteration carries them on. While there are more and the
#: multiplier moves by so much, relatively, evaluations only make the residual so much smaller.
FEW, CLOSE, COARSE_EVALUATION = 10, 1e-3, 1e-3
#: Flow residual of the occupancies that weigh the states of a model.
LOOSE_OCCUPANCY = 1e-1
#: Error of the evaluations and smallest gain of a change, relative to the accepted gap.
EVALUATION_ACCURACY, SMALLEST_GAIN = 0.1, 0.5
#: Least guess of a multiplier, relative to max|r|/max|f|.
SMALLEST_MULTIPLIER = 1e-3


class Answer(NamedTuple):
    """Two policies mixed: multiplier, weight of the first, value, cost, upper bound and steps.

    There are no steps where Newton's method leads nowhere.
    """

    multiplier: float
    weight: float
    value: float
    cost: float
    bound: float
    steps: float


def solve_one_row(
    library: PolicyLibrary, table: FloatArray, b: FloatArray, *, gap: float
) -> CMDPSolution | None:
    """Newton's method from the best mixture of pooled policies; None where it settles nothing.

    Parameters
    ----------
    library : PolicyLibrary
        With at least one policy; it learns from the draw.
    table : (1, pairs)
    b : (1,)
    gap : float

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of the draw.
    """
    scale, tolerance = library.reward_scale or 1.0, float(b[0])
    first, second, guess = neighbours(
        table, tolerance, library.policies, library.occupancies, library.values, scale
    )
    policies, occupancies = library.policies[[first, second]], library.occupancies[[first, second]]
    reward, cost, (v, u) = library.reward.copy(), table[0].copy(), library.to_go
    answer = newton(
        library.dynamics, reward, cost, tolerance, guess, gap, scale, v, u, library.rank,
        policies, occupancies,
    )  # fmt: skip
    if answer.steps == 0.0:
        return None
    used = [0, 1] if answer.weight < 1.0 else [0]
    return library.mixture(
        [library.insert(policies[k], occupancies[k], residual=FLOW) for k in used],
        np.array([answer.weight, 1.0 - answer.weight])[used],
        value=answer.value,
        costs=np.array([answer.cost]),
        dual=np.array([answer.multiplier]),
        bound=answer.bound,
        iterations=int(answer.steps),
    )


@compiled
def neighbours(table, b, policies, occupancies, values, reward_scale):
    """The two pooled policies of the best mixture, the heavier first, and a guess of λ."""
    unit, costs = np.ones(1), np.empty((values.size, 1))
    totals(table, costly_states(table, policies.shape[1]), policies, occupancies, unit, costs)
    left, right = 0, 0
    for p in range(values.size):
        left = p if values[p] > values[left] else left
        right = p if costs[p, 0] < costs[right, 0] else right
    largest(table, unit)
    unit[0] = reward_scale / unit[0] if unit[0] > 0.0 else 1.0
    if costs[left, 0] <= b:
        return left, left, SMALLEST_MULTIPLIER * unit[0]
    if costs[right, 0] >= b:
        return right, right, unit[0]
    while True:
        multiplier = (values[left] - values[right]) / (costs[left, 0] - costs[right, 0])
        best = left
        for p in range(values.size):
            if values[p] - values[best] > multiplier * (costs[p, 0] - costs[best, 0]):
                best = p
        if not costs[right, 0] < costs[best, 0] < costs[left, 0]:
            break
        if costs[best, 0] > b:
            left = best
        else:
            right = best
    if costs[left, 0] - b > b - costs[right, 0]:
        left, right = right, left
    return left, right, max(multiplier, SMALLEST_MULTIPLIER * unit[0])


@compiled
def newton(dyn, reward, cost, b, guess, gap, scale, v, u, rank, policies, occupancies):
    """Solve one draw from two policies and guesses of the multiplier, v and u.

    All but the multiplier are updated in place. The answer has no steps when they lead nowhere.
    """
    multiplier, last, shrink = guess, -1.0, COARSE_EVALUATION
    policy, y = policies[0], occupancies[0]
    left, right = np.empty_like(policy), np.empty_like(policy)
    gain, extra = np.empty(reward.size), np.empty(reward.size)
    for step in range(NEWTON_STEPS):
        chain = chain_of(dyn, policy, rank)
        allowed = gap * max(abs(inner(dyn.mu, v)), scale) * (1.0 - dyn.gamma)
        error = EVALUATION_ACCURACY * allowed
        evaluate(dyn, chain, reward, policy, v, rank, error, shrink)
        evaluate(dyn, chain, cost, policy, u, rank, error / multiplier, shrink)
        occupy(dyn, chain, y, rank, LOOSE_OCCUPANCY)
        advantages(dyn, reward, v, gain)
        advantages(dyn, cost, u, extra)
        tie = max(
            SMALLEST_GAIN * allowed,
            RELATIVE_TIE * (size_of(v, PULL) + multiplier * size_of(u, PULL)),
        )
        model, excess = Model(gain, extra, y, policy, dyn.num_actions, tie), inner(dyn.mu, u) - b
        best = switch(model, excess, multiplier, left, right)
        changes = min(differing(left, policy), differing(right, policy))
        if changes > 0:
            assign(policy, right)
            if changes > FEW and best >= 0.0:
                sweep_at(dyn, reward, cost, best, v, u, policy)
            if changes * MANY > policy.size:
                assign(rank, ranking(dyn, policy))
            settled = abs(best - last) <= CLOSE * best and changes * MANY <= policy.size
            shrink = 0.0 if settled else COARSE_EVALUATION
        elif not best >= 0.0:
            break
        else:
            partner = left if differing(left, policy) > 0 else right
            complete(dyn, chain, rank, partner, policies, occupancies)
            multiplier, weight, value, paid = mix(reward, cost, b, policies, occupancies, best)
            if weight >= 0.0:
                upper = bound(dyn, chain, reward, cost, multiplier, v, u, rank, policy, error)
                upper += multiplier * b
                if abs(upper - value) <= gap * max(abs(value), scale):
                    return Answer(multiplier, weight, value, paid, upper, step + 1.0)
            if shrink == 0.0:
                assign(policy, policies[1])
                assign(y, occupancies[1])
            shrink = 0.0
        last, multiplier = best, max(best, guess)
    return Answer(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@compiled
def priced(reward, cost, multiplier):
    """r − λf, or v − λu."""
    net = np.empty(reward.size)
    for k in range(net.size):
        net[k] = reward[k] - multiplier * cost[k]
    return net


@compiled
def sweep_at(dyn, reward, cost, multiplier, v, u, policy):
    """Carry changes of the policy on to the states before, by a sweep of value iteration."""
    sweep(dyn, priced(reward, cost, multiplier), priced(v, u, multiplier), policy)


@compiled
def bound(dyn, chain, reward, cost, multiplier, v, u, rank, policy, error):
    """An upper bound on the value of every policy for r − λf, from the values of this one.

    Advantages carry the rounding of v and λu, whose difference may be small.
    """
    rounding = RESIDUAL_ROUNDING * (size_of(v, PULL) + multiplier * size_of(u, PULL))
    income, w = priced(reward, cost, multiplier), priced(v, u, multiplier)
    evaluate(dyn, chain, income, policy, w, rank, error, 0.0)
    advantages(dyn, income, w, income)
    most = -np.inf
    for pair in range(income.size):
        most = max(most, income[pair])
    return inner(dyn.mu, w) + (most + rounding) / (1.0 - dyn.gamma)


@compiled
def complete(dyn, chain, rank, partner, policies, occupancies):
    """Make `partner` the second policy, and both flows exact."""
    occupy(dyn, chain, occupancies[0], rank, FLOW)
    if differing(partner, policies[1]) > 0:
        assign(policies[1], partner)
        assign(occupancies[1], occupancies[0])
    occupy(dyn, chain_of(dyn, partner, rank), occupancies[1], rank, FLOW)


@compiled
def mix(reward, cost, b, policies, occupancies, multiplier):
    """Weigh two policies so that they cost at most b: multiplier, weight, value and cost.

    The multiplier is the one at which both are equally good, or the given one where only the first
    is used. The weight of the first is −1 when they cannot.
    """
    one, other = total(cost, policies[0], occupancies[0]), total(cost, policies[1], occupancies[1])
    first = total(reward, policies[0], occupancies[0])
    second = total(reward, policies[1], occupancies[1])
    between = (one - b) * (other - b) < 0.0
    weight = (b - other) / (one - other) if between else 1.0
    if weight == 1.0 and one > b:
        return multiplier, -1.0, 0.0, 0.0
    if between:
        multiplier = max((first - second) / (one - other), 0.0)
    value = weight * first + (1.0 - weight) * second
    return multiplier, weight, value, weight * one + (1.0 - weight) * other


@compiled
def differing(one, other):
    """In how many states two policies differ."""
    count = 0
    for state in range(one.size):
        count += one[state] != other[state]
    return count
