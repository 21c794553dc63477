"""The safest policy: least cost first, most reward among equals.

The K costs are added on one scale, g(s, a) = Σ_i cost_i(s, a)/w_i with w_i the limit, so
that g counts fractions of the limit used up. A limit that is zero, negative or
negligible against the largest possible discounted cost is replaced by a millionth of that cost.

A policy minimises a discounted cost exactly when it uses, in every state, only actions that attain
min_a g(s, a) + γ Σ T(s, a, s')v(s') for the optimal v. So the lexicographic optimum takes two runs
of policy iteration: the second maximises the reward over the actions the first leaves. Each
evaluates its policies by a direct solve, since ties are what is asked for; the iteration of
``solvers/kernels/columns.c`` evaluates approximately, stops at a gap, and knows no mask.
"""

from __future__ import annotations

from ctypes import byref

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import ConvergenceError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.chain import discounted_chain
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.cmdp.solvers.compiled import MOST_TRANSITIONS, Dynamics, address, kernels

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

    Its cost exceeds the least by at most a relative 10⁻⁹/(1 − γ), the width within which actions
    count as tied. With several constraints, it minimises their sum in units of the limits; that
    need not satisfy each of them where some policy does.
    """
    if cmdp.horizon is not None:
        return _safest_over(cmdp)
    if (ending := cmdp.ending) is not None:  # of the discounted model with the same policies
        scaled = frozen(cmdp.cost * ending.scale[:, None])
        return safest_policy(ending.model._with_costs(scaled, cmdp.limit))
    everything = np.ones(cmdp.r.shape, dtype=bool)
    _, values = optimal_actions(cmdp, -_total_cost(cmdp), allowed=everything)
    lookahead = action_values(cmdp, -_total_cost(cmdp), values)
    tied = lookahead >= lookahead.max(axis=1, keepdims=True) - TIE * np.abs(values).max()
    actions, _ = optimal_actions(cmdp, cmdp.r, allowed=tied)
    return Policy.deterministic(actions, cmdp.num_actions)


def _safest_over(cmdp: CMDP) -> Policy:
    """The same over a horizon, with a share :data:`TIE` of the reward added to the cost."""
    from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool

    paid, none = _total_cost(cmdp), sparse.csr_array((0, cmdp.r.size))
    share = TIE * np.abs(paid).max() / (np.abs(cmdp.r).max() or 1.0)
    return EpisodePool(cmdp, none).best((share * cmdp.r - paid).ravel())


def optimal_actions(
    mdp: MDP, reward: FloatArray, *, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Actions and values that maximise a discounted `reward` over the `allowed` pairs."""
    table = np.where(allowed, reward, -np.inf)
    (actions, values), states = _first_actions(mdp, table), np.arange(mdp.num_states)
    for _ in range(ROUNDS):
        chain = discounted_chain(mdp, Policy.deterministic(actions, mdp.num_actions))
        values = chain.values(reward[states, actions], guess=values)
        lookahead = action_values(mdp, table, values)
        gain = lookahead.max(axis=1) - lookahead[states, actions]
        better = gain > IMPROVEMENT * np.abs(values).max()
        if not better.any():
            return actions, values
        actions = np.where(better, lookahead.argmax(axis=1), actions)
    raise ConvergenceError(
        f"policy iteration still improves after {ROUNDS} rounds; gamma = {mdp.gamma:g} may be too "
        "close to 1 for double precision"
    )


def _first_actions(mdp: MDP, table: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """What value iteration takes for best after :data:`SWEEPS` sweeps, and its values."""
    values = np.zeros(mdp.num_states)
    swept = swept_actions(mdp, table, np.argmax(table, axis=1), values=values, sweeps=SWEEPS)
    if swept is not None:
        return swept, values
    for _ in range(SWEEPS):
        values = action_values(mdp, table, values).max(axis=1)
    return action_values(mdp, table, values).argmax(axis=1), values


def swept_actions(
    mdp: MDP,
    table: FloatArray,
    actions: NDArray[np.int64],
    *,
    values: FloatArray,
    sweeps: int,
) -> NDArray[np.int64] | None:
    """Actions after sweeps of value iteration, forwards and back; None without the kernels.

    `table` (num_states, num_actions) is the reward, -inf where an action is not allowed; the first
    `actions` must be. `values` are improved in place. Ends when a sweep either way changes nothing.
    """
    library = kernels()
    if library is None or mdp.T.nnz >= MOST_TRANSITIONS:
        return None
    dynamics = Dynamics.of(mdp)
    given, price, policy = np.ascontiguousarray(table), np.ones(1), actions.astype(np.int32)
    arrays = [address(array) for array in (given, price, values, policy)]
    still = 0
    for turn in range(sweeps):
        changes = library.sweep(byref(dynamics), 1, *arrays, 0.0, turn % 2)
        still = 0 if changes else still + 1
        if still == 2:
            break
    return policy.astype(np.int64)


def action_values(mdp: MDP, reward: FloatArray, values: FloatArray) -> FloatArray:
    """reward(s, a) + γ Σ_s' T(s, a, s')·values(s'), as a (num_states, num_actions) table."""
    return reward + mdp.gamma * (mdp.T @ values).reshape(mdp.r.shape)


def _total_cost(cmdp: CMDP) -> FloatArray:
    largest = np.abs(cmdp.cost).max(axis=(1, 2)) * cmdp.steps
    scale = np.maximum(cmdp.limit, NEGLIGIBLE * largest)
    scale[scale <= 0.0] = 1.0
    return (cmdp.cost / scale[:, None, None]).sum(axis=0)
