"""One policy's Markov chain, solved both ways: values and occupancy.

Under a policy π the values solve (I − γT_π)v = r_π and the occupancy of the states solves
(I − γT_πᵀ)y = μ. States are renumbered so that the likeliest successor comes first (by its depth
in the forest of likeliest successors); the matrix is then nearly triangular, and its triangular
part D − L is the preconditioner of a BiCGSTAB iteration. With M = D − L − U, one application of
M(D − L)⁻¹ costs one pass over the non-zeros, since M z = t − U z when (D − L) z = t; the transposed
system *pushes* mass along the same arrays, so no transpose is ever stored.

Where BiCGSTAB breaks down, Gauss–Seidel steps x ← x + (D − L)⁻¹(b − Mx) take over: they contract
by γ at least. Answers are judged by their recomputed residual, never by the recurrence's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

#: Sums may be reordered and contracted, but NaN and infinity keep their meaning.
compiled = numba.njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})

#: A residual of this size, relative to the solution, is rounding.
RESIDUAL_ROUNDING = 1e-15
#: Steps of one run of BiCGSTAB, of Gauss–Seidel where that stalls, and runs at most.
BICGSTAB_STEPS = 300
GAUSS_SEIDEL_STEPS = 30
RESTARTS = 1000
#: Which system: values pull along the transitions, mass is pushed. Floats, because the compiler
#: would make two copies of everything for two constants of another type.
PULL, PUSH = 1.0, -1.0


class Dynamics(NamedTuple):
    """T in compressed rows (one per state-action pair), start and discount.

    Indices are unsigned throughout: the compiler then need not ask whether one is negative.
    """

    indptr: Any
    indices: Any
    data: Any
    mu: Any
    num_states: int
    num_actions: int
    gamma: float


class Chain(NamedTuple):
    """γT_π by rank; row i holds columns < i up to `middle`, then columns > i."""

    start: Any
    middle: Any
    column: Any
    weight: Any
    pivot: Any


@compiled
def assign(target, source):
    """target = source, as a plain loop: a slice takes the compiler a second, every time."""
    for i in range(target.size):
        target[i] = source[i]


@compiled
def successor_depths(dyn, policy):
    """Depth of each state in the forest of likeliest successors; cycles are cut anywhere."""
    depth = np.full(dyn.num_states, -1, np.int32)
    path = np.empty(dyn.num_states, np.int32)
    for root in range(dyn.num_states):
        length = 0
        state = np.int64(root)
        while depth[state] == -1:
            depth[state] = -2
            path[length] = state
            length += 1
            pair = state * dyn.num_actions + policy[state]
            likeliest = 0.0
            following = state
            for k in range(dyn.indptr[pair], dyn.indptr[pair + 1]):
                if dyn.data[k] > likeliest and dyn.indices[k] != state:
                    likeliest = dyn.data[k]
                    following = np.int64(dyn.indices[k])
            state = following
        level = max(depth[state], -1)
        for i in range(length - 1, -1, -1):
            level += 1
            depth[path[i]] = level
    return depth


@compiled
def ranking(dyn, policy):
    """Rank of each state in the order of successor depth, by counting."""
    depth = successor_depths(dyn, policy)
    begin = np.zeros(depth.size + 1, np.int32)
    for state in range(depth.size):
        begin[depth[state] + 1] += 1
    for i in range(depth.size):
        begin[i + 1] += begin[i]
    rank = np.empty(depth.size, np.uint32)
    for state in range(depth.size):
        rank[state] = begin[depth[state]]
        begin[depth[state]] += 1
    return rank


@compiled
def chain_of(dyn, policy, rank):
    """The chain of a policy by rank; T is read row after row, whatever the ranks."""
    start = np.zeros(dyn.num_states + 1, np.uint32)
    middle = np.empty(dyn.num_states, np.uint32)
    pivot = np.empty(dyn.num_states)
    for state in range(dyn.num_states):
        pair = state * dyn.num_actions + policy[state]
        start[rank[state] + 1] = dyn.indptr[pair + 1] - dyn.indptr[pair]
    for i in range(dyn.num_states):
        start[i + 1] += start[i]
    column = np.empty(start[-1], np.uint32)
    weight = np.empty(start[-1])
    for state in range(dyn.num_states):
        pair = state * dyn.num_actions + policy[state]
        i = rank[state]
        below, above, stay = start[i], start[i + 1], 0.0
        for k in range(dyn.indptr[pair], dyn.indptr[pair + 1]):
            j = rank[dyn.indices[k]]
            if j < i:
                place = below
                below += 1
            else:
                above -= 1
                place = above
            column[place] = j
            weight[place] = dyn.gamma * dyn.data[k]
            if j == i:
                stay = weight[place]
                weight[place] = 0.0
        middle[i] = below
        pivot[i] = 1.0 / (1.0 - stay)
    return Chain(start, middle, column, weight, pivot)


@compiled
def pull(chain, t, z, image):
    """z = (D − L)⁻¹ t and image = M z."""
    for i in range(t.size):
        total = t[i]
        for k in range(chain.start[i], chain.middle[i]):
            total += chain.weight[k] * z[chain.column[k]]
        z[i] = total * chain.pivot[i]
    for i in range(t.size):
        total = t[i]
        for k in range(chain.middle[i], chain.start[i + 1]):
            total -= chain.weight[k] * z[chain.column[k]]
        image[i] = total


@compiled
def push(chain, t, z, image):
    """z = (D − L)⁻ᵀ t and image = Mᵀ z."""
    assign(z, t)
    assign(image, t)
    for i in range(t.size - 1, -1, -1):
        mass = z[i] * chain.pivot[i]
        z[i] = mass
        for k in range(chain.start[i], chain.middle[i]):
            z[chain.column[k]] += chain.weight[k] * mass
        for k in range(chain.middle[i], chain.start[i + 1]):
            image[chain.column[k]] -= chain.weight[k] * mass


@compiled
def defect(chain, b, x, residual, way):
    """residual = b − Mx (or b − Mᵀx); returns its norm, largest entry (or sum)."""
    for i in range(x.size):
        residual[i] = b[i] - x[i] / chain.pivot[i]
    for i in range(x.size):
        if way == PUSH:
            for k in range(chain.start[i], chain.start[i + 1]):
                residual[chain.column[k]] += chain.weight[k] * x[i]
        else:
            total = 0.0
            for k in range(chain.start[i], chain.start[i + 1]):
                total += chain.weight[k] * x[chain.column[k]]
            residual[i] += total
    return size_of(residual, way)


@compiled
def size_of(x, way):
    """‖x‖₁ for mass, ‖x‖∞ for values; infinite when an entry is not finite."""
    total = 0.0
    largest = 0.0
    for i in range(x.size):
        total += abs(x[i])
        largest = max(largest, abs(x[i]))
    if not np.isfinite(total):
        return np.inf
    return total if way == PUSH else largest


@compiled
def inner(x, y):
    """xᵀy; a plain loop, so that no library spreads short vectors over threads."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled
