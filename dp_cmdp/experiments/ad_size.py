"""Figure 2 of the paper: loss in the ad auction against the number M of advertisers.

20 groups, ε = 1, δ = 0.1. The paper lets Hsu's method run for more rounds on larger problems and
does not say how many: here T = N·M, the number of variables, with the true optimum as its guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dp_cmdp.experiments.auction_comparison import (
    auction_setting,
    comparison_rows,
    draw_auction,
)
from dp_cmdp.experiments.sweep import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd

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


def sweep(*, draws: int, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce ad-size``."""
    return Sweep(
        name="ad-size",
        function=draw_auction,
        settings=tuple(
            auction_setting(
                method,
                case=case,
                size=(GROUPS, advertisers),
                rounds=GROUPS * advertisers if method.startswith("hsu") else None,
            )
            for advertisers in sizes
            for method, case in CURVES
        ),
        draws=draws,
        seed=seed,
    )


def quick_sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The same for three small auctions."""
    return sweep(draws=draws, seed=seed, sizes=QUICK_SIZES)


def rows(frame: pd.DataFrame) -> list[Row]:
    """One row per method, case and number of advertisers."""
    return comparison_rows(frame, ("method", "case", "advertisers"))
