"""Answers: policies on their grids; decisions as bars, or as maps of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.figures import style
from dp_cmdp._src.figures.policy import (
    draw_values,
    maps_figure,
    policy_figure,
    statement,
    values_of,
)
from dp_cmdp._src.figures.release import name_places, shown
from dp_cmdp._src.figures.style import NO_DATA, NO_PRIVACY, SHADES, THIS
from dp_cmdp._src.figures.view import Places

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Tables with more rows or columns are drawn without their names; more bars are drawn as lines.
MOST_NAMES, MOST_BARS = 40, 300


def answer_figure(found: Any) -> Figure:
    """An answer and what is proved of it, the robust answer beside it."""
    if isinstance(found, PolicyAnswer):
        return policy_figure(found)
    answers = {THIS: found} | ({} if found.source == "robust" else {NO_DATA: found.robust})
    title = f"{statement(found, width=80)}\n\nvalue at the estimate"
    figure = decisions_figure(answers, values_of(found), title)
    style.describe(figure, found.release)
    return figure


def comparison_figure(comparison: Any) -> Figure:
    """The answer, the robust one and the best one for the true data: *curator only*."""
    found, best = comparison._found, comparison._best
    answers = {THIS: found, NO_DATA: found.robust, NO_PRIVACY: best}
    values = comparison.value, comparison.robust, comparison.best
    worth = dict(zip(answers, values, strict=True))
    if isinstance(found, PolicyAnswer) and (places := Places.of(found.problem)) is not None:
        figure = maps_figure(answers, places, best.estimate, worth)
    else:
        decisions = {} if isinstance(found, PolicyAnswer) else answers
        figure = decisions_figure(decisions, worth, "value at the true data")
    told = f"Loss {comparison.loss:.2%}; violated constraints: {comparison.violated}"
    style.heading(figure, f"{style.CURATOR_ONLY}. {told}", alarming=True)
    figure.set_label(style.CURATOR_ONLY)
    return figure


def decisions_figure(answers: dict[str, Any], worth: dict[str, float], title: str) -> Figure:
    """Decisions as maps beside each other, or as bars in one panel; below them their values.

    Of answers that are no tables, the values alone.
    """
    columns = _columns(answers)
    tables = _tables(columns)
    panels = len(tables) or min(len(columns), 1)
    tall = 1.7 + 0.25 * min(max((len(t) for t in tables.values()), default=5), 20)
    figure = style.blank_figure(max(7.0, 2.6 + 3.2 * panels), (tall if panels else 0.0) + 2.4)
    ratios = (tall, 0.8)[0 if panels else 1 :]
    places = figure.add_gridspec(len(ratios), max(panels, 1), height_ratios=ratios)
    tops = [figure.add_subplot(places[0, k]) for k in range(panels)]
    values = figure.add_subplot(places[-1, :])
    for ax in (*tops, values):
        style.dress(ax)
    if tables:
        draw_tables(figure, tops, tables)
    elif columns:
        draw_bars(tops[0], columns)
        style.legend_below(figure, tops[0], columns=3)
    draw_values(values, worth, title)
    return figure


def _columns(answers: dict[str, Any]) -> dict[str, pd.Series]:
    """The decisions as columns; none of a kind of answer that is no table."""
    try:
        return {name: found.to_frame().iloc[:, 0] for name, found in answers.items()}
    except NotImplementedError:
        return {}


def _tables(columns: dict[str, pd.Series]) -> dict[str, pd.DataFrame]:
    """The columns as tables, where their labels have two levels that form one."""
    if not all(c.index.nlevels == 2 and c.index.is_unique for c in columns.values()):
        return {}
    found = {name: column.unstack(sort=False) for name, column in columns.items()}
    full = all(min(t.shape) > 1 and t.notna().to_numpy().all() for t in found.values())
    return found if full else {}


def draw_bars(ax: Axes, columns: dict[str, pd.Series]) -> None:
    """One group of bars per number of a decision."""
    first = next(iter(columns.values()))
    width, place = 0.8 / len(columns), np.arange(len(first))
    for number, (name, column) in enumerate(columns.items()):
        at = place + width * (number - (len(columns) - 1) / 2)
        if place.size <= MOST_BARS:
            ax.bar(at, column, 0.95 * width, color=SHADES[name], label=name)
        else:
            ax.vlines(at, 0.0, column, color=SHADES[name], linewidth=0.8, label=name)
    ax.axhline(0.0, color=style.INK, linewidth=0.8)
    ax.set_ylabel(str(first.name))
    name_places(ax, first.index.tolist())


def draw_tables(figure: Figure, axes: list[Axes], tables: dict[str, pd.DataFrame]) -> None:
    """Maps with one scale."""
    cells = np.concatenate([table.to_numpy().ravel() for table in tables.values()])
    top = float(np.abs(cells).max()) or 1.0
    signed = bool((cells < 0).any())
    options = {"cmap": "RdBu", "vmin": -top} if signed else {"cmap": "viridis", "vmin": 0.0}
    image: Any = None
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        ax.grid(visible=False)
        image = ax.imshow(table.to_numpy(), aspect="auto", vmax=top, **options)
        for axis, labels in ((ax.xaxis, table.columns), (ax.yaxis, table.index)):
            if len(labels) <= MOST_NAMES:
                axis.set_ticks(range(len(labels)), [shown(label) for label in labels], fontsize=8)
            axis.set_label_text("" if labels.name is None else str(labels.name))
        ax.set_title(name, loc="left", fontsize=9)
    figure.colorbar(image, ax=axes)
