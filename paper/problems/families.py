"""Two families that are neither auctions nor grids: packing and covering."""

from __future__ import annotations

import numpy as np

import dp_cmdp as dp
from paper.linear import Floats

#: Hours that a shift lasts, shifts on offer, and hours to be covered.
SHIFT, SHIFTS, HOURS = 8, 40, 24


def knapsack(rows: int = 20, columns: int = 1000, seed: int = 20) -> tuple[dp.ParametricLP, Floats]:
    """Every weight is private, known to within a half of a public guess; with its truth."""
    rng = np.random.default_rng(seed)
    guess = np.round(rng.uniform(0.2, 0.8, rows * columns), 2)
    worth = np.round(rng.uniform(1.0, 2.0, columns), 2)
    values = np.clip(guess * rng.uniform(0.7, 1.3, guess.size), guess / 2, guess * 1.5)
    theta = dp.Envelope(guess / 2, guess * 1.5, radius=0.05)
    program = dp.ParametricLP(
        maximize=worth,
        A=theta[:].reshape(rows, columns),
        b=np.full(rows, 0.15 * columns),
        upper=1.0,
    )
    return program, values


def staffing(seed: int = 24) -> tuple[dp.ParametricLP, Floats]:
    """At least cost, shifts that meet the private demand of every hour of a day; with its truth."""
    rng = np.random.default_rng(seed)
    start, pause = rng.integers(0, HOURS, SHIFTS), rng.integers(2, SHIFT - 2, SHIFTS)
    start[:HOURS] = np.arange(HOURS)  # every hour can be met
    cover = np.zeros((HOURS, SHIFTS))
    for shift in range(SHIFTS):
        hours = [(start[shift] + k) % HOURS for k in range(SHIFT) if k != pause[shift]]
        cover[hours, shift] = 1.0
    wave = 8 + 6 * np.sin(np.arange(HOURS) / HOURS * 2 * np.pi)
    demand = np.round(wave + rng.uniform(-2, 2, HOURS))
    wages = np.round(rng.uniform(7.0, 10.0, SHIFTS), 1)
    theta = dp.Envelope(0.0, 20.0, radius=1.0, shape=HOURS)
    return dp.ParametricLP(maximize=-wages, A=-cover, b=-theta[:], upper=40.0), demand
