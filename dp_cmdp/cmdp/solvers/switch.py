"""The dual function of one multiplier, to first order around a policy.

Let π have values v of the reward r and u of the cost f, occupancy y and advantages

    A_r(s, a) = r(s, a) + γ T_a v − v(s),      A_f(s, a) = f(s, a) + γ T_a u − u(s).

Another policy σ earns Σ_s y_σ(s) A_r(s, σ(s)) more and costs Σ_s y_σ(s) A_f(s, σ(s)) more. With y
in place of y_σ, the dual function becomes

    c_π + λ(f0 − a_π) + Σ_s y(s) max_a (A_r − λ A_f)(s, a),

convex and piecewise linear. A *switch* is a multiplier at which a state changes its action: two
greedy policies are equally good there. The function is least at a switch between two of which one
costs at most f0 (in the model) and the other more. Cutting planes find it, as for any convex
function of one variable; a state whose action is the same on both sides of a bracket keeps it in
between, so that only the first two or three cuts pass over all states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dp_cmdp.cmdp.solvers.krylov import assign, compiled

#: Cuts at most; what they leave undone the next model mends.
CUTS = 100
#: First width of the bracket around the guessed multiplier, and its growth.
BRACKET_WIDTH, BRACKET_GROWTH = 0.02, 4.0
#: No bracket is wider, relative to the guess; the right policy then cares for costs alone.
FAR = 1e6


class Model(NamedTuple):
    """Advantages of one policy for reward (`gain`) and cost (`extra`), its occupancy, and ties."""

    gain: Any
    extra: Any
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
    """Best actions of the first `count` of `states`, in `choice`; their gain and extra cost."""
    gain, extra = 0.0, 0.0
    for k in range(count):
        state = states[k]
        first = state * model.num_actions
        best = first + model.policy[state]
        most = model.gain[best] - multiplier * model.extra[best] + model.tie
        for pair in range(first, first + model.num_actions):
            q = model.gain[pair] - multiplier * model.extra[pair]
            if q > most:
                most, best = q, pair
        choice[state] = best - first
        gain += model.y[state] * model.gain[best]
        extra += model.y[state] * model.extra[best]
    return gain, extra


@compiled
def bracket(model, excess, multiplier, states, left, right):
    """Greedy policies of a multiplier whose model is above f0 (left) and of one that is not.

    Returns 1; or 0 when the cost stays at or below f0 down to λ = 0, where both are greedy; or −1
    when it stays above.
    """
    low, high, width = multiplier, multiplier, BRACKET_WIDTH * multiplier
    _, extra = greedy(model, multiplier, states, states.size, left)
    assign(right, left)
    above = extra + excess > 0.0
    while extra + excess > 0.0:
        if not width < FAR * multiplier:
            return -1
        high, width = high + width, BRACKET_GROWTH * width
        assign(left, right)
        _, extra = greedy(model, high, states, states.size, right)
    while not above:
        if low == 0.0:
            assign(right, left)
            return 0
        low, width = max(low - width, 0.0), BRACKET_GROWTH * width
        assign(right, left)
        _, extra = greedy(model, low, states, states.size, left)
        above = extra + excess > 0.0
    return 1


@compiled
def narrow(model, states, count, left, right):
    """Keep the states in which two policies differ; their gains and costs there, and elsewhere."""
    kept, common = 0, 0.0
    gain_left, extra_left, gain_right, extra_right = 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        state = states[k]
        y, one = model.y[state], state * model.num_actions + left[state]
        other = state * model.num_actions + right[state]
        if one == other:
            common += y * model.extra[one]
            continue
        states[kept] = state
        kept += 1
        gain_left, extra_left = gain_left + y * model.gain[one], extra_left + y * model.extra[one]
        gain_right += y * model.gain[other]
        extra_right += y * model.extra[other]
    return kept, common, gain_left, extra_left, gain_right, extra_right


@compiled
def mend(model, multiplier, state, trial, policy):
    """Take the action of `trial` in a state in which it is better."""
    first = state * model.num_actions
    one, other = first + policy[state], first + trial[state]
    better = model.gain[other] - model.gain[one]
    if better - multiplier * (model.extra[other] - model.extra[one]) > model.tie:
        policy[state] = trial[state]


@compiled
def switch(model, excess, multiplier, left, right):
    """The multiplier of least model value, and the policies on both sides; negative if none."""
    states = np.empty(model.policy.size, np.uint32)
    for state in range(states.size):
        states[state] = state
    found = bracket(model, excess, multiplier, states, left, right)
    if found < 1:
        return float(found)
    count, trial, middle = states.size, np.empty_like(left), multiplier
    for _ in range(CUTS):
        count, common, gain_left, extra_left, gain_right, extra_right = narrow(
            model, states, count, left, right
        )
        excess += common
        middle = (gain_left - gain_right) / (extra_left - extra_right)
        gain, extra = greedy(model, middle, states, count, trial)
        higher = gain - middle * extra > gain_left - middle * extra_left
        if not (higher and extra_right < extra < extra_left):
            break
        for k in range(count):
            if extra + excess > 0.0:
                left[states[k]] = trial[states[k]]
            else:
                right[states[k]] = trial[states[k]]
    for k in range(count):  # where nobody comes, neither policy need be greedy
        mend(model, middle, states[k], trial, left)
        mend(model, middle, states[k], trial, right)
    return max(middle, 0.0)
