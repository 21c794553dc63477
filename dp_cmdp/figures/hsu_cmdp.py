"""How far Hsu's answers on a CMDP are from being policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@door
def hsu_cmdp_figure(rows: Sequence[dict[str, Any]], *, converged: float) -> Figure:
    """Missed balance (median and least) against ε, with what counts as `converged`."""
    figure, ax = new_figure(6.5, 3.8)
    eps = [row["epsilon"] for row in rows]
    colour = COLOURS["hsu2014"]
    ax.plot(eps, [r["balance_missed_median"] for r in rows], "o-", color=colour, label="median")
    ax.plot(eps, [r["balance_missed_least"] for r in rows], "s--", color=colour, label="best draw")
    ax.axhspan(1e-4, converged, color="#bbf7d0", label="would count as converged")
    ax.set(xscale="log", yscale="log", ylim=(1e-4, None), xlabel="privacy strength ε (δ = 0.1)")
    ax.set_ylabel("balance equations missed, Σ|residual|")
    ax.set_title("Hsu 2014 on the hazard grid does not converge", loc="left")
    ax.legend(frameon=False)
    return figure
