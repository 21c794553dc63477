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
    """

    name: str
    about: str
    sweep: Callable[..., Sweep]
    draws: int
    quick_draws: int
    rows: Callable[[pd.DataFrame], list[Row]]
    figure: Callable[[list[Row]], Any]


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


REPRODUCTIONS: dict[str, Callable[[], Reproduction]] = {
    "ad-headline": _ad_headline,
    "mean-shift": _mean_shift,
}
