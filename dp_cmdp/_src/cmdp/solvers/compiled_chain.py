"""The chain of a randomised policy in the compiled kernels: values, visits, certain cost bounds."""

from __future__ import annotations

import weakref
from ctypes import byref

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.solvers.compiled import (
    MOST_TRANSITIONS,
    Dynamics,
    address,
    kernels,
    required,
)


def dynamics_of(mdp: MDP) -> Dynamics:
    """Transitions, start and discount as the kernels see them."""
    return Dynamics.of(mdp.T, shape=mdp.r.shape, mu=mdp.start, gamma=mdp.gamma)


class CompiledChain:
    """The chain of the probabilities `probs` (num_states, num_actions), with its factors."""

    def __init__(self, mdp: MDP, probs: FloatArray) -> None:
        library, states = required(), mdp.num_states
        dynamics = dynamics_of(mdp)
        given = np.ascontiguousarray(probs)
        room = library.mixture_room(byref(dynamics), address(given))
        if room >= MOST_TRANSITIONS:
            raise MemoryError
        rows, columns = np.empty(states + 1, np.uint32), np.empty(room, np.uint32)
        chances, first = np.empty(room), np.zeros(states, np.int32)
        arrays = (rows, columns, chances)
        library.mixture(byref(dynamics), address(given), *map(address, arrays))
        own = Dynamics.over((*arrays, dynamics.arrays[3]), shape=(states, 1), gamma=mdp.gamma)
        self._chain = library.chain_new(states, room)
        if not self._chain:
            raise MemoryError
        weakref.finalize(self, library.chain_free, self._chain)
        library.rank_states(self._chain, byref(own), address(first))
        if library.chain_of(self._chain, byref(own), address(first)) < 0:
            raise MemoryError
        self._library, self._first = library, first

    @staticmethod
    def of(mdp: MDP, probs: FloatArray) -> CompiledChain | None:
        """The chain, or None without the kernels or where it is too large for them."""
        if kernels() is None or mdp.T.nnz >= MOST_TRANSITIONS:
            return None
        try:
            return CompiledChain(mdp, probs)
        except MemoryError:
            return None

    def values(self, rewards: FloatArray, v: FloatArray, *, shrink: float = 0.0) -> bool:
        """Values of the policy's `rewards` (num_states,), from the guess v, in place.

        Whether they are exact to rounding or, with `shrink`, leave at most that share of the
        residual of the guess.
        """
        table = np.ascontiguousarray(rewards, np.float64)
        return self._library.evaluate(
            self._chain, 1, 1, address(table), address(self._first), address(v), 0.0, shrink
        ) >= 0  # fmt: skip

    def visits(self, start: FloatArray, y: FloatArray) -> bool:
        """Visits from `start` ≥ 0, from the guess y, in place; whether exact to rounding."""
        first = np.ascontiguousarray(start, np.float64)
        return self._library.occupy(self._chain, address(first), address(y), 0.0) >= 0

    def cost_bounds(self, cmdp: CMDP, probs: FloatArray) -> FloatArray | None:
        """Certain upper bounds on the costs of `probs` in `cmdp`; None where they are not good.

        They hold whatever this chain is, and are tight if it is that of `probs` in `cmdp`.
        """
        dynamics = dynamics_of(cmdp)
        given, costs = np.ascontiguousarray(probs), np.ascontiguousarray(cmdp.cost)
        bounds = np.empty(len(costs))
        status = self._library.cost_bounds(
            byref(dynamics), address(given), len(costs), address(costs), self._chain,
            address(bounds),
        )  # fmt: skip
        return bounds if status == 0 else None


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
    dynamics = dynamics_of(mdp)
    given, price, policy = np.ascontiguousarray(table), np.ones(1), actions.astype(np.int32)
    arrays = [address(array) for array in (given, price, values, policy)]
    still = 0
    for turn in range(sweeps):
        changes = library.sweep(byref(dynamics), 1, *arrays, 0.0, turn % 2)
        still = 0 if changes else still + 1
        if still == 2:
            break
    return policy.astype(np.int64)
