"""Random square grids with many candidate hazards, of any size.

From the top left (or from anywhere) to the goal at the bottom right, −1 per step; every move is a
uniform one with probability `SLIP`. Three tenths of the cells are candidates. Three tenths of them
are hazards with a severity between ½ and 1, the others have one below 0.05. The limit is public:
half the cost of the fastest way (of moves that are equally fast, the first of `MOVES` is taken), or
a little more than what the most cautious way costs if every candidate is as severe as can be,
whichever is larger. :func:`scenario` has the layouts that the package ships, with their hazards.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

import dp_cmdp as dp
from paper.linear import Floats
from paper.policies import optimum

STARTS = ("corner", "uniform")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
SLIP = 0.2
DISCOUNT = 0.97
CANDIDATES = HAZARDS = 0.3
#: Sweeps of value iteration, after which values are exact to 0.97^1200/0.03 < 1e-14, and how far
#: apart equally good moves may look.
SWEEPS, EQUAL = 1200, 1e-9
#: The limit, relative to the cost of the fastest policy and to the most cautious one's worst.
OF_FASTEST, OF_SAFEST = 0.5, 1.02


def random_grid(
    size: int, rng: np.random.Generator, *, radius: float = 0.1, start: str = "corner"
) -> tuple[dp.ParametricCMDP, Floats]:
    """A grid of `size` × `size` cells with one private severity per candidate, and its truth."""
    cells = size * size
    reward = np.full((cells, len(MOVES)), -1.0)
    reward[-1] = 0.0
    among = np.arange(1, cells - 1)
    return hazardous(moves_on(size), reward, rng, radius=radius, start=start, among=among)


def hazardous(
    T: sparse.csr_array,
    reward: Floats,
    rng: np.random.Generator,
    *,
    radius: float,
    start: str,
    among: np.ndarray,
) -> tuple[dp.ParametricCMDP, Floats]:
    """A model with private severities of candidates `among` its states, and its truth."""
    states = T.shape[1]
    found = np.sort(rng.permutation(among)[: int(CANDIDATES * states)])
    is_hazard = rng.uniform(size=found.size) < HAZARDS
    severe, mild = rng.uniform(0.5, 1.0, found.size), rng.uniform(0.0, 0.05, found.size)
    severity = np.where(is_hazard, severe, mild)
    first = np.full(states, 1.0 / states) if start == "uniform" else np.eye(1, states).ravel()
    risk = np.zeros(reward.shape)
    risk[found] = -1.0
    cautious, fastest = (_visits(T, _best_moves(T, r), first)[found] for r in (risk, reward))
    limit = max(OF_SAFEST * cautious.sum(), OF_FASTEST * float(severity @ fastest))
    envelope = dp.Envelope(0.0, 1.0, radius=radius, shape=found.size)
    cost = dp.PrivateCost(states=found, cost=envelope, limit=limit)
    model = dp.ParametricCMDP(T, reward, gamma=DISCOUNT, start=first, costs=cost)
    return model, severity


def _best_moves(T: sparse.csr_array, reward: Floats) -> np.ndarray:
    """A move per cell, by value iteration; of equally good moves the first.

    No solver is asked: which of several best policies it returns is its own affair, and they meet
    very different hazards.
    """
    worth = reward
    for _ in range(SWEEPS):
        worth = reward + DISCOUNT * (T @ worth.max(axis=1)).reshape(reward.shape)
    return (worth >= worth.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1)


def _visits(T: sparse.csr_array, move: np.ndarray, first: Floats) -> Floats:
    """Discounted visits of every cell under a policy."""
    chain = T[np.arange(first.size) * (T.shape[0] // first.size) + move]
    return spsolve(sparse.csc_array(sparse.eye_array(first.size) - DISCOUNT * chain.T), first)


def moves_on(n: int, wall: np.ndarray | None = None) -> sparse.csr_array:
    """(cells · moves, cells): where each move leads; moves into walls lead nowhere."""
    cells, goal = n * n, n * n - 1
    row, col = np.divmod(np.arange(cells), n)
    ends = [np.clip(row + i, 0, n - 1) * n + np.clip(col + j, 0, n - 1) for i, j in MOVES]
    for end in ends:
        end[goal] = goal
        if wall is not None:
            end[:] = np.where(wall[end], np.arange(cells), end)
    pairs = np.arange(cells) * len(MOVES)
    parts = [
        ((1.0 - SLIP) * (a == b) + SLIP / len(MOVES), pairs + a, end)
        for a in range(len(MOVES))
        for b, end in enumerate(ends)
    ]
    data = np.concatenate([np.full(cells, chance) for chance, _, _ in parts])
    at = tuple(np.concatenate([part[k] for part in parts]) for k in (1, 2))
    T = sparse.csr_array((data, at), shape=(cells * len(MOVES), cells))
    T.sum_duplicates()
    return T


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A grid, its true database, and the value of the best policy for it."""

    layout: Any
    model: dp.ParametricCMDP
    values: Floats
    optimum: float

    @property
    def digest(self) -> str:
        """Of model and hazards, so that records never mix two grids."""
        parts = (self.model.T.data, self.model.r, self.model.start, self.values)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:12]


@lru_cache(maxsize=16)
def scenario(name: str = "paper") -> Scenario:
    """A named layout with the hazards that come with it."""
    curator = dp.envs.HazardGridEnv(name, access="curator")
    model, values = curator.model(), curator.database().read()
    return Scenario(dp.envs.named_layout(name), model, values, optimum(model, values))
