"""The safest policy: least cost first, most reward among equals.

The K costs are added on one scale, g(s, a) = Σ_i f_i(s, a)/w_i with w_i the tolerance f0_i, so
that g counts "fractions of the tolerance used up". A tolerance that is zero, negative or
negligible against the largest possible discounted cost is replaced by a millionth of that cost.

A policy minimises a discounted cost exactly when it uses, in every state, only actions that attain
min_a g(s, a) + γ Σ T(s, a, s')v(s') for the optimal v. So the lexicographic optimum takes two runs
of policy iteration: the second maximises the reward over the actions the first leaves. Each
evaluates its policies by a direct solve, since ties are what is asked for; the iteration of
``solvers/kernels/columns.c`` evaluates approximately, stops at a gap, and knows no mask.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.solvers.compiled_chain import swept_actions
from dp_cmdp.errors import ConvergenceError

#: Sweeps of value iteration that give policy iteration its first policy.
SWEEPS = 64
#: An action replaces another if it is better by this fraction of the largest value; two actions
#: tie if they differ by less than the second fraction.
IMPROVEMENT = 1e-11
TIE = 1e-9
#: The least share of the largest possible cost that serves as a scale.
NEGLIGIBLE = 1e-6
#: Improvements at most: far more than policy iteration takes.
ROUNDS = 1_000


def safest_policy(cmdp: CMDP) -> Policy:
    """The deterministic policy of least total cost, ties broken by reward, in every state.

    Notes
    -----
    Its cost exceeds the least by at most a relative 10⁻⁹/(1 − γ), the width within which actions
    count as tied. With several constraints, it minimises their sum in units of the tolerances;
    that need not satisfy each of them where some policy does.

    **Privacy.** *Post-processing* of a public `cmdp`.
    """
    everything = np.ones(cmdp.r.shape, dtype=bool)
    _, values = optimal_actions(cmdp, -_total_cost(cmdp), allowed=everything)
    lookahead = action_values(cmdp, -_total_cost(cmdp), values)
    tied = lookahead >= lookahead.max(axis=1, keepdims=True) - TIE * np.abs(values).max()
    actions, _ = optimal_actions(cmdp, cmdp.r, allowed=tied)
    return Policy.deterministic(actions, cmdp.num_actions)


def optimal_actions(
    cmdp: CMDP, reward: FloatArray, *, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Maximise one discounted `reward` over the `allowed` pairs by policy iteration.

    Parameters
    ----------
    cmdp : CMDP
        Gives the transitions and the discount; its own reward and costs are not read.
    reward : (num_states, num_actions)
    allowed : (num_states, num_actions) bool
        At least one action per state.

    Returns
    -------
    (actions, values)
        The best action and the value of each state.
    """
    table = np.where(allowed, reward, -np.inf)
    (actions, values), states = _first_actions(cmdp, table), np.arange(cmdp.num_states)
    for _ in range(ROUNDS):
        chain = DiscountedChain(cmdp, Policy.deterministic(actions, cmdp.num_actions))
        values = chain.values(reward[states, actions], guess=values)
        lookahead = action_values(cmdp, table, values)
        gain = lookahead.max(axis=1) - lookahead[states, actions]
        better = gain > IMPROVEMENT * np.abs(values).max()
        if not better.any():
            return actions, values
        actions = np.where(better, lookahead.argmax(axis=1), actions)
    raise ConvergenceError(
        f"policy iteration still improves after {ROUNDS} rounds; gamma = {cmdp.gamma:g} may be too "
        "close to 1 for double precision"
    )


def _first_actions(cmdp: CMDP, table: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """What value iteration takes for best after :data:`SWEEPS` sweeps, and its values."""
    values = np.zeros(cmdp.num_states)
    swept = swept_actions(cmdp, table, np.argmax(table, axis=1), values=values, sweeps=SWEEPS)
    if swept is not None:
        return swept, values
    for _ in range(SWEEPS):
        values = action_values(cmdp, table, values).max(axis=1)
    return action_values(cmdp, table, values).argmax(axis=1), values


def action_values(cmdp: CMDP, reward: FloatArray, values: FloatArray) -> FloatArray:
    """reward(s, a) + γ Σ_s' T(s, a, s')·values(s'), as a (num_states, num_actions) table."""
    return reward + cmdp.gamma * (cmdp.T @ values).reshape(cmdp.r.shape)


def _total_cost(cmdp: CMDP) -> FloatArray:
    largest = np.abs(cmdp.f).max(axis=(1, 2)) / (1.0 - cmdp.gamma)
    scale = np.maximum(cmdp.f0, NEGLIGIBLE * largest)
    scale[scale <= 0.0] = 1.0
    return (cmdp.f / scale[:, None, None]).sum(axis=0)
