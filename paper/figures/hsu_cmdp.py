"""How far Hsu's answers on a CMDP are from being policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import COLOURS, legend_below, log_numbers, new_figure
from paper.studies.hsu_cmdp import CONVERGED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def hsu_cmdp_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Missed balance (median and least) against ε, with what counts as converged."""
    figure, place = new_figure(6.5, 4.2)
    eps = [row["epsilon"] for row in rows]
    colour = COLOURS["hsu2014"]
    place.plot(eps, [r["balance_missed_median"] for r in rows], "o-", color=colour, label="median")
    place.plot(
        eps, [r["balance_missed_least"] for r in rows], "s--", color=colour, label="best draw"
    )
    bottom = CONVERGED / 4  # enough to see that nothing is there
    place.axhspan(bottom, CONVERGED, color="#d1fae5", label="would count as converged")
    log_numbers(place)
    place.set(xscale="log", ylim=(bottom, None))
    place.set_xticks(eps, [f"{epsilon:g}" for epsilon in eps])
    place.minorticks_off()
    place.set_xlabel("privacy strength ε (δ = 0.1)")
    place.set_ylabel("balance equations missed, Σ|residual|")
    place.set_title("Hsu 2014 on the hazard grid does not converge", loc="left")
    legend_below(figure, place, columns=3)
    return figure
