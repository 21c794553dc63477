"""Policies on their grids, with what was released for them and what is proved about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.grid_map import (
    cell_side,
    draw_hazards,
    draw_policy,
    map_legend,
    visits_bar,
)
from dp_cmdp.figures.grid_view import GridView, policy_view
from dp_cmdp.figures.proof import draw_costs, draw_values
from dp_cmdp.figures.severities import (
    MOST_TOTALS,
    cleared_cells,
    draw_severities,
    draw_totals,
    tells_cells,
)
from dp_cmdp.figures.style import column_beside, heading, new_figure, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.cmdp.private_policy import PrivatePolicy
    from dp_cmdp.cmdp.synthesis import SafePolicy
    from dp_cmdp.data.release import Release
    from dp_cmdp.envs.layout import Layout
    from dp_cmdp.frontends.private_costs import TabularCMDP
    from dp_cmdp.frontends.tabular import TabularModel

#: Names of the panels of a comparison, for two policies and for three.
PANELS = {2: ("private", "no privacy"), 3: ("private", "robust, no data", "no privacy")}
#: Width of what is told beside a map, in inches; and what each of its panels needs in height,
#: beside the heights themselves, for title, numbers and legend.
FACTS_WIDTH, PANEL_HEIGHT = 4.8, 0.85


@dataclass(frozen=True, slots=True)
class _Shown:
    """A policy with all that is known about it."""

    policy: Policy
    safe: SafePolicy | None = None
    robust: SafePolicy | None = None
    release: Release | None = None

    @classmethod
    def of(cls, given: Any, robust: SafePolicy | None, release: Release | None) -> _Shown:
        if isinstance(given, Policy):
            return cls(given, None, robust, release)
        if hasattr(given, "safe"):
            return cls(given.safe.policy, given.safe, given.robust, given.release)
        return cls(given.policy, given, robust, release)


@door
def policy_figure(
    policy: Policy | SafePolicy | PrivatePolicy,
    *,
    occupancy: ArrayLike | None = None,
    layout: Layout | TabularModel | TabularCMDP,
    title: str | None = None,
    release: Release | None = None,
    robust: SafePolicy | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The public picture of one policy: its map and, beside it, what is known about it.

    Parameters
    ----------
    policy : Policy, SafePolicy or PrivatePolicy
        Of a SafePolicy its value, and its costs against their tolerances, are shown too; of a
        PrivatePolicy also its release and the value of the robust policy.
    occupancy : (num_states, num_actions), optional
        Discounted visits; by default ``layout.occupancy(policy)``.
    layout : Layout, TabularModel or TabularCMDP
        A hazard grid, or any imported environment whose states lie in a grid
        (``model.cells``). Where a cell has several states, arrows show where it is left to.
    title : str, optional
        By default what the release guarantees.
    release : Release, optional
        What the policy was made from, when it does not say so itself.
    robust : SafePolicy, optional
        The policy that needs no data, when `policy` does not hold it.
    ax : matplotlib Axes, optional
        Where to draw the map alone; a new figure otherwise.

    Notes
    -----
    The worst that the release leaves possible decides: a candidate is hatched with lines where
    its interval reaches the public upper bound, with dots where it does not.
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import PrivacyBudget, release_and_synthesize
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> from dp_cmdp.figures import policy_figure
    >>> curator = HazardGridEnv("corridor", access="curator")
    >>> private = release_and_synthesize(
    ...     curator.model(),
    ...     curator.database(),
    ...     PrivacyBudget(2, "1/1000"),
    ...     rng=np.random.default_rng(0),  # a simulation: leave it out for exact noise
    ... )
    >>> figure = policy_figure(private, layout=curator.layout)
    >>> [ax.get_title(loc="left") for ax in figure.axes][-1]
    'value (discounted reward)'
    """
    shown = _Shown.of(policy, robust, release)
    visits = layout.occupancy(shown.policy) if occupancy is None else occupancy
    view = policy_view(layout, shown.policy, visits)
    cleared = () if shown.release is None else cleared_cells(shown.release, view)
    text = _title(shown) if title is None else title
    if ax is not None:
        figure, ax = on_axes(ax)
        draw_policy(ax, view, title=text, cleared=cleared)
        return figure
    names = getattr(layout, "names", None) or tuple(view.kinds)
    parts = _parts(shown, view, names)
    figure, main, beside = _axes(view, parts)
    numbers = shown.release is not None and tells_cells(shown.release, view)
    image = draw_policy(main, view, title=text, cleared=cleared, numbers=numbers)
    for place, (_, draw) in zip(beside, parts, strict=True):
        draw(place)
    visits_bar(figure, image, main)
    handles = map_legend(view, cleared=bool(cleared), numbers=numbers)
    wide = figure.get_figwidth() > 7.0
    _legend(figure, handles, columns=3 if wide else 2 if view.cols > 6 else 1)
    return figure


