"""The paper's appendix on the split of ε: loss against the share α_c of the objective.

α_A = α_b = (1 − α_c)/2, 10 groups, 5 advertisers, δ = 0.1, private prices and budgets. Our database
release has no split to tune; it is drawn as a level.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from paper.runner import Row, Sweep
from paper.studies.comparison import auction_setting, comparison_rows, draw_auction
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Powers of two around ε = 1, where the paper states its numbers.
EPSILONS, QUICK_EPSILONS = ("1/4", "1/2", "1", "2"), ("1",)
#: α_c: equal shares and 0.99, for which the paper states numbers, and two between.
SHARES = ("1/3", "1/2", "3/4", "99/100")


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    epsilons = QUICK_EPSILONS if quick else EPSILONS
    split = (
        auction_setting(method, epsilon, alpha=alpha)
        for epsilon in epsilons
        for method in ("benvenuti2025-realised-mask", "benvenuti2025")
        for alpha in SHARES
    )
    whole = (auction_setting("database", epsilon) for epsilon in epsilons)
    return (Sweep(draw_auction, (*split, *whole), draws),)


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per method, ε and α_c (none for the database release)."""
    rows = comparison_rows(frame, ("method", "epsilon", "alpha"))
    for row in rows:
        alpha = row["alpha"]
        row["alpha"] = float(Fraction(alpha)) if isinstance(alpha, str) else None
    return rows


def figure(rows: list[Row]) -> Figure:
    from paper.figures.ad_curves import ad_budget_figure

    return ad_budget_figure(rows)


STUDY = Study(
    name="ad-budget",
    about="ad auction: loss against the share of ε for the objective (appendix)",
    sweeps=sweeps,
    table=table,
    figure=figure,
    draws=200,
    quick_draws=50,
)
