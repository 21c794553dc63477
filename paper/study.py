"""A study: settings, a function of one draw, a table, and its picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import dp_cmdp as dp
from paper.runner import Row, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _nothing(rows: list[Row]) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Study:
    """One published table or figure.

    Attributes
    ----------
    name, about : str
    sweeps : callable
        ``sweeps(draws, quick)``: what is run; a quick run may have fewer settings.
    table : callable
        From records to the rows of the table.
    figure : str
        ``"module:function"`` in :mod:`paper.figures`: from the rows to the picture.
    draws, quick_draws : int
        Per setting.
    summary : callable
        From the rows to what can be said of all of them; its ``note`` is printed.
    columns : tuple of str
        What of the table is printed; all of it by default.
    fewest_draws : int
        That the intervals of the table need.
    """

    name: str
    about: str
    sweeps: Callable[[int, bool], tuple[Sweep, ...]]
    table: Callable[[pd.DataFrame], list[Row]]
    figure: str
    draws: int
    quick_draws: int
    summary: Callable[[list[Row]], dict[str, Any]] = _nothing
    columns: tuple[str, ...] = ()
    fewest_draws: int = 2

    def picture(self, rows: list[Row]) -> Figure:
        """The figure of a table."""
        module, name = self.figure.split(":")
        return getattr(import_module(f"paper.figures.{module}"), name)(rows)

    def planned(self, *, quick: bool = False, draws: int | None = None) -> tuple[Sweep, ...]:
        """What is to be run."""
        if draws is not None and draws < self.fewest_draws:
            raise dp.errors.InvalidArgumentError(
                f"draws must be at least {self.fewest_draws}: an interval cannot be had from fewer"
            )
        return self.sweeps(draws or (self.quick_draws if quick else self.draws), quick)
