"""Small programs for the tests of the laboratory."""

from __future__ import annotations

import numpy as np

import dp_cmdp as dp
from paper.problems.auction import auction

GROUPS, ADVERTISERS = 4, 3
PUBLIC_PRICES = np.random.default_rng(5).uniform(0.2, 1.0, (GROUPS, ADVERTISERS))
WEIGHTS, GAINS, CAPACITY = np.array([0.5, 0.8, 0.3, 0.6]), np.array([0.5, 0.55, 0.45, 0.52]), 1.2
EVERY = np.arange(4)


def small_auction(blocks: str = "Abc") -> dp.ParametricLP:
    """An ad auction in which only the given blocks read the database.

    Prices of A and of c are the same database entries when both are private, as in the paper.
    """
    parts = {}
    if set(blocks) & set("Ac"):
        parts["prices"] = dp.Envelope(0.0, 1.0, radius=0.1, shape=(GROUPS, ADVERTISERS))
    if "b" in blocks:
        parts["budgets"] = dp.Envelope(0.9, 1.1, radius=0.001, shape=ADVERTISERS)
    envelope = dp.Envelope.join(parts)
    group = {"A": "prices", "b": "budgets", "c": "prices"}
    private = {block: envelope[group[block]] for block in blocks}
    return auction(private, prices=PUBLIC_PRICES)


def draw_auction(program: dp.ParametricLP, seed: int) -> np.ndarray:
    """A database of :func:`small_auction`, some of whose prices are zero."""
    rng, values = np.random.default_rng(seed), []
    for group in program.envelope.groups:
        low, high = (0.0, 1.0) if group.name == "prices" else (0.9, 1.1)
        part = rng.uniform(low, high, group.shape)
        if group.name == "prices":
            part[rng.random(group.shape) < 0.2] = 0.0
        values.append(part.ravel())
    return np.concatenate(values)


def rounded() -> dp.ParametricLP:
    """Entries read several times, with constants and factors that no float sum holds exactly."""
    t = dp.Envelope(-0.3, 0.7, radius=0.1, shape=4)
    return dp.ParametricLP(
        maximize=[1.0 + 0.3 * t[0], 0.7, 0.1 + 0.3 * t[3]],
        A=[
            [1.1 + 0.1 * t[0], 0.3 + 0.7 * t[1], 0.2],
            [0.1, 1.7 + (1 / 3) * t[1], 0.9 - 0.3 * t[2]],
            [1.0, 1.0, 1.0],
        ],
        b=[2.3 + 0.7 * t[2], 1.9 + (1 / 3) * t[3], 2.0],
        upper=1.5,
    )


def draw_rounded(program: dp.ParametricLP, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.3, 0.7, 4)


def one_block(block: str) -> tuple[dp.ParametricLP, np.ndarray]:
    """A program whose answer every entry of one private block moves, and that block's values."""
    if block == "b":
        envelope, values = dp.Envelope([1.0], [2.0], radius=0.01), np.array([CAPACITY])
    else:
        envelope = dp.Envelope(0.1, 5.0, radius=0.1, shape=4)  # wide: noise misses the ends
        values = WEIGHTS if block == "A" else GAINS
    theta = envelope[:]
    program = dp.ParametricLP(
        maximize=theta if block == "c" else GAINS,
        A=theta.reshape(1, 4) if block == "A" else WEIGHTS[None],
        b=theta if block == "b" else [CAPACITY],
        upper=1.0,
    )
    return program, values


def flow() -> dp.ParametricLP:
    """Two states, two actions, public balance equations: an occupancy program."""
    theta = dp.Envelope(0.0, 1.0, radius=0.2, shape=2)
    return dp.ParametricLP(
        maximize=[1.0, 0.0, 0.5, 0.2],
        A=[[theta[0], 0.0, theta[1], 0.0]],
        b=[6.0],
        A_eq=[[0.1, 1.0, -0.9, 0.0], [0.0, -0.9, 1.0, 0.1]],
        b_eq=[0.5, 0.5],
    )


def knapsack(count: int = 2, *, radius: float = 0.25, low: float = 0.0, private_c: bool = False):
    """maximise Σ c_k x_k, Σ θ_k x_k ≤ 1, 0 ≤ x ≤ 1; a private c is the same entries, turned."""
    theta = dp.Envelope(low, 1.0, radius=radius, shape=count)
    order = np.arange(count) if count == 2 else np.arange(count)[::-1]
    objective = theta[order] if private_c else np.ones(count)
    return dp.ParametricLP(maximize=objective, A=theta[:].reshape(1, count), b=[1.0], upper=1.0)
