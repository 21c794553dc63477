"""The idea of the package in one picture: private data, public facts, certified answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle

from dp_cmdp._door import door
from dp_cmdp.data.to_frame import entries_frame
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.grid_map import GOAL, WALL, draw_ends, draw_walk
from dp_cmdp.figures.grid_view import GridView, policy_view
from dp_cmdp.figures.style import COLOURS, GUIDE, INK, PUBLIC, blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.cmdp.private_policy import PrivatePolicy
    from dp_cmdp.envs.layout import Layout

SECRET, FACTS, ANSWER = COLOURS["robust"], COLOURS["database"], COLOURS["planned"]
SIZE = (8.6, 3.9)
SENTENCE = (
    "Release the private numbers once, as linear facts that are certainly true of them;\n"
    "everything after that is ordinary robust optimisation on public data."
)
#: Left ends, width, bottom and height of the three maps, in shares of the figure.
PANELS, WIDTH, BOTTOM, HEIGHT = (0.015, 0.375, 0.735), 0.25, 0.215, 0.5

BUTT: Any = {"solid_capstyle": "butt", "zorder": 2}
#: Entries that weigh less than this share of the heaviest are not framed.
TOLD = 0.2


@door
def idea_figure(private: PrivatePolicy, *, layout: Layout) -> Figure:
    """Hidden hazards, what was released of them over the same map, and the certified policy.

    Parameters
    ----------
    private : PrivatePolicy
        Made from a release of the database: its intervals and totals are drawn.
    layout : Layout
        Its grid; a small one with one kind of hazard shows most.

    Notes
    -----
    The picture of the README: ``python examples/idea.py --out docs``.
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> from dp_cmdp.figures import idea_figure
    >>> curator = HazardGridEnv("corridor", access="curator")
    >>> model, database = curator.model(), curator.database()
    >>> private = dp.release_and_synthesize(model, database, dp.PrivacyBudget(2, "1/1000"))
    >>> len(idea_figure(private, layout=curator.layout).axes)
    3
    """
    if layout.num_kinds != 1:
        raise InvalidArgumentError(
            f"layout must have one kind of hazard to be drawn so, not {layout.num_kinds}"
        )
    view = policy_view(layout, private.safe.policy, layout.occupancy(private.safe.policy))
    figure = blank_figure(*SIZE)
    figure.set_layout_engine("none")
    axes = [figure.add_axes((left, BOTTOM, WIDTH, HEIGHT)) for left in PANELS]
    budget = private.release.guarantee.budget
    drawn = (
        (
            "1  private data",
            SECRET,
            _draw_secret,
            ("how bad each “?” is, only", "its curator knows"),
        ),
        ("2  public facts", FACTS, _draw_facts, _facts(private)),
        ("3  certified answer", ANSWER, _draw_answer, _proof(private)),
    )
    for ax, (title, shade, draw, lines) in zip(axes, drawn, strict=True):
        _map(ax, view)
        draw(ax, view, private)
        ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=shade, pad=7)
        for number, text in enumerate(lines):
            place = (0.0, -0.06 - 0.125 * number)
            ax.text(*place, text, transform=ax.transAxes, fontsize=9, color=INK, va="top")
    _step(figure, axes[0], axes[1], f"release\nonce\n{_strength(budget)}")
    _step(figure, axes[1], axes[2], "robust\nprogram")
    _boundary(figure)
    figure.text(0.015, 0.975, SENTENCE, fontsize=10, color=INK, va="top", linespacing=1.4)
    return figure


def _strength(budget: Any) -> str:
    return f"ε = {float(budget.epsilon):g}\nδ = {float(budget.delta):g}"


def _map(ax: Axes, view: GridView) -> None:
    """Cells, walls, start and goal."""
    ax.set(xlim=(-0.5, view.cols - 0.5), ylim=(view.rows - 0.5, -0.5), aspect="equal", anchor="NW")
    ax.set_xticks([])
    ax.set_yticks([])
    looks = dict.fromkeys(view.walls, WALL) | dict.fromkeys(view.goals, GOAL)
    for cell in range(view.rows * view.cols):
        row, col = divmod(cell, view.cols)
        shade = looks.get(cell, "white")
        look = {"facecolor": shade, "edgecolor": PUBLIC, "linewidth": 0.8, "zorder": 0}
        ax.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, **look))
    draw_ends(ax, view, size=1.1)


def _draw_secret(ax: Axes, view: GridView, private: PrivatePolicy) -> None:
    for cell in view.candidates:
        row, col = divmod(cell, view.cols)
        look = {"facecolor": SECRET, "edgecolor": "white", "linewidth": 1.0, "zorder": 1}
        ax.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, **look))
        look = {"color": "white", "fontsize": 13, "fontweight": "bold"}
        ax.text(col, row, "?", ha="center", va="center", zorder=2, **look)


def _draw_facts(ax: Axes, view: GridView, private: PrivatePolicy) -> None:
    """In each candidate a bar of its public bounds, and the released interval on it."""
    frame = entries_frame(private.release, "severity")
    low, high = frame["public_lower"].to_numpy(), frame["public_upper"].to_numpy()
    ends = (frame[["lower", "upper"]].to_numpy() - low[:, None]) / (high - low)[:, None]
    for cell, shares in zip(view.entries["severity"], ends, strict=True):
        row, col = divmod(cell, view.cols)
        ax.plot([col] * 2, [row + 0.38, row - 0.38], color=PUBLIC, linewidth=9, **BUTT)
        ax.plot([col] * 2, row + 0.38 - 0.76 * shares, color=FACTS, linewidth=9, **BUTT)
    if private.release.totals is not None:
        weights = np.abs(private.release.totals.W.toarray()[0][: len(frame)])
        for cell, weight in zip(view.entries["severity"], weights, strict=True):
            if weight > TOLD * weights.max():
                row, col = divmod(cell, view.cols)
                look = {"fill": False, "edgecolor": COLOURS["totals"], "linewidth": 2.4}
                ax.add_patch(Rectangle((col - 0.46, row - 0.46), 0.92, 0.92, zorder=4, **look))


def _draw_answer(ax: Axes, view: GridView, private: PrivatePolicy) -> None:
    frame = ax.get_xlim(), ax.get_ylim()
    draw_walk(ax, view, top=2.0, line=3.0, zorder=0.5, alpha=0.8)
    ax.set(xlim=frame[0], ylim=frame[1], anchor="NW")


def _facts(private: PrivatePolicy) -> tuple[str, ...]:
    if private.release.totals is None:
        return ("an interval for each number,", "certain to hold it")
    return (
        "an interval for each number,",
        "a bound on a weighted total (framed):",
        "certainly true",
    )


def _proof(private: PrivatePolicy) -> tuple[str, ...]:
    proved = "proved safe" if private.safe.certificate.verified else "NOT PROVED safe"
    value, robust = private.safe.value, private.robust.value
    return (
        f"{proved} for all that the facts",
        "allow, so for the truth. It earns",
        f"{value:.2f}; with no data at all, {robust:.2f}",
        "(line: path; blue: often there)",
    )


def _step(figure: Figure, left: Axes, right: Axes, text: str) -> None:
    """An arrow from one map to the next, and what is done there."""
    start, end = left.get_position().x1, right.get_position().x0
    level = BOTTOM + 0.5 * HEIGHT
    look = {"arrowstyle": "-|>", "mutation_scale": 16, "linewidth": 2.4, "color": INK}
    arrow = FancyArrowPatch(
        (start + 0.012, level), (end - 0.008, level), transform=figure.transFigure, **look
    )
    figure.add_artist(arrow)
    middle = (start + end) / 2
    figure.text(middle, level + 0.05, text, ha="center", va="bottom", fontsize=8.5, color=INK)


def _boundary(figure: Figure) -> None:
    """What is left of this line stays there."""
    at = PANELS[0] + WIDTH + 0.006
    line = Line2D([at, at], [0.02, 0.8], transform=figure.transFigure, color=GUIDE)
    line.set_linestyle((0, (4, 3)))
    figure.add_artist(line)
    figure.text(at - 0.008, 0.02, "nothing private passes", ha="right", fontsize=8, color=INK)
