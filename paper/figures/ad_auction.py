"""Pictures of the ad auction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.bands import curve, stated
from paper.figures.style import NAMES, colour, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Numbers the paper states (``sec:sim``, ``subsec:priv_budget``): ε and percent; the lower one at
#: ε = 1 is for α_c = 0.99.
PAPER = ((1.0, 28.25), (1.0, 16.88), (2.0, 20.0))
METHODS = ("benvenuti2025", "benvenuti2025-realised-mask", "database", "planned")


def ad_headline_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Sub-optimality against ε for each method, with the paper's stated numbers."""
    figure, place = new_figure(7.4, 4.8)
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
    legend_below(figure, place, columns=2)
    return figure
