"""Bounds of the loss beside the loss itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dp_cmdp._door import door
from dp_cmdp.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Column, label, colour, line style.
CURVES = (
    ("loss_percent", "actual (mean; 95 % interval over databases)", "#111827", "o-"),
    ("sampled_percent", "sampled limit of the mean (failure 1e-6)", "#1d4ed8", "D-"),
    ("certified_mean_percent", "certified bound of the mean", "#00734d", "s-"),
    ("certified_certain_percent", "certified bound, certain", "#00734d", "--"),
    ("repaired_percent", "paper's theorem, repaired", "#c2410c", "^-"),
    ("printed_percent", "paper's theorem, printed (Λ mended)", "#e9a15b", "v-"),
)
#: Means below this are too small to be measured by so few draws and are not drawn.
SMALLEST_PERCENT = 1e-5
TITLES = {
    "small": "2 × 2 program, Algorithm 1",
    "auction": "ad auction, private objective",
    "list-price": "ad auction, public objective",
    "hazard-grid": "hazard grid (CMDP)",
}


@door
def bounds_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Actual, sampled, certified, repaired and printed loss against ε, one panel per problem.

    Parameters
    ----------
    rows : sequence of dict
        Of ``dp-cmdp reproduce bounds``.
    """
    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure, axes = new_figure(
        9.0, 3.4 * ((len(names) + 1) // 2), ncols=2, nrows=-(-len(names) // 2)
    )
    panels = list(getattr(axes, "flat", [axes]))
    for ax, name in zip(panels, names, strict=False):
        part = sorted((r for r in rows if r["problem"] == name), key=lambda r: r["epsilon"])
        for column, label, colour, style in CURVES:
            known = [(r["epsilon"], r[column]) for r in part if r[column] is not None]
            known = [(eps, value) for eps, value in known if value > SMALLEST_PERCENT]
            if known:
                ax.plot(*zip(*known, strict=True), style, color=colour, label=label, markersize=4)
        band = [r for r in part if (r["loss_low_percent"] or 0.0) > SMALLEST_PERCENT]
        ax.fill_between(
            [r["epsilon"] for r in band],
            [r["loss_low_percent"] for r in band],
            [r["loss_high_percent"] for r in band],
            color=CURVES[0][2],
            alpha=0.18,
            linewidth=0,
        )
        ax.set_xscale("log", base=2)
        low, high = ax.get_ylim()
        if low <= 0 or high > 5 * low:
            ax.set_yscale("log")
        ticks = [r["epsilon"] for r in part]
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_title(TITLES.get(name, name), loc="left", fontsize=10)
        ax.set(xlabel="ε (δ = 0.1)", ylabel="loss (% of the optimum)")
    for ax in panels[len(names) :]:
        ax.set_visible(False)
    handles: dict[str, Any] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False
    )
    return figure
