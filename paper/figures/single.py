"""Pictures of single points: Hsu on a CMDP, what truncation buys, the mean shift of intervals."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.figures.style import (
    COLOURS,
    CROSS,
    EPSILON,
    Rows,
    heading,
    legend_below,
    log_numbers,
    new_figure,
)
from paper.studies.hsu_cmdp import CONVERGED

#: Kind, label, colour, line.
CURVES = (
    ("paper", "truncated Laplace, support of the paper", COLOURS["benvenuti2025"], "o-"),
    ("tight", "truncated Laplace, tight support", COLOURS["planned"], "s-"),
    ("optimal", "optimal noise for one changing entry", COLOURS["database"], "D-"),
    ("bound", "no mechanism can go below", COLOURS["robust"], "--"),
)


def mean_shift_figure(rows: Rows) -> Figure:
    """One panel per δ, shift over ε on logarithmic axes."""
    deltas = sorted({row["delta"] for row in rows}, reverse=True)
    figure, axes = new_figure(10.5, 4.3, ncols=len(deltas), sharey=True, squeeze=False)
    for ax, delta in zip(axes[0], deltas, strict=True):
        part = [row for row in rows if row["delta"] == delta]
        epsilon = [row["epsilon"] for row in part]
        for kind, label, colour, line in CURVES:
            ax.plot(
                epsilon, [row[kind] for row in part], line, color=colour, label=label, markersize=4
            )
        ax.set(xscale="log", yscale="log")
        ax.set_xticks([0.25, 0.5, 1, 2, 5, 10], ["¼", "½", "1", "2", "5", "10"])
        ax.minorticks_off()
        ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        ax.set_title(f"δ = {delta:g}")
        ax.set_xlabel(EPSILON)
    axes[0][0].set_ylabel("mean shift (units of Δ)")
    legend_below(figure, *axes[0], columns=4)
    heading(figure, "What a bound that never loosens must cost")
    return figure


def hsu_cmdp_figure(rows: Rows) -> Figure:
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
    place.set_xlabel(f"{EPSILON}, δ = 0.1")
    place.set_ylabel("balance equations missed, Σ|residual|")
    place.set_title("Hsu 2014 on the hazard grid does not converge")
    legend_below(figure, place, columns=3)
    return figure


SHADES = {"truncated Laplace": COLOURS["munoz2021"], "Laplace, same shift": COLOURS["laplace"]}
#: Mark of each, and how far it is moved aside so that intervals can be told apart.
LOOKS = (("p", -1.5e-6), ("o", 1.5e-6))


def munoz_ads_figure(rows: Rows) -> Figure:
    """Violated budgets and lost revenue against ε, with the published numbers."""
    figure, (left, right) = new_figure(9.6, 4.3, ncols=2)
    for (noise, shade), (sign, aside) in zip(SHADES.items(), LOOKS, strict=True):
        part = sorted((r for r in rows if r["noise"] == noise), key=lambda r: r["epsilon"])
        look = {"fmt": sign, "color": shade, "label": noise, "capsize": 3}
        at = [row["epsilon"] + aside for row in part]
        mean, errors = _measured(part, "violated_percent", "ci")
        left.errorbar(at, mean, yerr=errors, **look)
        mean, errors = _measured(part, "revenue_ratio", "revenue_ci")
        lost = [1e6 * (1 - ratio) for ratio in mean]
        right.errorbar(at, lost, yerr=[[1e6 * e for e in side] for side in errors[::-1]], **look)
    _explained(left, [row for row in rows if row["noise"] == "Laplace, same shift"])
    most = max(1e6 * (1 - row["revenue_ci_low"]) for row in rows)
    right.set_ylim(0, 1.1 * max(1.0, most))
    right.set_title("revenue ratio 1.00, as published")
    left.set(ylim=(-0.5, None), ylabel="overrun budgets (%)")
    right.set_ylabel("lost revenue (millionths)")
    for ax in (left, right):
        ax.set_xlabel(f"{EPSILON}, δ = 1e-4")
        ax.set_xticks([3e-5, 1e-4, 2e-4], ["3e-5", "1e-4", "2e-4"])
    legend_below(figure, left, right, columns=4)
    heading(figure, "Private budgets, public prices: what truncation buys")
    return figure


def _measured(part: Rows, show: str, ends: str) -> tuple[list[float], list[list[float]]]:
    """Means, and how far their intervals reach down and up."""
    mean = [row[show] for row in part]
    low = [row[show] - row[f"{ends}_low"] for row in part]
    high = [row[f"{ends}_high"] - row[show] for row in part]
    return mean, [low, high]


def _explained(ax: Axes, part: Rows) -> None:
    """What the law of the noise says, and what was published."""
    fine = sorted(part, key=lambda row: row["epsilon"])
    at, expected = zip(*((row["epsilon"], row["expected_percent"]) for row in fine), strict=True)
    shade = SHADES["Laplace, same shift"]
    ax.plot(at, expected, ":", color=shade, label="expected: ½ exp(−s/σ)")
    known = [row for row in fine if row["published_percent"] is not None]
    crosses = [row["epsilon"] for row in known], [row["published_percent"] for row in known]
    ax.plot(*crosses, label="published", **CROSS)
