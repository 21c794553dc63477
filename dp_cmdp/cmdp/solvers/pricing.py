"""Pricing: the unconstrained MDP behind one column, with certified bounds.

For multipliers λ ≥ 0 the best column is an optimal policy of the MDP with reward r − Σ λ_i f_i.
It is found by inexact policy iteration: greedy improvement, then an approximate evaluation of the
greedy policy (:mod:`dp_cmdp.cmdp.solvers.krylov`) and, while the policy still changes, Gauss–Seidel
sweeps of value iteration. With Bellman residuals δ(s) = max_a q(s, a) − v(s), whatever v is,

    μᵀv + min δ/(1 − γ)  ≤  value of the greedy policy  ≤  optimal value  ≤  μᵀv + max δ/(1 − γ),

so the bounds hold for the numbers at hand, converged or not.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._check import frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.krylov import Dynamics, assign, chain_of, compiled, evaluate, ranking
from dp_cmdp.errors import InvalidArgumentError

#: A greedy action must beat the present one by this much, relative to its value.
RELATIVE_TIE = 1e-13
#: Evaluations shrink the Bellman residual by this factor before the next improvement.
FORCING = 0.05
#: The first evaluation of a trusted policy shrinks the residual of its guess by this factor.
COARSE = 1e-4
#: Improvements of the policy at most: far more than policy iteration takes.
IMPROVEMENT_ROUNDS = 1000
#: Value-iteration sweeps before the next improvement, while the policy changes a lot.
PRICING_SWEEPS = 2
#: That is when more than one state in this many changes its action; states are then ranked anew.
MANY = 50
#: Rounds without progress, at an unchanged policy, after which rounding is to blame.
STALLS = 3


def dynamics_of(cmdp: CMDP) -> Dynamics:
    """The compiled form of a model's dynamics; shares its buffers.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Public*: no cost and no tolerance enters.
    """
    if cmdp.T.nnz >= 2**31:
        raise InvalidArgumentError("T must have fewer than 2³¹ non-zeros for the columns engine")
    return Dynamics(
        frozen(np.ascontiguousarray(cmdp.T.indptr, np.int32).view(np.uint32)),
        frozen(np.ascontiguousarray(cmdp.T.indices, np.int32).view(np.uint32)),
        frozen(np.ascontiguousarray(cmdp.T.data, np.float64)),
        frozen(np.ascontiguousarray(cmdp.mu)),
        cmdp.num_states,
        cmdp.num_actions,
        float(cmdp.gamma),
    )


@compiled
def improve(dyn, reward, v, policy):
    """Make `policy` greedy for v, in place; return μᵀv, min δ, max δ and the states changed."""
    start, low, high, changes = 0.0, np.inf, -np.inf, 0
    for state in range(dyn.num_states):
        first = state * dyn.num_actions
        best, held, choice = -np.inf, -np.inf, 0
        for action in range(dyn.num_actions):
            expected = 0.0
            for k in range(dyn.indptr[first + action], dyn.indptr[first + action + 1]):
                expected += dyn.data[k] * v[dyn.indices[k]]
            q = reward[first + action] + dyn.gamma * expected
            if action == policy[state]:
                held = q
            if q > best:
                best, choice = q, action
        start += dyn.mu[state] * v[state]
        high = max(high, best - v[state])
        if best > held + RELATIVE_TIE * (abs(held) + abs(v[state])):
            policy[state] = choice
            changes += 1
            low = min(low, best - v[state])
        else:
            low = min(low, held - v[state])
    return start, low, high, changes


@compiled
def sweep(dyn, reward, v, policy):
    """Gauss–Seidel value iteration, in place, once up and once down the order of the states."""
    for i in range(2 * dyn.num_states):
        state = min(i, 2 * dyn.num_states - 1 - i)
        first = state * dyn.num_actions
        best, choice = -np.inf, 0
        for action in range(dyn.num_actions):
            expected = 0.0
            for k in range(dyn.indptr[first + action], dyn.indptr[first + action + 1]):
                expected += dyn.data[k] * v[dyn.indices[k]]
            q = reward[first + action] + dyn.gamma * expected
            if q > best:
                best, choice = q, action
        v[state] = best
        policy[state] = choice


@compiled
def price(dyn, reward, v, policy, rank, tolerance, target, trust):
    """Solve one MDP from the guesses `v`, `policy` and `rank`, which are updated in place.

    Stops when the bounds on the optimal value are `tolerance` apart, or when the policy's lower
    bound beats `target` by more than the bounds' distance. With `trust` the policy is the better
    guess and is evaluated before it is first improved. Returns the upper bound.
    """
    horizon = 1.0 / (1.0 - dyn.gamma)
    lower, upper, last = -np.inf, np.inf, np.inf
    stalls, many = 0, False
    settled = 0.25 * tolerance / horizon
    if trust:
        evaluate(dyn, chain_of(dyn, policy, rank), reward, policy, v, rank, settled, COARSE)
    for turn in range(IMPROVEMENT_ROUNDS):
        for _ in range(PRICING_SWEEPS if many else 0):
            sweep(dyn, reward, v, policy)
        start, low, high, changes = improve(dyn, reward, v, policy)
        lower, upper = start + low * horizon, start + high * horizon
        if upper - lower <= max(tolerance, lower - target):
            break
        stalls = stalls + 1 if changes == 0 and high - low > 0.5 * last else 0
        if stalls > STALLS:
            break
        last = high - low
        many = changes * MANY > dyn.num_states
        if many:
            assign(rank, ranking(dyn, policy))
        thorough = not many and (changes > 0 or turn > 0 or trust)
        goal = settled if thorough else max(FORCING * max(high, -low), settled)
        evaluate(dyn, chain_of(dyn, policy, rank), reward, policy, v, rank, goal, 0.0)
    return upper


@compiled
def price_at(dyn, reward, weight, table, dual, v, policy, rank, tolerance, target, trust):
    """:func:`price` for the reward weight·r − Σ_i dual_i f_i."""
    income = np.empty(reward.size)
    for pair in range(income.size):
        income[pair] = weight * reward[pair]
        for i in range(dual.size):
            income[pair] -= dual[i] * table[i, pair]
    return price(dyn, income, v, policy, rank, tolerance, target, trust)