def _title(shown: _Shown) -> str:
    if shown.release is not None:
        return f"private policy, {shown.release.guarantee.budget}"
    return "policy" if shown.safe is None else "safe policy"


def _parts(shown: _Shown, view: GridView, names: Sequence[str]) -> list[tuple[float, Any]]:
    """What is told beside the map: heights, and what draws on given axes."""
    parts: list[tuple[float, Any]] = []
    release, safe, robust = shown.release, shown.safe, shown.robust
    if release is not None:
        parts.append((1.6, lambda ax: draw_severities(ax, release, view)))
        if release.totals is not None:
            height = 0.15 + 0.2 * min(len(release.totals), MOST_TOTALS)
            parts.append((height, lambda ax: draw_totals(ax, release)))
    if safe is not None:
        height = 0.25 + 0.2 * safe.certificate.tolerance.size
        parts.append((height, lambda ax: draw_costs(ax, safe, names=names)))
        parts.append((0.65, lambda ax: draw_values(ax, safe, robust)))
    return parts


def _axes(view: GridView, parts: list[Any]) -> tuple[Figure, Axes, list[Axes]]:
    """A figure with axes for the map and, to its right, one below the other for all else."""
    cell = cell_side(view)
    width, height = cell * view.cols + 2.0, cell * view.rows + 1.7
    if not parts:
        return *new_figure(width, height), []
    return column_beside(
        width,
        max(height, 0.6 + sum(PANEL_HEIGHT + part for part, _ in parts)),
        beside=FACTS_WIDTH,
        heights=[part for part, _ in parts],
    )


def _legend(figure: Figure, handles: list[Any], *, columns: int) -> None:
    place = {"loc": "outside lower left", "fontsize": 8, "frameon": False}
    figure.legend(handles=handles, ncols=columns, **place)


@door
def comparison_figure(
    policies: Sequence[Policy],
    *,
    occupancies: Sequence[ArrayLike],
    layout: Layout,
    severity: ArrayLike,
    title: str,
    values: Sequence[float] | None = None,
) -> Figure:
    """Private beside non-private, with the true hazards: *curator only*.

    Parameters
    ----------
    policies : (Policy, Policy) or (Policy, Policy, Policy)
        The private one, the robust one (if there are three), and the one without privacy.
    occupancies : as many (num_states, num_actions)
        Theirs.
    layout : Layout
    severity : (num_kinds, num_states)
        True severities, drawn as red frames.
    title : str
    values : as many float, optional
        What the policies earn, for the titles of their panels.

    Notes
    -----
    **Privacy.** *Curator only*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import Policy
    >>> from dp_cmdp.envs import named_layout
    >>> from dp_cmdp.figures import comparison_figure
    >>> layout = named_layout("corridor")
    >>> right = Policy.deterministic(np.full(layout.num_cells, 2), 4)
    >>> severity = np.zeros((layout.num_kinds, layout.num_cells))
    >>> severity[0, layout.candidates[0]] = 1.0  # invented
    >>> figure = comparison_figure(
    ...     [right, right],
    ...     occupancies=[layout.occupancy(right)] * 2,
    ...     layout=layout,
    ...     severity=severity,
    ...     title="invented hazards",
    ... )
    >>> figure.get_suptitle()
    'invented hazards   CURATOR ONLY'
    """
    rings = _check.array("severity", severity)
    if rings.shape != (layout.num_kinds, layout.num_cells):
        raise InvalidArgumentError("severity must have one row per kind, one column per cell")
    drawn = _check.items("policies", policies)
    measures = _check.items("occupancies", occupancies)
    worth = [None] * len(drawn) if values is None else _check.items("values", values)
    fits = len(drawn) == len(measures) == len(worth) and len(drawn) in PANELS
    if not fits or not all(isinstance(p, Policy) for p in drawn):
        raise InvalidArgumentError(
            "policies must be two (private, without privacy) or three (robust between them), and "
            "occupancies and values as many"
        )
    views = [policy_view(layout, p, x) for p, x in zip(drawn, measures, strict=True)]
    cell = cell_side(views[0])
    size = len(views) * (cell * layout.cols + 0.3) + 1.4, cell * layout.rows + 1.7
    figure, axes = new_figure(*size, ncols=len(views))
    images = []
    for ax, view, name, value in zip(axes, views, PANELS[len(views)], worth, strict=True):
        told = name if value is None else f"{name}: value {_check.number('values', value):.4g}"
        images.append(draw_policy(ax, view, title=told))
        draw_hazards(ax, view, rings)
    hottest = max(images, key=lambda image: image.get_clim()[1])
    for image in images:
        image.set_clim(hottest.get_clim())
    visits_bar(figure, hottest, axes[-1])
    columns = 4 if size[0] > 11.0 else 3 if size[0] > 8.0 else 2
    _legend(figure, map_legend(*views, hazards=True), columns=columns)
    heading(figure, f"{title}   CURATOR ONLY")
    return figure
