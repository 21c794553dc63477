"""Everything ``dp-cmdp reproduce`` can make: sweep, table and figure under one name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp_cmdp.experiments.sweep import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One published table or figure.

    Attributes
    ----------
    name, about : str
    sweep : callable
        ``sweep(draws=…, seed=…)``.
    draws, quick_draws : int
    rows : callable
        From the records to the rows of the table.
    figure : callable
        From the rows to a matplotlib Figure.
    quick_sweep : callable, optional
        A smaller sweep for ``--quick``, with the same arguments.
    summary : callable, optional
        From the rows to facts about all of them; its ``note`` is printed, JSON has them all.
    """

    name: str
    about: str
    sweep: Callable[..., Sweep]
    draws: int
    quick_draws: int
    rows: Callable[[pd.DataFrame], list[Row]]
    figure: Callable[[list[Row]], Any]
    quick_sweep: Callable[..., Sweep] | None = None
    summary: Callable[[list[Row]], dict[str, Any]] | None = None


def _ad_headline() -> Reproduction:
    from dp_cmdp.experiments.ad_auction import headline, headline_rows
    from dp_cmdp.figures.ad_auction import headline_figure

    return Reproduction(
        name="ad-headline",
        about="ad auction: Algorithm 1 (realised and public mask) against the database release",
        sweep=headline,
        draws=400,
        quick_draws=100,
        rows=headline_rows,
        figure=headline_figure,
    )


def _mean_shift() -> Reproduction:
    from dp_cmdp.experiments.mean_shift import mean_shift_rows, mean_shift_sweep
    from dp_cmdp.figures.mean_shift import mean_shift_figure

    return Reproduction(
        name="mean-shift",
        about="what certainty costs: mean shift of each noise against the universal bound",
        sweep=mean_shift_sweep,
        draws=1,
        quick_draws=1,
        rows=mean_shift_rows,
        figure=mean_shift_figure,
    )


def _cost_of_privacy() -> Reproduction:
    from dp_cmdp.experiments import cost_of_privacy
    from dp_cmdp.figures.cost_of_privacy import cost_of_privacy_figure

    return Reproduction(
        name="cost-of-privacy",
        about="hazard grid: what private safe policies lose, beside the published curves",
        sweep=cost_of_privacy.sweep,
        draws=200,
        quick_draws=40,
        rows=cost_of_privacy.rows,
        figure=cost_of_privacy_figure,
        quick_sweep=cost_of_privacy.quick_sweep,
        summary=cost_of_privacy.summary,
    )


def _table1() -> Reproduction:
    from dp_cmdp.experiments import table1
    from dp_cmdp.figures.table1 import table1_figure

    return Reproduction(
        name="table1",
        about="the paper's Table 1, with a measurement under every tick",
        sweep=table1.sweep,
        draws=400,
        quick_draws=15,
        rows=table1.rows,
        figure=table1_figure,
        summary=table1.summary,
    )


def _ad_epsilon() -> Reproduction:
    from dp_cmdp.experiments import ad_epsilon
    from dp_cmdp.figures.ad_curves import epsilon_figure

    return Reproduction(
        name="ad-epsilon",
        about="ad auction: loss and violations against ε, cases (i) and (ii) (Figure 1)",
        sweep=ad_epsilon.sweep,
        draws=200,
        quick_draws=15,
        rows=ad_epsilon.rows,
        figure=epsilon_figure,
        quick_sweep=ad_epsilon.quick_sweep,
    )


def _ad_size() -> Reproduction:
    from dp_cmdp.experiments import ad_size
    from dp_cmdp.figures.ad_curves import size_figure

    return Reproduction(
        name="ad-size",
        about="ad auction: loss against the number of advertisers (Figure 2)",
        sweep=ad_size.sweep,
        draws=100,
        quick_draws=10,
        rows=ad_size.rows,
        figure=size_figure,
        quick_sweep=ad_size.quick_sweep,
    )


def _ad_budget() -> Reproduction:
    from dp_cmdp.experiments import ad_budget
    from dp_cmdp.figures.ad_curves import budget_figure

    return Reproduction(
        name="ad-budget",
        about="ad auction: loss against the share of ε for the objective (appendix)",
        sweep=ad_budget.sweep,
        draws=200,
        quick_draws=50,
        rows=ad_budget.rows,
        figure=budget_figure,
        quick_sweep=ad_budget.quick_sweep,
    )


def _munoz_ads() -> Reproduction:
    from dp_cmdp.experiments import munoz_ads
    from dp_cmdp.figures.munoz_ads import munoz_ads_figure

    return Reproduction(
        name="munoz-ads",
        about="the ad experiment of Muñoz Medina et al. 2021: independent ground truth",
        sweep=munoz_ads.sweep,
        draws=400,
        quick_draws=40,
        rows=munoz_ads.rows,
        figure=munoz_ads_figure,
        quick_sweep=munoz_ads.quick_sweep,
    )


def _bounds() -> Reproduction:
    from dp_cmdp.experiments import bounds
    from dp_cmdp.figures.bounds import bounds_figure

    return Reproduction(
        name="bounds",
        about="what the accuracy bounds promise, and what is lost: certified, repaired, printed",
        sweep=bounds.sweep,
        draws=20,
        quick_draws=3,
        rows=bounds.rows,
        figure=bounds_figure,
    )


def _hsu_cmdp() -> Reproduction:
    from dp_cmdp.experiments import hsu_cmdp
    from dp_cmdp.figures.hsu_cmdp import hsu_cmdp_figure

    return Reproduction(
        name="hsu-cmdp",
        about="Hsu 2014 on the hazard grid: how far its answers are from being policies",
        sweep=hsu_cmdp.sweep,
        draws=200,
        quick_draws=20,
        rows=hsu_cmdp.rows,
        figure=hsu_cmdp_figure,
    )


REPRODUCTIONS: dict[str, Callable[[], Reproduction]] = {
    "ad-budget": _ad_budget,
    "ad-epsilon": _ad_epsilon,
    "ad-headline": _ad_headline,
    "ad-size": _ad_size,
    "bounds": _bounds,
    "cost-of-privacy": _cost_of_privacy,
    "hsu-cmdp": _hsu_cmdp,
    "mean-shift": _mean_shift,
    "munoz-ads": _munoz_ads,
    "table1": _table1,
}
