"""Policy iteration in plain scipy, which shares no code with the solver that is measured.

Its policies and bounds decide where limits lie: mixtures of two policies that were evaluated
keep them, and what is below a certain bound nobody keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from benchmarks.families.structure import Floats, Ints, Structure

#: Up to so many states policies are improved until they are best, and evaluated by exact factors:
#: those of a cautious policy on a grid of 10⁵ states take a minute each.
THOROUGH = 20_000
#: Improvements of larger models, and at most.
FEW, MOST = 4, 60
#: Sweeps of value iteration before the first policy is evaluated.
SWEEPS = 100
#: Residual, relative to the right-hand side, at which an iterative evaluation stops, and its steps.
RESIDUAL, STEPS = 1e-11, 3_000
#: Residual that will do where the iteration breaks down before; beyond it factors are exact.
ENOUGH = 1e-8
#: Incomplete factors drop what is smaller, and hold at most so many times the entries of the chain.
DROP, FILL = 1e-3, 10


@dataclass(frozen=True, slots=True, eq=False)
class Dynamics:
    """Transitions, discount and start."""

    structure: Structure
    gamma: float
    start: Floats

    def action_values(self, reward: Floats, v: Floats) -> Floats:
        return reward + self.gamma * (self.structure.T @ v).reshape(reward.shape)

    def values(self, actions: Ints, tables: Floats) -> Floats:
        """(rows, S) discounted sums of each (S, A) table under a deterministic policy."""
        S, A = self.structure.r.shape
        own = np.arange(S)
        chain = self.structure.T[own * A + actions]
        equations = sparse.csc_array(sparse.eye_array(S) - self.gamma * chain)
        sides = tables[:, own, actions]
        if self.structure.tangled or S > THOROUGH:
            return np.array([_iterate(equations, s, plain=self.structure.tangled) for s in sides])
        solve = _exact_solve(equations)
        return np.array([solve(side) for side in sides])

    def best(self, reward: Floats) -> tuple[Ints, float, float]:
        """A policy that maximises `reward`, or nearly, and certain bounds of the largest value."""
        v = np.zeros(self.start.size)
        for _ in range(SWEEPS):
            v = self.action_values(reward, v).max(axis=1)
        actions = self.action_values(reward, v).argmax(axis=1)
        own, most = np.arange(v.size), MOST if v.size <= THOROUGH else FEW
        bounds = -np.inf, np.inf
        for _ in range(most):
            v = self.values(actions, reward[None])[0]
            ahead = self.action_values(reward, v)
            gain = ahead.max(axis=1) - v
            bounds = self._bounds(v, gain, bounds)
            better = ahead.max(axis=1) > ahead[own, actions] + 1e-11 * np.abs(v).max()
            if not better.any():
                break
            actions = np.where(better, ahead.argmax(axis=1), actions)
        return actions, *bounds

    def _bounds(self, v: Floats, gain: Floats, known: tuple[float, float]) -> tuple[float, float]:
        """The best value lies between these, whatever v is; with room for rounding."""
        reached, horizon = float(self.start @ v), 1.0 / (1.0 - self.gamma)
        room = 1e-12 * float(np.abs(v).max()) * horizon
        low = reached + float(gain.min()) * horizon - room
        high = reached + float(gain.max()) * horizon + room
        return max(low, known[0]), min(high, known[1])

    def costs(self, actions: Ints, cost: Floats) -> Floats:
        """(K,) discounted costs of a deterministic policy."""
        return self.values(actions, cost) @ self.start


def _iterate(equations: sparse.csc_array, side: Floats, *, plain: bool) -> Floats:
    """Solve by BiCGSTAB, `plain` or with incomplete factors, or exactly where both stall.

    Random graphs mix fast, and need few steps without factors, which would fill up. Whether it
    stalls is up to how a processor rounds inner products.
    """
    for nearly in (None, _rough_solve) if plain else (_rough_solve,):
        M = None if nearly is None else linalg.LinearOperator(equations.shape, nearly(equations))
        with np.errstate(all="ignore"):  # a breakdown divides by nearly nothing
            x, _ = linalg.bicgstab(equations, side, rtol=RESIDUAL, atol=0.0, maxiter=STEPS, M=M)
            if np.abs(equations @ x - side).max() <= ENOUGH * np.abs(side).max():
                return x
    return _exact_solve(equations)(side)


def _rough_solve(equations: sparse.csc_array) -> Callable[[Floats], Floats]:
    return linalg.spilu(equations, DROP, FILL, permc_spec="COLAMD", diag_pivot_thresh=0.0).solve


def _exact_solve(equations: sparse.csc_array) -> Callable[[Floats], Floats]:
    """By complete factors, which every policy has, on every processor.

    I - γP is strictly diagonally dominant by rows: pivots of its diagonal are never 0, and entries
    grow at most twofold, so that the residual is of the order of rounding.
    """
    return linalg.splu(equations, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve
