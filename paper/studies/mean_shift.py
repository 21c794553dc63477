"""What certainty costs, by the noise that is used.

One row per (ε, δ): the mean shift of one end of a certain interval, in units of the sensitivity Δ,
for the truncated Laplace noise of the paper (one entry), its tight support, and the optimal noise
for one changing entry, next to the bound below which no mechanism can go. The numbers are computed,
not sampled: one draw per setting, and the seed changes nothing.

A bound that never loosens must be shifted. No (ε, δ)-private mechanism has a smaller mean shift
than Δ·Σ_{j≥1} (1 − π_j), where π_j = T^j(0) and

    T(a) = min(1,  δ + e^ε·a,  1 − e^(−ε)·(1 − δ − a)).

*Proof.* Fix the value φ and let U be its published bound. For θ = φ + jΔ consider the event "the
bound is below θ". When the value is θ its probability is 0, by certainty; each step of Δ towards
φ raises it from a to at most T(a), by privacy applied to the event and to its complement.
So U ≥ φ + jΔ with probability at least 1 − π_j; sum over j. ∎
"""

from __future__ import annotations

import math
from fractions import Fraction

import pandas as pd

import dp_cmdp as dp
from dp_cmdp.extend import OneSided, Sensitivity
from paper.runner import Row, Setting, Sweep
from paper.study import Study, tabled

#: From strong to weak privacy.
EPSILONS = ("1/4", "1/2", "1", "2", "3", "5", "10")
#: The paper's δ, the largest that draws no warning, and a thousandth of that.
DELTAS = ("1/10", "1/1000", "1/1000000")
KINDS = ("paper", "tight", "optimal", "bound")
#: Lattice steps per Δ of the optimal noise that is measured.
STEPS = 1 << 20


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple({"epsilon": e, "delta": d} for d in DELTAS for e in EPSILONS)
    return (Sweep(draw_mean_shift, settings, draws=1),)


def draw_mean_shift(setting: Setting, seed: int, draw: int) -> Row:
    """The mean shift of every kind of noise."""
    return {kind: mean_shift(kind, setting["epsilon"], setting["delta"]) for kind in KINDS}


def mean_shift(kind: str, epsilon: str, delta: str) -> float:
    """Mean shift of one end of a certain interval, in units of Δ."""
    eps, dlt = float(Fraction(epsilon)), float(Fraction(delta))
    if kind == "paper":
        return math.log1p(math.expm1(eps) / dlt) / eps
    if kind == "tight":
        return math.log1p(math.expm1(eps) / (2 * dlt)) / eps
    if kind == "optimal":
        one = Sensitivity(STEPS, STEPS * STEPS, STEPS, 1)
        law = OneSided.calibrate(one, dp.PrivacyBudget(epsilon, delta))
        return (law.mean - law.low) / STEPS
    return mean_shift_lower_bound(eps, dlt)


def mean_shift_lower_bound(epsilon: float, delta: float) -> float:
    """Units of Δ below which no mechanism that never loosens can bring the mean shift."""
    total, reached = 0.0, 0.0
    while True:
        other = 1.0 - math.exp(-epsilon) * (1.0 - delta - reached)
        reached = min(1.0, delta + math.exp(epsilon) * reached, other)
        if reached >= 1.0:
            return total
        total += 1.0 - reached


def table(frame: pd.DataFrame) -> list[Row]:
    """Shifts in units of Δ, and each as a multiple of the bound."""

    def row(key: Row, part: pd.DataFrame) -> Row:
        shifts = {kind: float(part[kind].iloc[0]) for kind in KINDS}
        return {
            **shifts,
            "optimal_over_bound": shifts["optimal"] / shifts["bound"],
            "optimal_saves_percent": 100 * (1 - shifts["optimal"] / shifts["tight"]),
        }

    return tabled(frame, ("delta", "epsilon"), row)


STUDY = Study(
    name="mean-shift",
    about="what certainty costs: mean shift of each noise against the universal bound",
    sweeps=sweeps,
    table=table,
    figure="single:mean_shift_figure",
    draws=1,
    quick_draws=1,
    fewest_draws=1,
)
