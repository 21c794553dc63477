"""What a family makes of a size and a seed: transitions, rewards and rows of costs.

Probabilities are multiples of 2⁻³⁰ and each row sums to 1 exactly, so that a model means the same
in floats and in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: (pairs, successors, chances) of equal length.
Moves = tuple[Ints, Ints, Floats]

#: Probabilities are multiples of 2^−BITS.
BITS = 30
#: Share of states with a cost, per row.
HAZARDS = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Dynamics, rewards and costs of a model without start, discount and limits.

    Attributes
    ----------
    T : (S·A, S)
    r : (S, A)
    cost : (K, S, A)
    far : int
        The state from which there is most to decide, for starts in a single state.
    tangled : bool
        Whether the equations of one policy have many fill-ins in every order of the states.
    """

    T: sparse.csr_array
    r: Floats
    cost: Floats
    far: int = 0
    tangled: bool = False

    @property
    def ends(self) -> NDArray[np.bool_]:
        """The states that no action leaves."""
        num_states, num_actions = self.r.shape
        state = np.repeat(np.arange(num_states), num_actions)
        rows = np.repeat(np.arange(state.size), np.diff(self.T.indptr))
        leaves = np.zeros(num_states, dtype=bool)
        leaves[state[rows[self.T.indices != state[rows]]]] = True
        return ~leaves


def transitions(moves: Sequence[Moves], *, num_states: int, num_actions: int) -> sparse.csr_array:
    """The matrix of all moves; chances are weights, and equal (pair, successor) are added."""
    pairs, successors, chances = (np.concatenate(part) for part in zip(*moves, strict=True))
    T = sparse.csr_array(
        (chances, (pairs, successors)), shape=(num_states * num_actions, num_states)
    )
    T.sum_duplicates()
    counts = np.diff(T.indptr)
    data = T.data / np.repeat(np.add.reduceat(T.data, T.indptr[:-1]), counts)
    data = np.floor(data * 2.0**BITS) / 2.0**BITS
    missing = 1.0 - np.add.reduceat(data, T.indptr[:-1])
    data[T.indptr[:-1]] += missing  # at most a few parts in 2³⁰
    return sparse.csr_array((data, T.indices, T.indptr), shape=T.shape)


def distribution(weights: Floats) -> Floats:
    """The probabilities with these weights, as multiples of 2⁻⁵⁰ that sum to 1 exactly."""
    mu = np.floor(weights / weights.sum() * 2.0**50) / 2.0**50
    mu[int(np.argmax(mu))] += 1.0 - mu.sum()
    return mu


def hazards(
    num_costs: int, *, moving: NDArray[np.bool_], num_actions: int, rng: np.random.Generator
) -> Floats:
    """Rows of costs of states: the same whatever is done there."""
    rows = []
    for _ in range(num_costs):
        chosen = moving & (rng.random(moving.size) < HAZARDS)
        if not chosen.any():
            chosen = moving & (np.arange(moving.size) == np.flatnonzero(moving)[-1])
        rows.append(np.where(chosen, rng.uniform(0.5, 1.0, moving.size), 0.0))
    return np.repeat(np.array(rows)[:, :, None], num_actions, axis=2)
