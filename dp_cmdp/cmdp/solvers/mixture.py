"""Mixtures of policies, as arrays.

A deterministic policy p is a row of actions π_p(s) and a row of state occupancies y_p(s). Its total
under a table t is Σ_s t(s, π_p(s)) y_p(s), and the occupancy measure of a mixture with weights w is
x(s, a) = Σ_p w_p y_p(s) [π_p(s) = a].
"""

from __future__ import annotations

import numpy as np

from dp_cmdp.cmdp.solvers.krylov import assign, compiled
from dp_cmdp.cmdp.solvers.master import inverse_of, product


@compiled
def costly_states(table, num_states):
    """The states in which some action has a cost in some row of `table`."""
    num_actions = table.shape[1] // num_states
    states, count = np.empty(num_states, np.uint32), 0
    for state in range(num_states):
        some = False
        for i in range(table.shape[0]):
            for pair in range(state * num_actions, (state + 1) * num_actions):
                some |= table[i, pair] != 0.0
        states[count] = state
        count += some
    return states[:count]


@compiled
def totals(table, states, policies, occupancies, scale, out):
    """Totals over `states` of every policy (rows), under every row of `table`, by its scale."""
    num_actions = table.shape[1] // policies.shape[1]
    for p in range(policies.shape[0]):
        for i in range(table.shape[0]):
            total = 0.0
            for k in range(states.size):
                state = states[k]
                pair = state * num_actions + policies[p, state]
                total += table[i, pair] * occupancies[p, state]
            out[p, i] = total / scale[i]


@compiled
def largest(table, out):
    """max|t| of every row."""
    for i in range(out.size):
        out[i] = 0.0
        for pair in range(table.shape[1]):
            out[i] = max(out[i], abs(table[i, pair]))


@compiled
def mean_occupancy(occupancies, names, weights, out):
    """State occupancy Σ w_p y_p of a mixture."""
    for state in range(out.size):
        mean = 0.0
        for j in range(names.size):
            mean += weights[j] * occupancies[names[j], state]
        out[state] = mean


@compiled
def occupancy_measure(policies, occupancies, weights, out):
    """Add the occupancy measure x(s, a) of a mixture to `out`."""
    for p in range(weights.size):
        for state in range(out.shape[0]):
            out[state, policies[p, state]] += weights[p] * occupancies[p, state]


@compiled
def interpolate(points, values, at, out):
    """Affine interpolation of rows of `values`, known at K + 1 rows of `points`, at `at`.

    `out` stays as it is when the points do not span the space or `at` lies far outside.
    """
    rows = at.size
    matrix, target = np.ones((rows + 1, rows + 1)), np.ones(rows + 1)
    share, hit = np.empty(rows + 1), np.empty(rows + 1)
    assign(target[:rows], at)
    size = 1.0
    for i in range(rows):
        size = max(size, abs(at[i]))
        for j in range(rows + 1):
            matrix[i, j] = points[j, i]
    product(inverse_of(matrix), target, share)
    product(matrix, share, hit)
    for j in range(rows + 1):
        if not abs(hit[j] - target[j]) <= 1e-6 * size or not share[j] > -1.0:
            return
    for state in range(out.size):
        mean = 0.0
        for j in range(rows + 1):
            mean += share[j] * values[j, state]
        out[state] = mean


@compiled
def total(table, policy, y):
    """Σ_s t(s, π(s)) y(s)."""
    num_actions, result = table.size // policy.size, 0.0
    for state in range(policy.size):
        result += table[state * num_actions + policy[state]] * y[state]
    return result