def step(chain, t, z, image, way):
    """One preconditioned application, in either direction."""
    if way == PUSH:
        push(chain, t, z, image)
    else:
        pull(chain, t, z, image)


@compiled
def bicgstab(chain, residual, x, tolerance, way):
    """Add the correction of `residual` to x, until the recurrence's residual is small."""
    shadow = np.empty(x.size)
    assign(shadow, residual)
    direction, image = np.zeros(x.size), np.zeros(x.size)
    half, full, half_image = np.empty(x.size), np.empty(x.size), np.empty(x.size)
    rho, alpha, omega = 1.0, 1.0, 1.0
    for _ in range(BICGSTAB_STEPS):
        previous = rho
        rho = inner(shadow, residual)
        beta = (rho / previous) * (alpha / omega)
        for i in range(x.size):
            direction[i] = residual[i] + beta * (direction[i] - omega * image[i])
        step(chain, direction, half, image, way)
        alpha = rho / inner(shadow, image)
        for i in range(x.size):
            residual[i] -= alpha * image[i]
        step(chain, residual, full, half_image, way)
        power = inner(half_image, half_image)
        omega = inner(half_image, residual) / power if power > 0.0 else 0.0
        for i in range(x.size):
            x[i] += alpha * half[i] + omega * full[i]
            residual[i] -= omega * half_image[i]
        size = size_of(residual, way)
        if size <= tolerance or not np.isfinite(size) or omega == 0.0:
            return


@compiled
def gauss_seidel(chain, b, x, residual, way):
    """A run of Gauss–Seidel steps on x, in place; returns the norm of the last residual."""
    z, image = np.empty(x.size), np.empty(x.size)
    for _ in range(GAUSS_SEIDEL_STEPS):
        step(chain, residual, z, image, way)
        for i in range(x.size):
            x[i] += z[i]
            residual[i] -= image[i]
    return defect(chain, b, x, residual, way)


@compiled
def solve_chain(chain, b, x, tolerance, shrink, way):
    """Solve Mx = b (or Mᵀx = b) from the guess x, in place; return the true residual's norm.

    Stops when that is at most `tolerance`, or `shrink` times what it was for the guess.
    """
    residual, guess = np.empty(x.size), np.empty(x.size)
    size = defect(chain, b, x, residual, way)
    tolerance = max(tolerance, shrink * size)
    for _ in range(RESTARTS):
        rounding = RESIDUAL_ROUNDING * size_of(x, way)
        if size <= max(tolerance, rounding):
            break
        assign(guess, x)
        bicgstab(chain, residual, guess, max(tolerance, 0.5 * rounding), way)
        improved = defect(chain, b, guess, residual, way)
        if improved < 0.5 * size:
            assign(x, guess)
            size = improved
        elif size <= 30.0 * rounding:
            break
        else:
            defect(chain, b, x, residual, way)
            size = gauss_seidel(chain, b, x, residual, way)
    return size


@compiled
def evaluate(dyn, chain, reward, policy, v, rank, tolerance, shrink):
    """Values of the policy with this chain, from the guess v, in place."""
    b, x = np.empty(v.size), np.empty(v.size)
    for state in range(v.size):
        b[rank[state]] = reward[state * dyn.num_actions + policy[state]]
        x[rank[state]] = v[state]
    solve_chain(chain, b, x, tolerance, shrink, PULL)
    for state in range(v.size):
        v[state] = x[rank[state]]


@compiled
def occupy(dyn, chain, y, rank, tolerance):
    """State occupancy of the policy with this chain, from the guess y, in place."""
    b, x = np.empty(y.size), np.empty(y.size)
    for state in range(y.size):
        b[rank[state]] = dyn.mu[state]
        x[rank[state]] = y[state]
    solve_chain(chain, b, x, tolerance, 0.0, PUSH)
    for state in range(y.size):
        y[state] = max(x[rank[state]], 0.0)
