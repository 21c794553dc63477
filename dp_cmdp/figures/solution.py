"""The answer of a linear program, variable by variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.data.to_frame import shown
from dp_cmdp.figures.release import name_places
from dp_cmdp.figures.style import COLOURS, INK, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.program.linear_program import Solution

#: Tables with more rows or columns are drawn without their names.
MOST_NAMES = 40


@door
def solution_figure(solution: Solution, *, ax: Axes | None = None) -> Figure:
    """x as bars or, where labels have two levels that form a table, as a map with its scale.

    Parameters
    ----------
    solution : Solution
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    **Privacy.** *Post-processing* of the program; curator only when that was built from true data.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> from dp_cmdp.figures import solution_figure
    >>> figure = solution_figure(solve(LinearProgram([3.0, 2.0], A=[[1.0, 1.0]], b=[4.0])))
    >>> [float(bar.get_height()) for bar in figure.axes[0].patches]
    [4.0, 0.0]
    """
    frame = solution.to_frame()
    levels = frame.index.nlevels
    table = frame["x"].unstack(sort=False) if levels == 2 and frame.index.is_unique else None
    figure, ax = on_axes(ax, 7.0 if table is None else 6.0, 4.2)
    if table is not None and table.notna().to_numpy().all():
        _draw_table(figure, ax, table)
    else:
        place = np.arange(len(frame))
        ax.bar(place, frame["x"], 0.7, color=COLOURS["planned"])
        ax.axhline(0.0, color=INK, linewidth=0.8)
        ax.set_ylabel("x")
        name_places(ax, frame.index, len(frame))
    proof = solution.certificate
    word = "not certified" if proof is None else "proved" if proof.verified else "NOT PROVED"
    text = "" if proof is None else "every row holds: "
    ax.set_title(f"objective {solution.objective:.6g}, {text}{word}", loc="left", fontsize=10)
    return figure


def _draw_table(figure: Figure, ax: Axes, table: Any) -> None:
    ax.grid(visible=False)
    top = float(np.abs(table.to_numpy()).max()) or 1.0
    signed = bool((table.to_numpy() < 0).any())
    look = {"cmap": "RdBu", "vmin": -top} if signed else {"cmap": "viridis", "vmin": 0.0}
    image = ax.imshow(table.to_numpy(), aspect="auto", vmax=top, **look)
    for axis, labels in ((ax.xaxis, table.columns), (ax.yaxis, table.index)):
        if len(labels) <= MOST_NAMES:
            axis.set_ticks(range(len(labels)), [shown(label) for label in labels], fontsize=8)
        axis.set_label_text("" if labels.name is None else str(labels.name))
    figure.colorbar(image, ax=ax, label="x")
