"""Everything ``dp-cmdp reproduce`` can make: sweep, table and figure under one name.

An experiment is a module with ``sweep(draws=…, seed=…)`` and ``rows(records)``; it may have
``quick_sweep`` (a smaller one for ``--quick``) and ``summary(rows)`` (facts about all rows; its
``note`` is printed).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dp_cmdp.experiments.sweep import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One published table or figure; its modules are imported when it is made.

    Attributes
    ----------
    about : str
    experiment : str
        Module in ``dp_cmdp.experiments``.
    drawing : str
        ``module:function`` in ``dp_cmdp.figures``, from rows to a Figure.
    draws, quick_draws : int
    """

    about: str
    experiment: str
    drawing: str
    draws: int
    quick_draws: int

    def sweep(self, *, quick: bool, draws: int | None, seed: int) -> Sweep:
        """What is to be run."""
        module = self._module()
        make = getattr(module, "quick_sweep", module.sweep) if quick else module.sweep
        return make(draws=draws or (self.quick_draws if quick else self.draws), seed=seed)

    def rows(self, records: pd.DataFrame) -> list[Row]:
        """The table."""
        return self._module().rows(records)

    def summary(self, rows: list[Row]) -> dict[str, Any]:
        """Facts about all rows; empty for most experiments."""
        make = getattr(self._module(), "summary", None)
        return {} if make is None else make(rows)

    def figure(self, rows: list[Row]) -> Figure:
        """The picture."""
        module, _, name = self.drawing.partition(":")
        return getattr(import_module(f"dp_cmdp.figures.{module}"), name)(rows)

    def _module(self) -> Any:
        return import_module(f"dp_cmdp.experiments.{self.experiment}")


REPRODUCTIONS = {
    "ad-headline": Reproduction(
        "ad auction: Algorithm 1 (realised and public mask) against the database release",
        "ad_headline", "ad_auction:headline_figure", 400, 100,
    ),
    "ad-epsilon": Reproduction(
        "ad auction: loss and violations against ε, cases (i) and (ii) (Figure 1)",
        "ad_epsilon", "ad_curves:epsilon_figure", 200, 15,
    ),
    "ad-size": Reproduction(
        "ad auction: loss against the number of advertisers (Figure 2)",
        "ad_size", "ad_curves:size_figure", 100, 10,
    ),
    "ad-budget": Reproduction(
        "ad auction: loss against the share of ε for the objective (appendix)",
        "ad_budget", "ad_curves:budget_figure", 200, 50,
    ),
    "cost-of-privacy": Reproduction(
        "hazard grid: what private safe policies lose, beside the published curves",
        "cost_of_privacy", "cost_of_privacy:cost_of_privacy_figure", 200, 40,
    ),
    "hsu-cmdp": Reproduction(
        "Hsu 2014 on the hazard grid: how far its answers are from being policies",
        "hsu_cmdp", "hsu_cmdp:hsu_cmdp_figure", 200, 20,
    ),
    "table1": Reproduction(
        "the paper's Table 1, with a measurement under every tick",
        "table1", "table1:table1_figure", 400, 15,
    ),
    "munoz-ads": Reproduction(
        "the ad experiment of Muñoz Medina et al. 2021: independent ground truth",
        "munoz_ads", "munoz_ads:munoz_ads_figure", 400, 40,
    ),
    "mean-shift": Reproduction(
        "what certainty costs: mean shift of each noise against the universal bound",
        "mean_shift", "mean_shift:mean_shift_figure", 1, 1,
    ),
    "bounds": Reproduction(
        "what the accuracy bounds promise, and what is lost: certified, repaired, printed",
        "bounds", "bounds:bounds_figure", 20, 3,
    ),
}  # fmt: skip
