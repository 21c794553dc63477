"""A study: settings, a function of one draw, a table, and its picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import pandas as pd

import dp_cmdp as dp
from paper.runner import Row, Sweep


def tabled(
    frame: pd.DataFrame, keys: Sequence[str], row: Callable[[Row, pd.DataFrame], Row]
) -> list[Row]:
    """A row per combination of `keys`: the keys, fractions as numbers, and what `row` finds."""
    rows: list[Row] = []
    for values, part in frame.groupby(list(keys), sort=False, dropna=False):
        key: Row = dict(zip(keys, values, strict=True))
        rows.append({name: _number(name, value) for name, value in key.items()} | row(key, part))
    return rows


def _number(name: str, value: Any) -> Any:
    """Fractions, which settings hold as texts, and shares that are not there."""
    if name not in ("epsilon", "delta", "alpha"):
        return value
    return float(Fraction(value)) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Study:
    """One published table or figure."""

    name: str
    about: str
    sweeps: Callable[[int, bool], tuple[Sweep, ...]]  # (draws, quick): what is run
    table: Callable[[pd.DataFrame], list[Row]]  # from records to rows
    figure: str  # "module:function" in paper.figures: from the rows to the picture
    draws: int  # per setting
    quick_draws: int
    summary: Callable[[list[Row]], dict[str, Any]] = lambda rows: {}  # its note is printed
    columns: tuple[str, ...] = ()  # what of the table is printed; all of it by default
    fewest_draws: int = 2  # that the intervals of the table need

    def picture(self, rows: list[Row]) -> Any:
        """The figure of a table."""
        from matplotlib import rc_context

        module, name = self.figure.split(":")
        with rc_context(import_module("paper.figures.style").RC):
            return getattr(import_module(f"paper.figures.{module}"), name)(rows)

    def planned(self, *, quick: bool = False, draws: int | None = None) -> tuple[Sweep, ...]:
        """What is to be run."""
        if draws is not None and draws < self.fewest_draws:
            raise dp.errors.InvalidArgumentError(
                f"draws must be at least {self.fewest_draws}: an interval cannot be had from fewer"
            )
        return self.sweeps(draws or (self.quick_draws if quick else self.draws), quick)
