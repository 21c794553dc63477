"""Costs of episodes in shares of their limits, certified and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt

from paper.figures.style import GUIDE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = {"discounted": "#b45309", "episode": "#15803d"}
LABELS = {"discounted": "policies of discounted costs", "episode": "policies of episode costs"}


def episode_costs_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """One line per environment: simulated episode costs, at the largest ε, over the limit."""
    most = max(row["epsilon"] for row in rows)
    shown = [row for row in rows if row["epsilon"] == most]
    names = list(dict.fromkeys(row["environment"] for row in shown))
    figure, ax = plt.subplots(figsize=(7.5, 0.8 + 0.32 * len(names)), layout="constrained")
    for criterion, shade in SHADES.items():
        part = [row for row in shown if row["criterion"] == criterion]
        place = [names.index(row["environment"]) for row in part]
        share = [row["simulated_cost"] / row["limit"] for row in part]
        half = [(row["ci_high"] - row["simulated_cost"]) / row["limit"] for row in part]
        ax.errorbar(share, place, xerr=half, fmt="o", color=shade, label=LABELS[criterion],
                    capsize=3)  # fmt: skip
    ax.axvline(1.0, color="black", linewidth=1.0)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.grid(axis="x", color=GUIDE, linewidth=0.5)
    ax.set_xlabel(f"cost of an episode, as a share of the limit (ε = {most:g}; intervals 1 − 10⁻⁶)")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=8)
    return figure
