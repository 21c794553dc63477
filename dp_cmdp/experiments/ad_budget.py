"""The paper's appendix on the split of ε: loss against the share α_c of the objective.

α_A = α_b = (1 − α_c)/2, 10 groups, 5 advertisers, δ = 0.1, private prices and budgets. Our database
release has no split to tune; it is drawn as a level.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dp_cmdp.experiments.auction_comparison import auction_setting, comparison_rows, draw_auction
from dp_cmdp.experiments.sweep import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd

#: Powers of two around ε = 1, where the paper states its numbers.
EPSILONS, QUICK_EPSILONS = ("1/4", "1/2", "1", "2"), ("1",)
#: α_c: equal shares and 0.99, for which the paper states numbers, and two between.
SHARES = ("1/3", "1/2", "3/4", "99/100")


def sweep(*, draws: int, seed: int = 0, epsilons: tuple[str, ...] = EPSILONS) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce ad-budget``."""
    split = (
        auction_setting(method, epsilon, alpha=alpha)
        for epsilon in epsilons
        for method in ("benvenuti2025-realised-mask", "benvenuti2025")
        for alpha in SHARES
    )
    whole = (auction_setting("database", epsilon) for epsilon in epsilons)
    return Sweep("ad-budget", draw_auction, (*split, *whole), draws, seed)


def quick_sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The same at ε = 1, where the paper states its numbers."""
    return sweep(draws=draws, seed=seed, epsilons=QUICK_EPSILONS)


def rows(frame: pd.DataFrame) -> list[Row]:
    """One row per method, ε and α_c (none for the database release)."""
    table = comparison_rows(frame, ("method", "epsilon", "alpha"))
    for row in table:
        alpha = row["alpha"]
        row["alpha"] = float(Fraction(alpha)) if isinstance(alpha, str) else None
    return table
