"""Figure 2 of the paper: loss in the ad auction against the number M of advertisers.

20 groups, ε = 1, δ = 0.1. The paper lets Hsu's method run for more rounds on larger problems and
does not say how many: here T = N·M, the number of variables, with the true optimum as its guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.runner import Row, Sweep
from paper.studies.comparison import (
    auction_setting,
    comparison_rows,
    draw_auction,
)
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

GROUPS = 20
SIZES = (5, 10, 20, 40, 60, 100)
QUICK_SIZES = (5, 10, 20)
#: Method and case of each curve.
CURVES = (
    ("hsu2014-true-optimum", "i"),
    ("benvenuti2025-realised-mask", "i"),
    ("benvenuti2025-realised-mask", "ii"),
    ("benvenuti2025", "ii"),
    ("munoz2021-private-c", "ii"),
    ("database", "ii"),
    ("planned", "ii"),
)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple(
        auction_setting(
            method,
            case=case,
            size=(GROUPS, advertisers),
            rounds=GROUPS * advertisers if method.startswith("hsu") else None,
        )
        for advertisers in (QUICK_SIZES if quick else SIZES)
        for method, case in CURVES
    )
    return (Sweep(draw_auction, settings, draws),)


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per method, case and number of advertisers."""
    return comparison_rows(frame, ("method", "case", "advertisers"))


def figure(rows: list[Row]) -> Figure:
    from paper.figures.ad_curves import ad_size_figure

    return ad_size_figure(rows)


STUDY = Study(
    name="ad-size",
    about="ad auction: loss against the number of advertisers (Figure 2)",
    sweeps=sweeps,
    table=table,
    figure=figure,
    draws=100,
    quick_draws=10,
)
