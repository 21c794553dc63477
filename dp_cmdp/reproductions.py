"""Everything ``dp-cmdp reproduce`` can make: study and figure under one name.

The one place where experiments and figures meet. What a figure shows beside its rows (curves that
were published, a grid, a threshold) is handed to it here. Studies import solvers and figures import
matplotlib, so each entry brings its functions along only when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.experiments.sweep import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _no_facts(rows: list[Row]) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Study:
    """How a table and its figure are made.

    Attributes
    ----------
    sweep : callable
        ``sweep(draws=…, seed=…)``: what is run.
    rows : callable
        From records to the table.
    figure : callable
        From the table to the picture.
    quick_sweep : callable, optional
        A smaller sweep for ``--quick``.
    summary : callable
        From the table to facts about all of it; its ``note`` is printed.
    columns : tuple of str
        What of the table is printed; all of it by default.
    """

    sweep: Callable[..., Sweep]
    rows: Callable[[pd.DataFrame], list[Row]]
    figure: Callable[[list[Row]], Figure]
    quick_sweep: Callable[..., Sweep] | None = None
    summary: Callable[[list[Row]], dict[str, Any]] = _no_facts
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One published table or figure.

    Attributes
    ----------
    about : str
    study : callable
        Imports what is needed, and returns the :class:`Study`.
    draws, quick_draws : int
    quick_seconds : int
        What a quick run took with one process (``--workers 1``) on a core that it mostly had to
        itself, rounded up. Where three processes shared the core it took two to five times that.
    fewest_draws : int
        That the intervals of the table need.
    """

    about: str
    study: Callable[[], Study]
    draws: int
    quick_draws: int
    quick_seconds: int
    fewest_draws: int = 2

    def sweep(self, *, quick: bool, draws: int | None, seed: int) -> Sweep:
        """What is to be run."""
        if draws is not None and draws < self.fewest_draws:
            raise InvalidArgumentError(
                f"draws must be at least {self.fewest_draws}: an interval cannot be had from fewer"
            )
        study = self.study()
        make = study.quick_sweep if quick and study.quick_sweep else study.sweep
        return make(draws=draws or (self.quick_draws if quick else self.draws), seed=seed)


def _ad_headline() -> Study:
    from dp_cmdp.experiments import ad_headline as study
    from dp_cmdp.figures.ad_auction import ad_headline_figure

    return Study(study.sweep, study.rows, ad_headline_figure)


def _ad_epsilon() -> Study:
    from dp_cmdp.experiments import ad_epsilon as study
    from dp_cmdp.figures.ad_curves import ad_epsilon_figure

    columns = (
        "method", "case", "epsilon", "suboptimality_percent", "violated_percent",
        "over_case_i_percent",
    )  # fmt: skip
    return Study(study.sweep, study.rows, ad_epsilon_figure, study.quick_sweep, columns=columns)


def _ad_size() -> Study:
    from dp_cmdp.experiments import ad_size as study
    from dp_cmdp.figures.ad_curves import ad_size_figure

    return Study(study.sweep, study.rows, ad_size_figure, study.quick_sweep)


def _ad_budget() -> Study:
    from dp_cmdp.experiments import ad_budget as study
    from dp_cmdp.figures.ad_curves import ad_budget_figure

    return Study(study.sweep, study.rows, ad_budget_figure, study.quick_sweep)


def _cost_of_privacy() -> Study:
    from dp_cmdp.experiments import cost_of_privacy as study
    from dp_cmdp.figures.cost_of_privacy import cost_of_privacy_figure

    def figure(rows: list[Row]) -> Figure:
        return cost_of_privacy_figure(
            rows,
            published=study.published_curves(),
            hazards=study.named_hazards(),
            note=study.summary(rows)["note"],
        )

    return Study(study.sweep, study.rows, figure, study.quick_sweep, study.summary)


