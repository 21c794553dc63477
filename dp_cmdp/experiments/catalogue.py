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


REPRODUCTIONS: dict[str, Callable[[], Reproduction]] = {
    "ad-headline": _ad_headline,
    "cost-of-privacy": _cost_of_privacy,
    "mean-shift": _mean_shift,
}
