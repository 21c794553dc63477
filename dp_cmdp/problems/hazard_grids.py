"""Random square grids with many candidate hazards, of any size.

From the top left (or from anywhere) to the goal at the bottom right, −1 per step; every move is a
uniform one with probability `SLIP`. Three tenths of the cells are candidates. Three tenths of them
are hazards with a severity between ½ and 1, the others have one below 0.05. The tolerance is
public: half the cost of the fastest way (of moves that are equally fast, the first of `MOVES` is
taken), or a little more than what the most cautious way costs if every candidate is as severe as
can be, whichever is larger.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import occupancy_of
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import safest_policy
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope

STARTS = ("corner", "uniform")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
SLIP = 0.2
DISCOUNT = 0.97
CANDIDATES = HAZARDS = 0.3
#: Sweeps of value iteration, after which values are exact to 0.97^1200/0.03 < 1e-14, and how far
#: apart equally good moves may look.
SWEEPS, EQUAL = 1200, 1e-9
#: The tolerance, relative to the cost of the fastest policy and to the most cautious one's worst.
OF_FASTEST, OF_SAFEST = 0.5, 1.02


@door
def random_grid(
    size: int, rng: np.random.Generator, *, radius: float = 0.1, start: str = "corner"
) -> tuple[ParametricCMDP, Database]:
    """A grid of `size` × `size` cells with one private severity per candidate, and its database.

    Parameters
    ----------
    size : int
    rng : numpy.random.Generator
        Draws candidates and severities.
    radius : float
        How much a severity in [0, 1] may change between adjacent databases; 1: to anything.
    start : {"corner", "uniform"}

    Notes
    -----
    **Privacy.** *Curator only*: the database is the invented truth, and the model's tolerance was
    set with it.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp.problems.hazard_grids import random_grid
    >>> model, database = random_grid(6, np.random.default_rng(0))
    >>> database
    Database(<private>, severity[10])
    """
    n = _check.size("size", size, low=3)
    cells = n * n
    uniform = _check.one_of("start", start, STARTS) == "uniform"
    found = np.sort(rng.permutation(np.arange(1, cells - 1))[: int(CANDIDATES * cells)])
    is_hazard = rng.uniform(size=found.size) < HAZARDS
    severe, mild = rng.uniform(0.5, 1.0, found.size), rng.uniform(0.0, 0.05, found.size)
    severity = np.where(is_hazard, severe, mild)
    public = _public(n, found, uniform=uniform)
    cautious = occupancy_of(public, safest_policy(public)).sum(axis=1)[found]
    fastest = occupancy_of(public, _fastest(public)).sum(axis=1)[found]
    tolerance = max(OF_SAFEST * cautious.sum(), OF_FASTEST * float(severity @ fastest))
    envelope = Envelope(0.0, 1.0, radius=radius, shape=found.size, name="severity")
    width = len(MOVES)
    pair = found[:, None] * width + np.arange(width)
    model = ParametricCMDP(
        envelope,
        T=public.T,
        r=public.r,
        mu=public.mu,
        gamma=DISCOUNT,
        cost=Affine(
            (1, cells * width),
            at=(0, pair.ravel()),
            entry=np.repeat(np.arange(found.size), width),
        ),
        tolerance=Affine(1, constant=[tolerance]),
    )
    return model, Database({"severity": severity}, envelope)


def _fastest(public: CMDP) -> Policy:
    """The policy of greatest value, by value iteration; of equally good moves the first.

    No solver is asked: which of several best policies it returns is its own affair, and they meet
    very different hazards.
    """
    worth = public.r
    for _ in range(SWEEPS):
        values = worth.max(axis=1)
        worth = public.r + public.gamma * (public.T @ values).reshape(public.r.shape)
    best = worth >= worth.max(axis=1, keepdims=True) - EQUAL
    return Policy(np.eye(len(MOVES))[best.argmax(axis=1)])


def _public(n: int, candidates: np.ndarray, *, uniform: bool) -> CMDP:
    """The grid in which every candidate costs 1 and nothing is too much."""
    cells, goal = n * n, n * n - 1
    row, col = np.divmod(np.arange(cells), n)
    ends = [np.clip(row + i, 0, n - 1) * n + np.clip(col + j, 0, n - 1) for i, j in MOVES]
    for end in ends:
        end[goal] = goal
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
    reward = np.full((cells, len(MOVES)), -1.0)
    reward[goal] = 0.0
    cost = np.zeros((1, cells, len(MOVES)))
    cost[0, candidates] = 1.0
    mu = np.full(cells, 1.0 / cells) if uniform else np.eye(1, cells).ravel()
    return CMDP(T, reward, f=cost, f0=[1e9], mu=mu, gamma=DISCOUNT)