def _hsu_cmdp() -> Study:
    from dp_cmdp.experiments import hsu_cmdp as study
    from dp_cmdp.figures.hsu_cmdp import hsu_cmdp_figure

    def figure(rows: list[Row]) -> Figure:
        return hsu_cmdp_figure(rows, converged=study.CONVERGED)

    return Study(study.sweep, study.rows, figure)


def _table1() -> Study:
    from dp_cmdp.experiments import table1 as study
    from dp_cmdp.figures.table1 import table1_figure

    columns = (
        "method", "private", "paper_private", "suboptimality_percent", "violated_percent",
        "worst_violation", "converged_percent",
    )  # fmt: skip
    return Study(study.sweep, study.rows, table1_figure, summary=study.summary, columns=columns)


def _munoz_ads() -> Study:
    from dp_cmdp.experiments import munoz_ads as study
    from dp_cmdp.figures.munoz_ads import munoz_ads_figure

    return Study(study.sweep, study.rows, munoz_ads_figure, study.quick_sweep)


def _mean_shift() -> Study:
    from dp_cmdp.experiments import mean_shift as study
    from dp_cmdp.figures.mean_shift import mean_shift_figure

    return Study(study.sweep, study.rows, mean_shift_figure)


def _bounds() -> Study:
    from dp_cmdp.experiments import bounds as study
    from dp_cmdp.figures.bounds import bounds_figure

    columns = (
        "problem", "epsilon", "loss_percent", "loss_interval_percent", "sampled_percent",
        "certified_mean_percent", "certified_certain_percent", "repaired_percent",
        "printed_percent", "ratio",
    )  # fmt: skip
    return Study(study.sweep, study.rows, bounds_figure, study.quick_sweep, study.summary, columns)


def _scale() -> Study:
    from dp_cmdp.experiments import scale as study
    from dp_cmdp.figures.scale import scale_figure

    columns = (
        "problem", "size", "radius", "epsilon", "method", "suboptimality_percent", "delta",
        "violations", "plan",
    )  # fmt: skip
    return Study(study.sweep, study.rows, scale_figure, study.quick_sweep, study.summary, columns)


REPRODUCTIONS = {
    "ad-headline": Reproduction(
        "ad auction: Algorithm 1 (both masks) against database and planned release",
        _ad_headline, 400, 100, 40,
    ),
    "ad-epsilon": Reproduction(
        "ad auction: loss and violations against ε, cases (i) and (ii) (Figure 1)",
        _ad_epsilon, 200, 15, 15,
    ),
    "ad-size": Reproduction(
        "ad auction: loss against the number of advertisers (Figure 2)", _ad_size, 100, 10, 15,
    ),
    "ad-budget": Reproduction(
        "ad auction: loss against the share of ε for the objective (appendix)",
        _ad_budget, 200, 50, 10,
    ),
    "cost-of-privacy": Reproduction(
        "hazard grid: what private safe policies lose, beside the published curves",
        _cost_of_privacy, 200, 40, 15,
    ),
    "hsu-cmdp": Reproduction(
        "Hsu 2014 on the hazard grid: how far its answers are from being policies",
        _hsu_cmdp, 200, 20, 10,
    ),
    "table1": Reproduction(
        "the paper's Table 1, with a measurement under every tick", _table1, 400, 15, 20,
    ),
    "munoz-ads": Reproduction(
        "the ad experiment of Muñoz Medina et al. 2021: independent ground truth",
        _munoz_ads, 400, 40, 10,
    ),
    "mean-shift": Reproduction(
        "what certainty costs: mean shift of each noise against the universal bound",
        _mean_shift, 1, 1, 10, 1,
    ),
    "bounds": Reproduction(
        "accuracy bounds and what is lost: certified, repaired, printed",
        _bounds, 20, 3, 60,
    ),
    "scale": Reproduction(
        "what privacy costs as problems grow: auctions, grids, layouts, the limit",
        _scale, 100, 6, 60, 6,
    ),
}  # fmt: skip
