"""The adviser's trade-off, with the useful region marked."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, GUIDE, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.advice.report import Advice, AdviceRow, Threshold

#: Colour and mark of each curve; of more curves, from the beginning again.
LOOKS = tuple(
    (COLOURS[name], sign)
    for name, sign in (
        ("database", "s"), ("benvenuti2025", "o"), ("planned", "D"),
        ("cummings2015", "^"), ("benvenuti2024", "v"), ("totals", "P"),
    )
)  # fmt: skip
USEFUL = "#d1fae5"

THRESHOLD = "from here on the estimate is worth its budget"
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

    Examples
    --------
    >>> from dp_cmdp.advice.adviser import advise
    >>> from dp_cmdp.figures import advice_figure
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> advice = advise(ad_auction_program(2, 2), epsilons=[1, 4], deltas=[0.1], draws=4)
    >>> [ax.get_ylabel() for ax in advice_figure(advice).axes]
    ["share of the robust answer's loss won back", 'expected saturation']
    """
    figure, axes = new_figure(9.0, 4.4, ncols=2)
    won, full = axes
    lowest = min([0.0, *(row.recovered_low for row in advice.rows)])
    won.axhspan(advice.worth, 1.0, color=USEFUL, linewidth=0, label="useful")
    shades: dict[str, str] = {}
    for (colour, sign), (name, rows) in zip(cycle(LOOKS), _curves(advice).items(), strict=False):
        shades[name] = colour
        eps = [row.epsilon for row in rows]
        won.plot(
            eps, [max(row.recovered, FLOOR) for row in rows], f"{sign}-", color=colour, label=name
        )
        ends = [(max(row.recovered_low, FLOOR), row.recovered_high) for row in rows]
        won.vlines(eps, *zip(*ends, strict=True), color=colour, linewidth=1.0, alpha=0.6)
        full.plot(eps, [row.saturation_harmless for row in rows], f"{sign}-", color=colour)
        middle = [row.saturation_middle for row in rows]
        full.plot(eps, middle, f"{sign}--", color=colour, mfc="white", zorder=3)
    first, last = min(row.epsilon for row in advice.rows), max(row.epsilon for row in advice.rows)
    for part in advice.thresholds:
        if part.epsilon is not None and first <= part.epsilon <= last:
            won.axvline(part.epsilon, color=shades[_name(part)], linewidth=1.2, linestyle=":")
            won.plot([], [], ":", color=GUIDE, label=THRESHOLD)
    won.set_ylim(max(lowest, FLOOR) - 0.03, 1.03)
    won.set_ylabel("share of the robust answer's loss won back")
    full.set(ylim=(-0.03, 1.03), ylabel="expected saturation")
    full.plot([], [], "o-", color=GUIDE, label="saturation of harmless entries")
    full.plot([], [], "o--", color=GUIDE, mfc="white", label="of entries in the middle")
    full.set_title("intervals as wide as the public bounds", fontsize=10, loc="left")
    title = {
        True: "worth its budget in the shaded part",
        False: "not worth its budget",
        None: "undecided: more trials are needed",
    }[advice.worthwhile]
    won.set_title(title, fontsize=10, loc="left")
    for ax in axes:
        _epsilon_axis(ax, advice)
    legend_below(figure, won, full, columns=3)
    return figure


def _curves(advice: Advice) -> dict[str, list[AdviceRow]]:
    """Rows by δ and radius, in order of ε."""
    found: dict[str, list[AdviceRow]] = {}
    for row in sorted(advice.rows, key=lambda row: row.epsilon):
        found.setdefault(_name(row), []).append(row)
    return found


def _name(part: AdviceRow | Threshold) -> str:
    return f"δ = {part.delta:g}, radius ×{part.radius:g}"


def _epsilon_axis(ax: Axes, advice: Advice) -> None:
    ticks = sorted({row.epsilon for row in advice.rows})
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_xlabel("ε (smaller is more private)")
