"""One step of an episode, backwards and forwards: in compiled code where there is some.

Values of states are tables (states, K), costs (pairs, K). Both ways do the same: without the
kernels, sums are those of numpy and scipy.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Step, small
from dp_cmdp._src.cmdp.solvers.compiled import MOST_TRANSITIONS, Dynamics, address, kernels

#: Rows of T up to this length are made equally long, where that adds at most half.
FIXED_LENGTH = 5
#: More than all underflows of a step together; roundings of doubles.
UNDERFLOW, UNIT = 2.0**-1000, 2.0**-53


class Stepper:
    """The steps of a model with a horizon."""

    def __init__(self, mdp: MDP) -> None:
        self.mdp, self.shape = mdp, mdp.r.shape
        few = small(mdp.num_actions) is np.uint8 and mdp.T.nnz < MOST_TRANSITIONS
        self._library = kernels() if few else None
        if self._library is not None:
            self._dynamics = Dynamics.of(mdp)
            self._fixed, self._length = _equal_rows(mdp, self._dynamics)
        else:
            self._mass = np.add.reduceat(mdp.T.data, mdp.T.indptr[:-1])

    def back(
        self, net: FloatArray, cost: FloatArray
    ) -> tuple[NDArray[Any], FloatArray, FloatArray]:
        """Actions (steps, states) that are best for the reward `net` from step to step, and their
        values and costs at the first one."""
        (n, A), K, steps = self.shape, cost.shape[1], self.mdp.horizon or 0
        table = np.empty((steps, n), small(A))
        value, paid = np.zeros((2, n)), np.zeros((2, n, K))
        if self._library is not None:
            self._library.episode_back(
                byref(self._fixed), self._length, K, steps, address(net), address(cost),
                address(value), address(paid), address(table),
            )  # fmt: skip
            return table, value[steps % 2], paid[steps % 2]
        ahead, cost_ahead, every = value[0], paid[0], np.arange(n)
        for t in reversed(range(steps)):
            found = (net + self.mdp.gamma * (self.mdp.T @ ahead)).reshape(self.shape)
            table[t] = actions = found.argmax(axis=1)
            pair, ahead = every * A + actions, found[every, actions]
            cost_ahead = cost[pair] + self.mdp.gamma * (self.mdp.T[pair] @ cost_ahead)
        return table, ahead, cost_ahead

    def costs(
        self, step: Step, cost: FloatArray, ahead: FloatArray, *, certain: bool = False
    ) -> FloatArray:
        """Costs (states, K) under a step's policy; `certain`: never below the exact ones, if those
        `ahead` are not, and 0 only where nothing is paid."""
        (n, A), K = self.shape, cost.shape[1]
        theta = self._theta() if certain else 0.0
        if self._library is not None:
            paid = np.empty((n, K))
            self._library.episode_costs(
                byref(self._dynamics), K, address(cost), address(ahead), *_addresses(step), theta,
                address(paid),
            )  # fmt: skip
            return paid
        weight = step.table(A)
        whole, odds = weight.sum(axis=1, keepdims=True), weight[:, :, None]

        def mean(own: FloatArray, after: FloatArray) -> FloatArray:
            moved = self.mdp.gamma * ((self.mdp.T @ after) / self._mass[:, None])
            return (odds * (own + moved).reshape(n, A, K)).sum(axis=1) / whole

        value = mean(cost, ahead)
        if not certain:
            return value
        T = self.mdp.T
        moves = sparse.csr_array((T.data > 0.0, T.indices, T.indptr), T.shape)
        touched = (cost != 0.0) | ((moves.astype(np.float64) @ (ahead != 0.0)) > 0.0)
        touched = ((odds > 0.0) & touched.reshape(n, A, K)).any(axis=1)
        raised = value + (theta * mean(np.abs(cost), np.abs(ahead)) + UNDERFLOW)
        return np.where(touched, np.nextafter(raised, np.inf), value)

    def visits(
        self, step: Step, visits: FloatArray, x: FloatArray | None = None, weight: float = 1.0
    ) -> FloatArray:
        """Where visits of states are one step later; x (pairs) gains `weight` times theirs."""
        if self._library is not None:
            after = np.empty(visits.size)
            self._library.episode_visits(
                byref(self._dynamics), *_addresses(step), weight, address(visits), address(after),
                None if x is None else address(x),
            )  # fmt: skip
            return after
        table = step.table(self.shape[1])
        here = (visits[:, None] * (table / table.sum(axis=1, keepdims=True))).ravel()
        if x is not None:
            x += weight * here
        return self.mdp.T.T @ (here / self._mass)

    def _theta(self) -> float:
        """Roundings of a value, relative to the same sums of moduli, with room for those of theirs:
        a row of T and its mass, a row of the policy and its mass, and some single ones."""
        longest = int(np.diff(self.mdp.T.indptr).max())
        factors = (2 * longest + 2 * self.shape[1] + 8) * UNIT
        return factors / (1.0 - 2.0 * factors) * (1.0 + 16.0 * UNIT)


def _addresses(step: Step) -> tuple[Any, ...]:
    return address(step.actions), step.mixed.size, address(step.mixed), address(step.odds)


def _equal_rows(mdp: MDP, own: Dynamics) -> tuple[Dynamics, int]:
    """The dynamics with rows of one length, filled up with zeros, and that length; 0 where rows
    stay as they are."""
    T, pairs = mdp.T, mdp.r.size
    lengths = np.diff(T.indptr)
    longest = int(lengths.max())
    if longest > FIXED_LENGTH or 2 * pairs * longest > 3 * T.nnz:
        return own, 0
    if lengths.min() == longest:
        return own, longest
    place = np.repeat(np.arange(pairs) * longest - T.indptr[:-1], lengths) + np.arange(T.nnz)
    data = np.zeros(pairs * longest)
    data[place] = T.data
    indices = np.repeat(np.arange(mdp.num_states, dtype=np.uint32), mdp.num_actions * longest)
    indices[place] = T.indices
    arrays = own.arrays[0], indices, data, own.arrays[3]
    return Dynamics.over(arrays, shape=mdp.r.shape, gamma=mdp.gamma), longest
