"""One cost row: policy and multiplier found together, by Newton's method.

Let π have values v of the reward r and u of the cost f, occupancy y and advantages

    A_r(s, a) = r(s, a) + γ T_a v − v(s),      A_f(s, a) = f(s, a) + γ T_a u − u(s).

Another policy σ earns Σ_s y_σ(s) A_r(s, σ(s)) more and costs Σ_s y_σ(s) A_f(s, σ(s)) more. With y in
place of y_σ, which is right to first order, the dual function of the multiplier λ becomes

    c_π + λ(f0 − a_π) + Σ_s y(s) max_a (A_r − λ A_f)(s, a),

a convex function with a kink for every state that changes its action. Its least value lies at a
kink between two policies, of which one costs at most f0 (in the model) and the other more. One of
them is the next π. Where the multipliers of column generation halve an interval, these steps
converge at once; from the policy of a like draw, two or three will do.

Once π is one of its own two policies, nothing changes any more: π is optimal at λ, and

    optimum ≤ μᵀ(v − λu) + max_{s,a} (A_r − λ A_f)/(1 − γ) + λ f0

holds for the numbers at hand, converged or not. The mixture of the two policies that costs f0
attains it. What does not come so far is left to :mod:`dp_cmdp.cmdp.columns`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dp_cmdp.cmdp.krylov import (
    PULL,
    assign,
    chain_of,
    compiled,
    inner,
    ranking,
    size_of,
    solve_flow,
    solve_values,
)
from dp_cmdp.cmdp.pricing import MANY

#: Steps before column generation takes over, and trials for the kink of one model.
STEPS, TRIALS = 40, 100
#: A greedy action must beat the present one by this much, relative to the values.
TIE = 1e-13
#: Policies that are hardly the last are evaluated until the residual is so much smaller.
COARSE = 1e-3
#: Flow residual of occupancies that weigh the states of a model, and of those in the answer.
LOOSE, FLOW = 1e-2, 1e-14
#: Error of the evaluations, relative to the accepted gap.
ACCURACY = 0.1
#: First width of the bracket around the guessed multiplier, and its growth.
WIDTH, GROWTH = 0.02, 4.0
#: No bracket is wider, relative to the guess; the right policy then cares for costs alone.
FAR = 1e6


class Model(NamedTuple):
    """Advantages of one policy for reward and cost, its occupancy, and what ties are."""

    gain: Any
    load: Any
    y: Any
    policy: Any
    num_actions: int
    tie: float


@compiled
def advantages(dyn, table, v, out):
    """A(s, a) = t(s, a) + γ T_a v − v(s)."""
    for state in range(dyn.num_states):
        for pair in range(state * dyn.num_actions, (state + 1) * dyn.num_actions):
            expected = 0.0
            for k in range(dyn.indptr[pair], dyn.indptr[pair + 1]):
                expected += dyn.data[k] * v[dyn.indices[k]]
            out[pair] = table[pair] + dyn.gamma * expected - v[state]


@compiled
def greedy(model, multiplier, states, count, choice):
    """Best actions of the first `count` of `states`, written to `choice`; their gain and load."""
    gain, load = 0.0, 0.0
    for k in range(count):
        state = states[k]
        first = state * model.num_actions
        best = first + model.policy[state]
        most = model.gain[best] - multiplier * model.load[best] + model.tie
        for pair in range(first, first + model.num_actions):
            q = model.gain[pair] - multiplier * model.load[pair]
            if q > most:
                most, best = q, pair
        choice[state] = best - first
        gain += model.y[state] * model.gain[best]
        load += model.y[state] * model.load[best]
    return gain, load


@compiled
def bracket(model, excess, multiplier, states, left, right):
    """Greedy policies of a multiplier whose model is above f0 (left) and of one that is not.

    Returns 1; or 0 when the cost stays at or below f0 down to λ = 0, where both are greedy; or −1
    when it stays above.
    """
    low, high, width = multiplier, multiplier, WIDTH * multiplier
    _, load = greedy(model, multiplier, states, states.size, left)
    assign(right, left)
    above = load + excess > 0.0
    while load + excess > 0.0:
        if not width < FAR * multiplier:
            return -1
        high, width = high + width, GROWTH * width
        assign(left, right)
        _, load = greedy(model, high, states, states.size, right)
    while not above:
        if low == 0.0:
            assign(right, left)
            return 0
        low, width = max(low - width, 0.0), GROWTH * width
        assign(right, left)
        _, load = greedy(model, low, states, states.size, left)
        above = load + excess > 0.0
    return 1


@compiled
def narrow(model, states, count, left, right):
    """Keep the states in which two policies differ; what they gain and load there and elsewhere."""
    kept, common = 0, 0.0
    gain_left, load_left, gain_right, load_right = 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        state = states[k]
        y, one = model.y[state], state * model.num_actions + left[state]
        other = state * model.num_actions + right[state]
        if one == other:
            common += y * model.load[one]
            continue
        states[kept] = state
        kept += 1
        gain_left, load_left = gain_left + y * model.gain[one], load_left + y * model.load[one]
        gain_right += y * model.gain[other]
        load_right += y * model.load[other]
    return kept, common, gain_left, load_left, gain_right, load_right


@compiled
def kink(model, excess, multiplier, left, right):
    """The multiplier of least model value, and the policies on both sides; negative if none."""
    states = np.empty(model.policy.size, np.uint32)
    for state in range(states.size):
        states[state] = state
    found = bracket(model, excess, multiplier, states, left, right)
    if found < 1:
        return float(found)
    count, trial, middle = states.size, np.empty_like(left), multiplier
    for _ in range(TRIALS):
        count, common, gain_left, load_left, gain_right, load_right = narrow(
            model, states, count, left, right
        )
        excess += common
        middle = (gain_left - gain_right) / (load_left - load_right)
        gain, load = greedy(model, middle, states, count, trial)
        higher = gain - middle * load > gain_left - middle * load_left
        if not (higher and load_right < load < load_left):
            break
        for k in range(count):
            if load + excess > 0.0:
                left[states[k]] = trial[states[k]]
            else:
                right[states[k]] = trial[states[k]]
    for k in range(count):  # where nobody comes, neither policy need be greedy
        mend(model, middle, states[k], trial, left)
        mend(model, middle, states[k], trial, right)
    return middle


@compiled
def mend(model, multiplier, state, trial, policy):
    """Take the action of `trial` in a state in which it is better."""
    first = state * model.num_actions
    one, other = first + policy[state], first + trial[state]
    better = model.gain[other] - model.gain[one]
    if better - multiplier * (model.load[other] - model.load[one]) > model.tie:
        policy[state] = trial[state]


@compiled
def differing(one, other):
    """In how many states two policies differ."""
    count = 0
    for state in range(one.size):
        count += one[state] != other[state]
    return count


@compiled
def total(table, policy, y):
    """Σ_s t(s, π(s)) y(s)."""
    num_actions, result = table.size // policy.size, 0.0
    for state in range(policy.size):
        result += table[state * num_actions + policy[state]] * y[state]
    return result


@compiled
def mix(reward, cost, b, policies, occupancies, answer):
    """Weigh two policies so that they cost at most b; False when they cannot.

    Writes the weight of the first, the value and the cost of the mixture to `answer`.
    """
    one, other = total(cost, policies[0], occupancies[0]), total(cost, policies[1], occupancies[1])
    weight = (b - other) / (one - other) if (one - b) * (other - b) < 0.0 else 1.0
    if weight == 1.0 and one > b:
        return False
    value = weight * total(reward, policies[0], occupancies[0])
    answer[1] = weight
    answer[2] = value + (1.0 - weight) * total(reward, policies[1], occupancies[1])
    answer[3] = weight * one + (1.0 - weight) * other
    return True


@compiled
def highest(model, multiplier):
    """max (A_r − λ A_f)."""
    most = -np.inf
    for pair in range(model.gain.size):
        most = max(most, model.gain[pair] - multiplier * model.load[pair])
    return most


@compiled
def complete(dyn, chain, rank, partner, policies, occupancies):
    """Make `partner` the second policy, and both flows exact."""
    solve_flow(dyn, chain, occupancies[0], rank, FLOW)
    if differing(partner, policies[1]) > 0:
        assign(policies[1], partner)
        assign(occupancies[1], occupancies[0])
    solve_flow(dyn, chain_of(dyn, partner, rank), occupancies[1], rank, FLOW)


@compiled
def newton(dyn, reward, cost, b, guess, gap, scale, v, u, rank, policies, occupancies, answer):
    """Solve one draw from two policies and guesses of the multiplier, v and u.

    All but the multiplier are updated in place. `answer` gets multiplier, weight of the first
    policy, value, cost, upper bound and steps; the last stays zero when they lead nowhere.
    """
    multiplier, policy, y, many = guess, policies[0], occupancies[0], True
    left, right = np.empty_like(policy), np.empty_like(policy)
    gain, load = np.empty(reward.size), np.empty(reward.size)
    for step in range(STEPS):
        chain, shrink = chain_of(dyn, policy, rank), COARSE if many else 0.0
        solve_flow(dyn, chain, y, rank, LOOSE)
        error = ACCURACY * gap * max(abs(inner(dyn.mu, v)), scale) * (1.0 - dyn.gamma)
        solve_values(dyn, chain, reward, policy, v, rank, error, shrink)
        solve_values(dyn, chain, cost, policy, u, rank, error / multiplier, shrink)
        advantages(dyn, reward, v, gain)
        advantages(dyn, cost, u, load)
        tie = TIE * (size_of(v, PULL) + multiplier * size_of(u, PULL))
        model, excess = Model(gain, load, y, policy, dyn.num_actions, tie), inner(dyn.mu, u) - b
        best = kink(model, excess, multiplier, left, right)
        changes = min(differing(left, policy), differing(right, policy))
        if changes > 0:
            assign(policy, right)
        elif not best >= 0.0:
            return
        elif not many:
            partner = left if differing(left, policy) > 0 else right
            complete(dyn, chain, rank, partner, policies, occupancies)
            feasible = mix(reward, cost, b, policies, occupancies, answer)
            upper = inner(dyn.mu, v) - best * excess + highest(model, best) / (1.0 - dyn.gamma)
            if feasible and abs(upper - answer[2]) <= gap * max(abs(answer[2]), scale):
                answer[0], answer[4], answer[5] = best, upper, step + 1
                return
            assign(policy, policies[1])
            assign(y, occupancies[1])
        multiplier = max(best, guess)
        many = changes * MANY > policy.size
        if many:
            assign(rank, ranking(dyn, policy))


@compiled
def newton_each(dyn, reward, tables, b, guesses, order, gap, scale, v, u, rank,
                policies, occupancies, answers):  # fmt: skip
    """:func:`newton` for the draws in `order`, each from the values of the last."""
    for k in range(order.size):
        d = order[k]
        newton(dyn, reward, tables[d, 0], b[d, 0], guesses[d], gap, scale, v, u, rank,
               policies[d], occupancies[d], answers[d])  # fmt: skip
