"""Picture of an audit: what was measured against what is claimed, and which bugs were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from dp_cmdp._door import door
from dp_cmdp.audit.report import FALSE_ALARM, LAYERS, AuditReport
from dp_cmdp.figures.style import COLOURS, PUBLIC, heading, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD, BAD, NONE = COLOURS["database"], COLOURS["laplace"], "#f3f4f6"


@door
def audit_figure(report: AuditReport) -> Figure:
    """Lower bounds on ε against claims (left); injected bugs by layer (right).

    Parameters
    ----------
    report : AuditReport

    Notes
    -----
    **Privacy.** *Public*: audits run on invented data.

    Examples
    --------
    >>> from dp_cmdp.audit.report import AuditReport
    >>> from dp_cmdp.figures import audit_figure
    >>> audit_figure(AuditReport((), ())).axes[0].get_title(loc="left")
    'shipped methods'
    """
    figure, axes = new_figure(
        12.0, 1.8 + 0.24 * max(8, len(report.methods), len(report.injected)), ncols=2,
        width_ratios=[1.2, 1.0],
    )  # fmt: skip
    _bounds(axes[0], report)
    _bugs(axes[1], report)
    legend_below(figure, axes[0], columns=3)
    heading(
        figure,
        f"Privacy audit: {'passed' if report.passed else 'FAILED'}; a correct method is accused "
        f"with probability at most {FALSE_ALARM:g}",
    )
    return figure


def _bounds(ax: Axes, report: AuditReport) -> None:
    for place, method in enumerate(report.methods):
        shade, sign = (GOOD, "o") if method.passed else (BAD, "X")
        ax.plot(
            [0, float(method.epsilon)], [place, place], color=PUBLIC, lw=6, solid_capstyle="butt"
        )
        ax.plot(float(method.epsilon), place, "|", color="black", markersize=14)
        ax.plot(method.epsilon_lower_bound, place, sign, color=shade)
    ax.plot([], [], "|", color="black", markersize=10, label="claimed ε")
    ax.plot([], [], "o", color=GOOD, label="lower bound found by the black box")
    if not all(method.passed for method in report.methods):
        ax.plot([], [], "X", color=BAD, label="the same, of a method that failed")
    names = [method.name for method in report.methods]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlim=(-0.03, None), xlabel="ε")
    ax.set_title("shipped methods", loc="left", fontsize=10)


def _bugs(ax: Axes, report: AuditReport) -> None:
    ax.grid(visible=False)
    for row, bug in enumerate(report.injected):
        for column, layer in enumerate(LAYERS):
            passed = bug.found.layers[layer].passed
            text = {True: "not seen", False: "caught", None: "–"}[passed]
            colour = {True: PUBLIC, False: GOOD, None: NONE}[passed]
            corner = (column - 0.46, row - 0.42)
            ax.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, linewidth=0))
            ink = "white" if passed is False else "#374151"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    ax.set_xlim(-0.5, len(LAYERS) - 0.5)
    ax.set_ylim(max(len(report.injected), 1) - 0.5, -0.5)
    ax.set_xticks(range(len(LAYERS)), [layer.replace("_", "\n") for layer in LAYERS], fontsize=8)
    ax.set_yticks(range(len(report.injected)), [bug.bug for bug in report.injected], fontsize=8)
    ax.set_title("bugs put in on purpose", loc="left", fontsize=10)
