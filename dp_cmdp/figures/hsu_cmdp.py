"""How far Hsu's answers on a CMDP are from being policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, explain, log_numbers, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@door
def hsu_cmdp_figure(
    rows: Sequence[dict[str, Any]], *, converged: float, ax: Axes | None = None
) -> Figure:
    """Missed balance (median and least) against ε, with what counts as `converged`.

    Parameters
    ----------
    rows : sequence of dict
        Of ``dp-cmdp reproduce hsu-cmdp``.
    converged : float
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    **Privacy.** *Public*: the databases of the study are invented.

    Examples
    --------
    >>> from dp_cmdp.figures import hsu_cmdp_figure
    >>> row = {"epsilon": 1.0, "balance_missed_median": 3.0, "balance_missed_least": 2.0}
    >>> hsu_cmdp_figure([row], converged=0.01).axes[0].get_yscale()
    'log'
    """
    figure, place = on_axes(ax, 6.5, 4.2)
    eps = [row["epsilon"] for row in rows]
    colour = COLOURS["hsu2014"]
    place.plot(eps, [r["balance_missed_median"] for r in rows], "o-", color=colour, label="median")
    place.plot(
        eps, [r["balance_missed_least"] for r in rows], "s--", color=colour, label="best draw"
    )
    bottom = converged / 4  # enough to see that nothing is there
    place.axhspan(bottom, converged, color="#d1fae5", label="would count as converged")
    log_numbers(place)
    place.set(xscale="log", ylim=(bottom, None))
    place.set_xticks(eps, [f"{epsilon:g}" for epsilon in eps])
    place.minorticks_off()
    place.set_xlabel("privacy strength ε (δ = 0.1)")
    place.set_ylabel("balance equations missed, Σ|residual|")
    place.set_title("Hsu 2014 on the hazard grid does not converge", loc="left")
    explain(figure, place, given=ax is not None, columns=3)
    return figure
