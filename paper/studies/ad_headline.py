"""The headline table: Algorithm 1, with either mask, against the database and planned releases."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from paper.metrics import mean_interval
from paper.problems.auction import THIRD
from paper.runner import Row, Sweep
from paper.studies.comparison import auction_setting, draw_auction
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EPSILONS = ("1/4", "1/2", "1", "2", "4")
#: The rows of the headline table: method, ε, α_c.
HEADLINE = (
    *(("benvenuti2025-realised-mask", eps, THIRD) for eps in EPSILONS),
    ("benvenuti2025-realised-mask", "1", "99/100"),
    *(("benvenuti2025", eps, THIRD) for eps in EPSILONS),
    *(("database", eps, None) for eps in EPSILONS),
    *(("planned", eps, None) for eps in EPSILONS),
)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple(auction_setting(m, e, alpha=a) for m, e, a in HEADLINE)
    return (Sweep(draw_auction, settings, draws),)


def table(frame: pd.DataFrame) -> list[Row]:
    """Means in percent with 95 % intervals, violations counted exactly."""
    rows: list[Row] = []
    for (method, epsilon, alpha), part in frame.groupby(
        ["method", "epsilon", "alpha"], sort=False, dropna=False
    ):
        mean = mean_interval(100.0 * part["suboptimality"].to_numpy())
        rows.append(
            {
                "method": method,
                "epsilon": float(Fraction(str(epsilon))),
                "alpha": None if not isinstance(alpha, str) else float(Fraction(alpha)),
                **mean.row("suboptimality_percent", ends="ci"),
                "draws": mean.draws,
                "violations": int(part["violated_rows"].sum()),
            }
        )
    return rows


def figure(rows: list[Row]) -> Figure:
    from paper.figures.ad_auction import ad_headline_figure

    return ad_headline_figure(rows)


STUDY = Study(
    name="ad-headline",
    about="ad auction: Algorithm 1 (both masks) against database and planned release",
    sweeps=sweeps,
    table=table,
    figure=figure,
    draws=400,
    quick_draws=100,
)
