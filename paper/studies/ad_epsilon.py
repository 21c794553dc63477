"""Figure 1 of the paper: loss in the ad auction against ε, in its two cases.

Case (i): private prices. Case (ii): private prices and budgets. 10 groups, 5 advertisers, δ = 0.1.
Remark ``rem:modify`` lets α_A + α_c = 1 in case (i): the sensitive blocks share ε equally.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from paper.metrics import Interval, mean_interval
from paper.runner import Row, Sweep
from paper.studies.comparison import auction_setting, comparison_rows, draw_auction
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: The paper states numbers at the quick ones.
EPSILONS, QUICK_EPSILONS = ("1/4", "1/2", "1", "3/2", "2"), ("1/4", "1", "2")
#: Method and case of each curve.
CURVES = (
    ("hsu2014", "i"),
    ("hsu2014-true-optimum", "i"),
    ("benvenuti2025-realised-mask", "i"),
    ("benvenuti2025-realised-mask", "ii"),
    ("benvenuti2025", "i"),
    ("benvenuti2025", "ii"),
    ("munoz2021", "ii"),
    ("munoz2021-private-c", "ii"),
    ("database", "i"),
    ("database", "ii"),
)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    epsilons = QUICK_EPSILONS if quick else EPSILONS
    settings = tuple(auction_setting(m, e, case=case) for e in epsilons for m, case in CURVES)
    return (Sweep(draw_auction, settings, draws),)


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per method, case and ε; case (ii) also says how much it loses beyond case (i)."""
    rows = comparison_rows(frame, ("method", "case", "epsilon"))
    extra = _beyond_case_i(frame)
    names = ("over_case_i_percent", "over_case_i_low", "over_case_i_high")
    for row in rows:
        found = extra.get((row["method"], row["epsilon"])) if row["case"] == "ii" else None
        values = (None,) * 3 if found is None else (found.mean, found.low, found.high)
        row |= dict(zip(names, values, strict=True))
    return rows


def _beyond_case_i(frame: pd.DataFrame) -> dict[tuple[str, float], Interval]:
    """Case (ii) minus case (i), draw by draw on the same auctions."""
    found: dict[tuple[str, float], Interval] = {}
    for (method, epsilon), part in frame.groupby(["method", "epsilon"], sort=False):
        wide = part.pivot(index="draw", columns="case", values="suboptimality")
        if {"i", "ii"} <= set(wide.columns):
            difference = 100.0 * (wide["ii"] - wide["i"]).dropna()
            place = (str(method), float(Fraction(str(epsilon))))
            found[place] = mean_interval(difference.to_numpy(dtype=float))
    return found


def figure(rows: list[Row]) -> Figure:
    from paper.figures.ad_curves import ad_epsilon_figure

    return ad_epsilon_figure(rows)


STUDY = Study(
    name="ad-epsilon",
    about="ad auction: loss and violations against ε, cases (i) and (ii) (Figure 1)",
    sweeps=sweeps,
    table=table,
    figure=figure,
    draws=200,
    quick_draws=15,
    columns=(
        "method",
        "case",
        "epsilon",
        "suboptimality_percent",
        "violated_percent",
        "over_case_i_percent",
    ),
)
