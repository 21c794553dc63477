"""What the default strategy loses against what is chosen from, and against the limit."""

from __future__ import annotations

from matplotlib.figure import Figure

from paper.figures.style import COLOURS, Rows, heading, legend_below, new_figure

#: Method or limit, label, colour, mark.
MARKS = (
    ("robust", "robust answer, no data", COLOURS["robust"], "x"),
    ("entries", "entries", COLOURS["database"], "o"),
    ("auto", "default strategy", COLOURS["planned"], "s"),
    ("limit", "no mechanism below", "#334155", "_"),
)
#: Losses below this, in percent, are drawn at it.
LEAST = 0.01


def strategy_figure(rows: Rows) -> Figure:
    """One panel per ε, problems side by side, losses on a logarithmic axis."""
    delta = max(row["delta"] for row in rows)
    rows = [row for row in rows if row["delta"] == delta]
    epsilons = sorted({row["epsilon"] for row in rows})
    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure, axes = new_figure(11, 3.1 * len(epsilons) + 1.4, nrows=len(epsilons), squeeze=False)
    for ax, epsilon in zip(axes[:, 0], epsilons, strict=True):
        part = [row for row in rows if row["epsilon"] == epsilon]
        for method, label, colour, mark in MARKS:
            own = [r for r in part if r["method"] == ("auto" if method == "limit" else method)]
            value = [r["limit_percent" if method == "limit" else "loss_percent"] for r in own]
            at = [names.index(row["problem"]) for row in own]
            height = [max(each or 0.0, LEAST) for each in value]
            ax.plot(at, height, mark, color=colour, label=label, markersize=7)
        ax.set(yscale="log", ylabel="loss, %")
        ax.set_title(f"ε = {epsilon:g}")
        ax.set_xticks(range(len(names)), names if ax is axes[-1, 0] else [""] * len(names))
        ax.tick_params(axis="x", labelrotation=35)
    legend_below(figure, *axes[:, 0], columns=len(MARKS))
    heading(figure, "The default strategy on problems it was not made on")
    return figure
