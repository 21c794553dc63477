"""The recorded problems as plain numbers: nothing here knows the package.

Each is maximise c·x subject to A x ≤ b and 0 ≤ x ≤ upper, A or b holding the private entries; the
hazard grids and auctions that the package ships are named by the adapter instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

#: ε and δ of everything recorded on these problems.
EPSILON, DELTA = "1", "1/1000"
#: Hours that a shift lasts, and shifts on offer.
SHIFT, SHIFTS, HOURS = 8, 40, 24


@dataclass(frozen=True)
class Numbers:
    """maximise c·x, A x ≤ b: `private` says whether A (entrywise) or −b holds the entries."""

    c: np.ndarray
    A: np.ndarray
    b: np.ndarray
    upper: float
    private: str
    low: np.ndarray
    high: np.ndarray
    radius: float
    values: np.ndarray


def knapsack(rows: int = 20, columns: int = 1_000) -> Numbers:
    """Every weight is private, known to within a half of a public guess."""
    rng = np.random.default_rng(20)
    guess = np.round(rng.uniform(0.2, 0.8, rows * columns), 2)
    return Numbers(
        c=np.round(rng.uniform(1.0, 2.0, columns), 2),
        A=np.zeros((rows, columns)),
        b=np.full(rows, 0.15 * columns),
        upper=1.0,
        private="A",
        low=guess / 2,
        high=guess * 1.5,
        radius=0.05,
        values=np.clip(guess * rng.uniform(0.7, 1.3, guess.size), guess / 2, guess * 1.5),
    )


def staffing() -> Numbers:
    """At least cost, shifts that meet the private demand of every hour of a day."""
    rng = np.random.default_rng(24)
    start, pause = rng.integers(0, HOURS, SHIFTS), rng.integers(2, SHIFT - 2, SHIFTS)
    start[:HOURS] = np.arange(HOURS)  # every hour can be met
    cover = np.zeros((HOURS, SHIFTS))
    for shift in range(SHIFTS):
        hours = [(start[shift] + k) % HOURS for k in range(SHIFT) if k != pause[shift]]
        cover[hours, shift] = 1.0
    demand = np.round(8 + 6 * np.sin(np.arange(HOURS) / HOURS * 2 * np.pi) + rng.uniform(-2, 2, 24))
    return Numbers(
        c=-np.round(rng.uniform(7.0, 10.0, SHIFTS), 1),
        A=-cover,
        b=np.zeros(HOURS),
        upper=40.0,
        private="b",
        low=np.zeros(HOURS),
        high=np.full(HOURS, 20.0),
        radius=1.0,
        values=demand,
    )


def corner(numbers: Numbers, entries: np.ndarray) -> dict[str, Any]:
    """The linear program at given entries; at `high` it is the robust one."""
    A, b = numbers.A, numbers.b
    if numbers.private == "A":
        A = A + entries.reshape(A.shape)
    else:
        b = b - entries
    return {"c": numbers.c, "A": A, "b": b, "upper": numbers.upper}


def exact_slack(
    numbers: Numbers, x: Any, *, lower: Any, upper: Any, W: Any, q: Any, multipliers: Any
) -> list[Fraction]:
    """Certain lower bounds on b − A x over {lower ≤ θ ≤ upper, Wθ ≤ q}, in fractions.

    Row i reads Σ_k w_k θ_k. For any λ ≥ 0 its maximum is at most λ·q + Σ_k max (w_k − (λW)_k) θ_k
    over the intervals; `multipliers` has one λ per row. Over a box the bound is attained.
    """
    point = [Fraction(float(number)) for number in x]
    rows, columns = numbers.A.shape
    found = []
    for i in range(rows):
        weights = [Fraction(0)] * len(lower)
        if numbers.private == "A":
            weights[i * columns : (i + 1) * columns] = point
        else:
            weights[i] = Fraction(1)
        most = sum(
            (a * Fraction(float(b)) for a, b in zip(point, numbers.A[i], strict=True)), Fraction(0)
        )
        for factor, row, limit in zip(multipliers[i], W, q, strict=True):
            assert factor >= 0
            most += Fraction(float(factor)) * Fraction(float(limit))
            for k in np.flatnonzero(row) if factor else ():
                weights[k] -= Fraction(float(factor)) * Fraction(float(row[k]))
        for weight, low, high in zip(weights, lower, upper, strict=True):
            most += weight * Fraction(float(high if weight > 0 else low))
        found.append(Fraction(float(numbers.b[i])) - most)
    return found
