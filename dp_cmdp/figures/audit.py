"""Picture of an audit: what was measured against what is claimed, and which bugs were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from dp_cmdp._door import door
from dp_cmdp.audit.report import FALSE_ALARM, LAYERS, AuditReport
from dp_cmdp.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIM, GOOD, BAD, NONE = "#9ca3af", "#00734d", "#dc2626", "#f3f4f6"


@door
def audit_figure(report: AuditReport) -> Figure:
    """Lower bounds on ε against claims (left); injected bugs by layer (right)."""
    figure, axes = new_figure(12.0, 5.4, ncols=2, width_ratios=[1.2, 1.0])
    _bounds(axes[0], report)
    _bugs(axes[1], report)
    figure.suptitle(
        f"Privacy audit: {'passed' if report.passed else 'FAILED'}; a correct method is accused "
        f"with probability at most {FALSE_ALARM:g}",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    return figure


def _bounds(ax, report: AuditReport) -> None:
    for place, method in enumerate(report.methods):
        colour = GOOD if method.passed else BAD
        ax.plot([0, float(method.epsilon)], [place, place], color=CLAIM, linewidth=6, alpha=0.35)
        ax.plot(float(method.epsilon), place, "|", color="black", markersize=14)
        ax.plot(method.epsilon_lower_bound, place, "o", color=colour)
    ax.plot([], [], "|", color="black", markersize=10, label="claimed ε")
    ax.plot([], [], "o", color=GOOD, label="lower bound found by the black box")
    ax.set_yticks(range(len(report.methods)), [method.name for method in report.methods])
    ax.invert_yaxis()
    ax.set(xlim=(0, None), xlabel="ε")
    ax.set_title("shipped methods", loc="left", fontsize=10)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def _bugs(ax, report: AuditReport) -> None:
    ax.grid(False)
    for row, bug in enumerate(report.injected):
        for column, layer in enumerate(LAYERS):
            passed = bug.found.layers[layer].passed
            text = {True: "not seen", False: "caught", None: "–"}[passed]
            colour = {True: "#e5e7eb", False: GOOD, None: NONE}[passed]
            corner = (column - 0.46, row - 0.42)
            ax.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, linewidth=0))
            ink = "white" if passed is False else "#374151"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    ax.set_xlim(-0.5, len(LAYERS) - 0.5)
    ax.set_ylim(len(report.injected) - 0.5, -0.5)
    ax.set_xticks(range(len(LAYERS)), [layer.replace("_", "\n") for layer in LAYERS], fontsize=8)
    ax.set_yticks(range(len(report.injected)), [bug.bug for bug in report.injected], fontsize=8)
    ax.set_title("bugs put in on purpose", loc="left", fontsize=10)
