"""What truncation buys: the ad experiment of Muñoz Medina et al. 2021."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper.figures.style import COLOURS, CROSS, heading, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]
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
    right.set_title("revenue ratio 1.00, as published", loc="left", fontsize=10)
    left.set(ylim=(-0.5, None), ylabel="overrun budgets (%)")
    right.set_ylabel("lost revenue (millionths)")
    for ax in (left, right):
        ax.set_xlabel("privacy strength ε (δ = 1e-4)")
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
