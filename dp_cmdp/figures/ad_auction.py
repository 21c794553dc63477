"""Pictures of the ad auction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.bands import colour, curve, stated
from dp_cmdp.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Numbers the paper states (``sec:sim``, ``subsec:priv_budget``): ε, percent, α_c.
PAPER = ((1.0, 28.25, "α = 1/3"), (1.0, 16.88, "α_c = 0.99"), (2.0, 20.0, ""))


@door
def ad_headline_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Sub-optimality against ε for each method, with the paper's stated numbers."""
    figure, ax = new_figure()
    for method in ("benvenuti2025", "benvenuti2025-realised-mask", "database", "planned"):
        part = [r for r in rows if r["method"] == method and (r["alpha"] or 0) < 0.9]
        curve(ax, part, method=method, over="epsilon")
    ax.set_xscale("log", base=2)
    ax.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    stated(ax, PAPER)
    for row in rows:
        if row["method"].endswith("realised-mask") and (row["alpha"] or 0) > 0.9:
            place = row["epsilon"], row["suboptimality_percent"]
            ax.plot(*place, "s", color=colour(row["method"]), markersize=5)
    ax.set_ylim(bottom=0)
    ax.set(
        xlabel="privacy strength ε (δ = 0.1; smaller is more private)",
        ylabel="sub-optimality (%)",
    )
    ax.set_title("Ad auction: what privacy with certain feasibility costs", loc="left")
    ax.legend(frameon=False)
    return figure


@door
def allocation_figure(allocations: Mapping[str, ArrayLike], *, title: str) -> Figure:
    """Named allocations (groups × advertisers, in visits) side by side.

    Notes
    -----
    **Privacy.** *Post-processing* of allocations solved from a release; curator only otherwise.
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
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure
