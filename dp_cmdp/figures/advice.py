"""The adviser's trade-off, with the useful region marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dp_cmdp._door import door
from dp_cmdp.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.advice.report import Advice, AdviceRow

PALETTE = ("#00734d", "#c2410c", "#1d4ed8", "#7c3aed", "#a16207", "#be185d")

#: Shares below this are drawn here.
FLOOR = -0.5


@door
def advice_figure(advice: Advice) -> Figure:
    """What a release wins back (bars: confidence intervals), and how many intervals saturate.

    Parameters
    ----------
    advice : Advice
        From :func:`dp_cmdp.advice.adviser.advise`.

    Notes
    -----
    **Privacy.** *Public*.
    """
    figure, axes = new_figure(9.0, 4.0, ncols=2)
    won, full = axes
    lowest = min([0.0, *(row.recovered_low for row in advice.rows)])
    won.axhspan(advice.worth, 1.0, color="#d1fae5", alpha=0.6, linewidth=0)
    won.annotate(
        "useful", (0.02, 0.94), xycoords="axes fraction", ha="left", va="top", color="#00734d"
    )
    for colour, (name, rows) in zip(PALETTE * 9, _curves(advice).items(), strict=False):
        eps = [row.epsilon for row in rows]
        won.plot(eps, [max(row.recovered, FLOOR) for row in rows], "o-", color=colour, label=name)
        ends = [(max(row.recovered_low, FLOOR), row.recovered_high) for row in rows]
        won.vlines(eps, *zip(*ends, strict=True), color=colour, linewidth=1.0, alpha=0.6)
        full.plot(eps, [row.saturation_harmless for row in rows], "o-", color=colour, label=name)
        full.plot(eps, [row.saturation_middle for row in rows], "--", color=colour)
    first, last = min(row.epsilon for row in advice.rows), max(row.epsilon for row in advice.rows)
    for part in advice.thresholds:
        if part.epsilon is not None and first <= part.epsilon <= last:
            won.axvline(part.epsilon, color="#9ca3af", linewidth=0.8, linestyle=":")
    won.set_ylim(max(lowest, FLOOR) - 0.03, 1.03)
    won.set_ylabel("share of the robust answer's loss won back")
    full.set(ylim=(-0.03, 1.03), ylabel="expected saturation")
    full.set_title("solid: harmless entries, dashed: entries in the middle", fontsize=9, loc="left")
    title = {
        True: "worth its budget in the shaded part",
        False: "not worth its budget",
        None: "undecided: more trials are needed",
    }[advice.worthwhile]
    won.set_title(title, fontsize=10, loc="left")
    for ax in axes:
        _epsilon_axis(ax, advice)
    figure.legend(
        *won.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _curves(advice: Advice) -> dict[str, list[AdviceRow]]:
    """Rows by δ and radius, in order of ε."""
    found: dict[str, list[AdviceRow]] = {}
    for row in sorted(advice.rows, key=lambda row: row.epsilon):
        found.setdefault(f"δ = {row.delta:g}, radius ×{row.radius:g}", []).append(row)
    return found


def _epsilon_axis(ax: Axes, advice: Advice) -> None:
    ticks = sorted({row.epsilon for row in advice.rows})
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_xlabel("ε (smaller is more private)")
