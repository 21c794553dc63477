"""Pictures of the ad auction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.bands import curve, stated
from dp_cmdp.figures.style import NAMES, colour, explain, heading, new_figure, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Numbers the paper states (``sec:sim``, ``subsec:priv_budget``): ε and percent; the lower one at
#: ε = 1 is for α_c = 0.99.
PAPER = ((1.0, 28.25), (1.0, 16.88), (2.0, 20.0))
METHODS = ("benvenuti2025", "benvenuti2025-realised-mask", "database", "planned")


@door
def ad_headline_figure(rows: Sequence[dict[str, Any]], *, ax: Axes | None = None) -> Figure:
    """Sub-optimality against ε for each method, with the paper's stated numbers.

    Parameters
    ----------
    rows : sequence of dict
        Of ``dp-cmdp reproduce ad-headline``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    **Privacy.** *Public*: the databases of the study are invented.

    Examples
    --------
    >>> from dp_cmdp.figures import ad_headline_figure
    >>> row = {"method": "database", "alpha": None, "ci_low": 13.1, "ci_high": 14.1}
    >>> row |= {"epsilon": 1.0, "suboptimality_percent": 13.6}
    >>> ad_headline_figure([row]).axes[0].get_ylabel()
    'sub-optimality (%)'
    """
    figure, place = on_axes(ax, 7.4, 4.8)
    for method in METHODS:
        part = [r for r in rows if r["method"] == method and (r["alpha"] or 0) < 0.9]
        if part:
            curve(place, part, method=method, over="epsilon")
    split = [r for r in rows if r["method"] == METHODS[1] and (r["alpha"] or 0) > 0.9]
    if split:
        at, lost = zip(*((r["epsilon"], r["suboptimality_percent"]) for r in split), strict=True)
        # large enough to be seen around a cross
        look = {"color": colour(METHODS[1]), "markersize": 15, "linestyle": "none"}
        place.plot(at, lost, marker="*", label=f"{NAMES[METHODS[1]]}, α_c = 0.99", **look)
    stated(place, PAPER, "28.25 and, for α_c = 0.99, 16.88 % at ε = 1; 20 % at ε = 2")
    place.set_xscale("log", base=2)
    place.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    place.set_ylim(bottom=0)
    place.set_xlabel("privacy strength ε (δ = 0.1; smaller is more private)")
    place.set_ylabel("sub-optimality (%)")
    place.set_title("Ad auction: what privacy with certain feasibility costs", loc="left")
    explain(figure, place, given=ax is not None, columns=2)
    return figure


@door
def allocation_figure(allocations: Mapping[str, ArrayLike], *, title: str) -> Figure:
    """Named allocations (groups × advertisers, in visits) side by side.

    Notes
    -----
    **Privacy.** *Post-processing* of allocations solved from a release; curator only otherwise.

    Examples
    --------
    >>> from dp_cmdp.figures import allocation_figure
    >>> figure = allocation_figure({"private": [[1.0, 0.0], [0.0, 2.0]]}, title="two groups")
    >>> figure.axes[0].get_xlabel()
    'advertiser'
    """
    tables = {name: _check.array("allocations", table) for name, table in allocations.items()}
    shapes = {table.shape for table in tables.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or 0 in shape:
        raise InvalidArgumentError("allocations must be tables of one shape, groups × advertisers")
    count = len(tables)
    figure, grid = new_figure(1.5 + 3.25 * count, 3.6, ncols=count, sharey=True, squeeze=False)
    axes = grid[0]
    top = max(table.max() for table in tables.values())
    images = []
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        ax.grid(False)
        images.append(ax.imshow(table, cmap="viridis", vmin=0, vmax=top, aspect="auto"))
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_xlabel("advertiser")
        ax.set_xticks(range(table.shape[1]))
        ax.set_yticks(range(table.shape[0]))
    axes[0].set_ylabel("group of pages")
    figure.colorbar(images[-1], ax=axes, label="visits sold")
    heading(figure, title)
    return figure
