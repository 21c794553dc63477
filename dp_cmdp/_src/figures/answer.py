"""Answers: policies on their grids; decisions as bars, or as maps of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.figures.policy import maps_figure, policy_figure
from dp_cmdp._src.figures.proof import draw_values, statement
from dp_cmdp._src.figures.release import name_places, shown
from dp_cmdp._src.figures.style import (
    CURATOR_ONLY,
    INK,
    NONPRIVATE,
    PER_INCH,
    PRIVATE,
    ROBUST,
    column_beside,
    describe,
    heading,
    legend_below,
    new_figure,
)
from dp_cmdp._src.figures.view import Places

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Tables with more rows or columns are drawn without their names; more bars are drawn as lines.
MOST_NAMES, MOST_BARS = 40, 300
THIS, NO_DATA, NO_PRIVACY = "this answer", "robust, no data", "no privacy"
SHADES = {THIS: PRIVATE, NO_DATA: ROBUST, NO_PRIVACY: NONPRIVATE}


def answer_figure(found: Any) -> Figure:
    """An answer and what is proved of it, the robust answer beside it."""
    if isinstance(found, PolicyAnswer):
        return policy_figure(found)
    columns = _columns({THIS: found} if found.source == "robust" else
                       {THIS: found, NO_DATA: found.robust})  # fmt: skip
    tables = _tables(columns)
    if tables or not columns:
        height = 1.4 if not tables else 1.9 + 0.25 * min(len(next(iter(tables.values()))), 16)
        figure = _tables_figure(tables, found, height + 1.5)
    else:
        figure, main, (side,) = column_beside(6.4, 4.4, beside=3.6, heights=[1.0])
        draw_bars(main, columns)
        main.set_title(statement(found, int(6.0 * PER_INCH)), loc="left", fontsize=10)
        draw_values(side, found)
        if len(columns) > 1:
            legend_below(figure, main, columns=2)
    describe(figure, found.release)
    return figure


def _tables_figure(tables: dict[str, Any], found: Any, height: float) -> Figure:
    """Maps of the decision and the robust one, and values below them."""
    if not tables:
        figure, ax = new_figure(7.0, height)
        draw_values(ax, found)
        ax.set_title(statement(found), loc="left", fontsize=10)
        return figure
    figure, axes = new_figure(
        3.2 + 3.4 * len(tables), height, nrows=2, ncols=len(tables), squeeze=False,
        height_ratios=(height - 1.8, 0.7),
    )  # fmt: skip
    draw_tables(figure, list(axes[0]), tables)
    first = axes[0, 0]
    first.set_title(
        f"{statement(found, 90)}\n{first.get_title(loc='left')}", loc="left", fontsize=9
    )
    draw_values(axes[1, 0], found)
    for ax in axes[1, 1:]:
        ax.set_visible(False)
    return figure


def _columns(answers: dict[str, Any]) -> dict[str, pd.Series]:
    """The decisions as columns; none of a kind of answer that is no table."""
    try:
        return {name: found.to_frame().iloc[:, 0] for name, found in answers.items()}
    except NotImplementedError:
        return {}


def _tables(columns: dict[str, pd.Series]) -> dict[str, pd.DataFrame]:
    """The columns as tables, where their labels have two levels that form one."""
    found = {}
    for name, column in columns.items():
        index = column.index
        if index.nlevels != 2 or not index.is_unique:
            return {}
        found[name] = column.unstack(sort=False)
        if found[name].isna().to_numpy().any() or min(found[name].shape) < 2:
            return {}
    return found


def draw_bars(ax: Axes, columns: dict[str, pd.Series]) -> None:
    """One group of bars per number of a decision."""
    width, count = 0.8 / len(columns), len(next(iter(columns.values())))
    for number, (name, column) in enumerate(columns.items()):
        place = np.arange(count) + width * (number - (len(columns) - 1) / 2)
        if count <= MOST_BARS:
            ax.bar(place, column, 0.95 * width, color=SHADES[name], label=name)
        else:
            ax.vlines(place, 0.0, column, color=SHADES[name], linewidth=0.8, label=name)
    ax.axhline(0.0, color=INK, linewidth=0.8)
    first = next(iter(columns.values()))
    ax.set_ylabel(str(first.name))
    name_places(ax, first.index.tolist())


def draw_tables(figure: Figure, axes: list[Axes], tables: dict[str, pd.DataFrame]) -> None:
    """Maps with one scale."""
    cells = np.concatenate([table.to_numpy().ravel() for table in tables.values()])
    top = float(np.abs(cells).max()) or 1.0
    look: dict[str, Any] = {"cmap": "viridis", "vmin": 0.0}
    if (cells < 0).any():
        look = {"cmap": "RdBu", "vmin": -top}
    image: Any = None
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        ax.grid(visible=False)
        image = ax.imshow(table.to_numpy(), aspect="auto", vmax=top, **look)
        for axis, labels in ((ax.xaxis, table.columns), (ax.yaxis, table.index)):
            if len(labels) <= MOST_NAMES:
                axis.set_ticks(range(len(labels)), [shown(label) for label in labels], fontsize=8)
            axis.set_label_text("" if labels.name is None else str(labels.name))
        ax.set_title(name, loc="left", fontsize=9)
    figure.colorbar(image, ax=axes)


def comparison_figure(comparison: Any) -> Figure:
    """The answer, the robust one and the best one for the true data: *curator only*."""
    found, best = comparison._found, comparison._best
    answers = {THIS: found, NO_DATA: found.robust, NO_PRIVACY: best}
    if found.source == "robust":
        del answers[NO_DATA]
    title = f"Loss {comparison.loss:.2%}; violated constraints: {comparison.violated}"
    if isinstance(found, PolicyAnswer) and Places.of(found.problem) is not None:
        figure = maps_figure(answers, best.estimate, title)
    else:
        figure = _values_figure(comparison, _columns(answers), title)
    figure.set_label(CURATOR_ONLY)
    return figure


def _values_figure(comparison: Any, columns: dict[str, pd.Series], title: str) -> Figure:
    """Decisions as tables or bars; of policies without a grid, their values."""
    policy = isinstance(comparison._found, PolicyAnswer)
    tables = {} if policy else _tables(columns)
    if tables:
        figure, axes = new_figure(2.0 + 3.2 * len(tables), 4.2, ncols=len(tables))
        draw_tables(figure, list(axes), tables)
    else:
        figure, ax = new_figure(7.0, 4.4)
        worth = {THIS: comparison.value, NO_DATA: comparison.robust, NO_PRIVACY: comparison.best}
        if policy or not columns:
            shades = [SHADES[name] for name in worth]
            ax.bar(list(worth), list(worth.values()), 0.6, color=shades)
            ax.set_ylabel("value at the true data")
        else:
            draw_bars(ax, columns)
            legend_below(figure, ax, columns=3)
    heading(figure, f"{CURATOR_ONLY}. {title}", alarming=True)
    return figure
