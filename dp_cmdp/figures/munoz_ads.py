"""What truncation buys: the ad experiment of Muñoz Medina et al. 2021."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import COLOURS, CROSS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]
SHADES = {"truncated Laplace": COLOURS["munoz2021"], "Laplace, same shift": COLOURS["laplace"]}


@door
def munoz_ads_figure(rows: Rows) -> Figure:
    """Violated budgets and lost revenue against ε, with the published numbers."""
    figure, (left, right) = new_figure(9.6, 4.0, ncols=2)
    for noise, shade in SHADES.items():
        part = sorted((r for r in rows if r["noise"] == noise), key=lambda r: r["epsilon"])
        look = {"fmt": "o", "color": shade, "label": noise, "capsize": 3}
        at = [row["epsilon"] for row in part]
        mean, errors = _measured(part, "violated_percent", "ci")
        left.errorbar(at, mean, yerr=errors, **look)
        mean, errors = _measured(part, "revenue_ratio", "revenue_ci")
        lost = [1e6 * (1 - ratio) for ratio in mean]
        right.errorbar(at, lost, yerr=[[1e6 * e for e in side] for side in errors[::-1]], **look)
    _explained(left, [row for row in rows if row["noise"] == "Laplace, same shift"])
    right.set_ylim(bottom=0, top=10)
    right.set_title("revenue ratio 1.00, as published", loc="left", fontsize=10)
    left.set(ylim=(-0.5, None), ylabel="overrun budgets (%)")
    right.set_ylabel("lost revenue (millionths)")
    for ax in (left, right):
        ax.set_xlabel("privacy strength ε (δ = 1e-4)")
        ax.set_xticks([3e-5, 1e-4, 2e-4], ["3e-5", "1e-4", "2e-4"])
        ax.legend(frameon=False, fontsize=8)
    figure.suptitle("Private budgets, public prices: what truncation buys", x=0.01, ha="left")
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
