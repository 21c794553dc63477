"""What truncation buys: the ad experiment of Muñoz Medina et al. 2021."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp.figures.style import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = {"truncated Laplace": COLOURS["munoz2021"], "Laplace, same shift": COLOURS["laplace"]}


def munoz_ads_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Violated budgets and revenue ratio against ε, with the published numbers."""
    figure, (left, right) = new_figure(9.6, 4.0, ncols=2)
    for noise, shade in SHADES.items():
        part = sorted((r for r in rows if r["noise"] == noise), key=lambda r: r["epsilon"])
        at = [row["epsilon"] for row in part]
        for ax, show, ends in (
            (left, "violated_percent", "ci"),
            (right, "revenue_ratio", "revenue_ci"),
        ):
            mean = [row[show] for row in part]
            low = [row[show] - row[f"{ends}_low"] for row in part]
            high = [row[f"{ends}_high"] - row[show] for row in part]
            ax.errorbar(at, mean, yerr=(low, high), fmt="o", color=shade, label=noise, capsize=3)
        if noise != "truncated Laplace":
            expected = [row["expected_percent"] for row in part]
            left.plot(at, expected, ":", color=shade, label="expected: ½ exp(−s/σ)")
            known = [row for row in part if row["published_percent"] is not None]
            left.plot(
                [row["epsilon"] for row in known],
                [row["published_percent"] for row in known],
                "x",
                color="black",
                markersize=8,
                markeredgewidth=2,
                label="published",
            )
    right.axhline(1.0, color="black", linewidth=1.0, linestyle="--", label="published: ≈ 1.00")
    right.set_ylim(0.98, 1.02)
    left.set_ylim(bottom=-0.5)
    left.set_ylabel("overrun budgets (%)")
    right.set_ylabel("revenue / best revenue")
    for ax in (left, right):
        ax.set_xlabel("privacy strength ε (δ = 1e-4)")
        ax.set_xticks([3e-5, 1e-4, 2e-4], ["3e-5", "1e-4", "2e-4"])
        ax.legend(frameon=False, fontsize=8)
    figure.suptitle("Private budgets, public prices: what truncation buys", x=0.01, ha="left")
    return figure
