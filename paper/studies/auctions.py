"""The ad auction against ε, against its size, and against the split of ε.

``ad-headline``  Algorithm 1, with either mask, against the database and planned releases
``ad-epsilon``   Figure 1 of the paper: its two cases. Case (i): private prices. Case (ii): private
                 prices and budgets. Remark ``rem:modify`` lets α_A + α_c = 1 in case (i): the
                 sensitive blocks share ε equally
``ad-size``      Figure 2 of the paper: the number M of advertisers, 20 groups, ε = 1. The paper
                 lets Hsu's method run for more rounds on larger problems and does not say how many:
                 here T = N·M, the number of variables, with the true optimum as its guess
``ad-budget``    the appendix on the share α_c of the objective, α_A = α_b = (1 − α_c)/2. Our
                 database release has no split to tune; it is drawn as a level

10 groups, 5 advertisers and δ = 0.1 where nothing else is said.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from paper.metrics import Interval, mean_interval
from paper.problems.auction import THIRD
from paper.runner import Row, Sweep
from paper.studies.comparison import auction_setting, comparison_rows, draw_auction
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

#: Powers of two around ε = 1; the paper states numbers at 1 and 2.
HEADLINE_EPSILONS = ("1/4", "1/2", "1", "2", "4")
#: The rows of the headline table: method, ε, α_c.
HEADLINE = (
    *(("benvenuti2025-realised-mask", eps, THIRD) for eps in HEADLINE_EPSILONS),
    ("benvenuti2025-realised-mask", "1", "99/100"),
    *(("benvenuti2025", eps, THIRD) for eps in HEADLINE_EPSILONS),
    *((method, eps, None) for method in ("database", "planned") for eps in HEADLINE_EPSILONS),
)
EPSILONS, QUICK_EPSILONS = ("1/4", "1/2", "1", "3/2", "2"), ("1/4", "1", "2")
#: Method and case of each curve of Figure 1.
OVER_EPSILON = (
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
    ("planned", "i"),
    ("planned", "ii"),
)
GROUPS = 20
SIZES, QUICK_SIZES = (5, 10, 20, 40, 60, 100), (5, 10, 20)
#: Method and case of each curve of Figure 2.
OVER_SIZE = (
    ("hsu2014-true-optimum", "i"),
    ("benvenuti2025-realised-mask", "i"),
    ("benvenuti2025-realised-mask", "ii"),
    ("benvenuti2025", "ii"),
    ("munoz2021-private-c", "ii"),
    ("database", "ii"),
    ("planned", "ii"),
)
BUDGET_EPSILONS = ("1/4", "1/2", "1", "2")
#: α_c: equal shares and 0.99, for which the paper states numbers, and two between.
SHARES = ("1/3", "1/2", "3/4", "99/100")


def headline_sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple(auction_setting(m, e, alpha=a) for m, e, a in HEADLINE)
    return (Sweep(draw_auction, settings, draws),)


def epsilon_sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    epsilons = QUICK_EPSILONS if quick else EPSILONS
    settings = (auction_setting(m, e, case=case) for e in epsilons for m, case in OVER_EPSILON)
    return (Sweep(draw_auction, tuple(settings), draws),)


def size_sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple(
        auction_setting(
            method,
            case=case,
            size=(GROUPS, advertisers),
            rounds=GROUPS * advertisers if method.startswith("hsu") else None,
        )
        for advertisers in (QUICK_SIZES if quick else SIZES)
        for method, case in OVER_SIZE
    )
    return (Sweep(draw_auction, settings, draws),)


def budget_sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    epsilons = ("1",) if quick else BUDGET_EPSILONS
    split = (
        auction_setting(method, epsilon, alpha=alpha)
        for epsilon in epsilons
        for method in ("benvenuti2025-realised-mask", "benvenuti2025")
        for alpha in SHARES
    )
    ours = "database", "planned"
    whole = (auction_setting(method, epsilon) for epsilon in epsilons for method in ours)
    return (Sweep(draw_auction, (*split, *whole), draws),)


def headline_table(frame: pd.DataFrame) -> list[Row]:
    """Means in percent with 95 % intervals, violated rows counted exactly."""
    rows: list[Row] = []
    for (method, epsilon, alpha), part in frame.groupby(
        ["method", "epsilon", "alpha"], sort=False, dropna=False
    ):
        mean = mean_interval(100.0 * part["suboptimality"].to_numpy())
        rows.append(
            {
                "method": method,
                "epsilon": float(Fraction(str(epsilon))),
                "alpha": _share(alpha),
                **mean.row("suboptimality_percent", ends="ci"),
                "draws": mean.draws,
                "violations": int(part["violated_rows"].sum()),
            }
        )
    return rows


def epsilon_table(frame: pd.DataFrame) -> list[Row]:
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


def size_table(frame: pd.DataFrame) -> list[Row]:
    """One row per method, case and number of advertisers."""
    return comparison_rows(frame, ("method", "case", "advertisers"))


def budget_table(frame: pd.DataFrame) -> list[Row]:
    """One row per method, ε and α_c (none for the database release)."""
    rows = comparison_rows(frame, ("method", "epsilon", "alpha"))
    return [row | {"alpha": _share(row["alpha"])} for row in rows]


def _share(alpha: object) -> float | None:
    return float(Fraction(alpha)) if isinstance(alpha, str) else None


STUDIES = (
    Study(
        name="ad-headline",
        about="ad auction: Algorithm 1 (both masks) against database and planned release",
        sweeps=headline_sweeps,
        table=headline_table,
        figure="auctions:ad_headline_figure",
        draws=400,
        quick_draws=100,
    ),
    Study(
        name="ad-epsilon",
        about="ad auction: loss and violations against ε, cases (i) and (ii) (Figure 1)",
        sweeps=epsilon_sweeps,
        table=epsilon_table,
        figure="auctions:ad_epsilon_figure",
        draws=200,
        quick_draws=15,
        columns=(
            "method", "case", "epsilon", "suboptimality_percent", "violated_percent",
            "over_case_i_percent",
        ),
    ),
    Study(
        name="ad-size",
        about="ad auction: loss against the number of advertisers (Figure 2)",
        sweeps=size_sweeps,
        table=size_table,
        figure="auctions:ad_size_figure",
        draws=100,
        quick_draws=10,
    ),
    Study(
        name="ad-budget",
        about="ad auction: loss against the share of ε for the objective (appendix)",
        sweeps=budget_sweeps,
        table=budget_table,
        figure="auctions:ad_budget_figure",
        draws=200,
        quick_draws=50,
    ),
)  # fmt: skip
