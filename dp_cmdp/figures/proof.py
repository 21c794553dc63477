"""What is proved about an answer: costs against their tolerances, values against others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures.style import COLOURS, GUIDE, INK, PUBLIC, new_figure, on_axes, small_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.cmdp.synthesis import SafePolicy


@door
def safe_policy_figure(
    safe: SafePolicy, *, robust: SafePolicy | None = None, ax: Axes | None = None
) -> Figure:
    """Worst-case costs against their tolerances and, without `ax`, values beside them.

    Parameters
    ----------
    safe : SafePolicy
    robust : SafePolicy, optional
        The policy that needs no data.
    ax : matplotlib Axes, optional
        Where to draw the costs alone; a new figure otherwise.

    Notes
    -----
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> from dp_cmdp import robust_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> from dp_cmdp.figures import safe_policy_figure
    >>> figure = safe_policy_figure(robust_policy(HazardGridEnv("corridor").model()))
    >>> figure.axes[0].get_title(loc="left")
    'worst-case cost ≤ tolerance: proved'
    """
    if ax is not None:
        if robust is not None:
            raise InvalidArgumentError("ax has room for the costs alone: leave robust out")
        figure, ax = on_axes(ax)
        draw_costs(ax, safe)
        return figure
    count = safe.certificate.tolerance.size
    figure, (above, below) = new_figure(
        6.0, 2.0 + 0.35 * count, nrows=2, height_ratios=(0.3 + 0.35 * count, 0.9)
    )
    draw_costs(above, safe)
    draw_values(below, safe, robust)
    return figure


def draw_costs(ax: Axes, safe: SafePolicy, *, names: Sequence[str] = ()) -> None:
    """Bars of the largest possible costs, in shares of the smallest possible tolerances.

    Where totals were released, what they prove is drawn over what the intervals alone would.
    """
    proof = safe.certificate
    count = proof.tolerance.size
    called = names if len(names) == count else [f"cost {k}" for k in range(count)]
    alone = [
        float(cost / limit) if limit > 0 else 0.0
        for cost, limit in zip(proof.worst_case_cost, proof.tolerance, strict=True)
    ]
    shade = COLOURS["database"] if proof.verified else COLOURS["laplace"]
    shares = alone
    if proof.joint is not None:
        joined = zip(alone, proof.joint, proof.tolerance, strict=True)
        shares = [min(a, 1.0 + float(j / t)) if t > 0 else 0.0 for a, j, t in joined]
        ax.barh(range(count), alone, 0.6, color=PUBLIC, label="by intervals alone")
    ax.barh(range(count), shares, 0.6, color=shade, label="proved")
    ax.axvline(1.0, color=INK, linewidth=1.5, label="tolerance")
    told = [f"{name}\n{text}" for name, text in zip(called, _comparisons(safe), strict=True)]
    ax.set_yticks(range(count), told, fontsize=8)
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_xlim(0.0, max(1.08, *(1.08 * share for share in alone)))
    ax.set_xlabel("share of the tolerance", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(visible=False, axis="y")
    word = "proved" if proof.verified else "NOT PROVED"
    ax.set_title(f"worst-case cost ≤ tolerance: {word}", loc="left", fontsize=9)
    small_legend(ax)


def _comparisons(safe: SafePolicy) -> list[str]:
    """What is proved of each cost, in numbers."""
    proof = safe.certificate
    texts = []
    for k, (cost, limit) in enumerate(zip(proof.worst_case_cost, proof.tolerance, strict=True)):
        if cost <= limit or proof.joint is None:
            texts.append(f"{cost:.4g} {'≤' if cost <= limit else '>'} {limit:.4g}")
        else:
            texts.append(f"cost − tolerance ≤ {proof.joint[k]:.2g}")
    return texts


def draw_values(ax: Axes, safe: SafePolicy, robust: SafePolicy | None) -> None:
    """Values as dots on one line: with no data, of this policy, and the most a safe one earns."""
    rows = [] if robust is None else [("robust, no data:", robust.value, "d", COLOURS["robust"])]
    rows.append(("this policy:", safe.value, "s", COLOURS["database"]))
    rows.append(("upper bound:", safe.upper_bound, "|", GUIDE))
    values = [value for _, value, _, _ in rows]
    low, high = min(values), max(values)
    apart = high - low > 1e-6 * abs(high)
    room = 0.12 * (high - low) if apart else 0.05 * abs(high) or 1.0
    for at, (_, value, sign, shade) in enumerate(rows):
        ax.hlines(at, low - room, value, color=PUBLIC, linewidth=2)
        ax.plot(value, at, sign, color=shade, markersize=8, markeredgewidth=2)
    ax.set_yticks(range(len(rows)), [f"{name} {value:.5g}" for name, value, *_ in rows])
    ax.tick_params(labelsize=8)
    ax.set(xlim=(low - room, high + room), ylim=(len(rows) - 0.5, -0.5))
    ax.locator_params(axis="x", nbins=4)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.grid(visible=False, axis="y")
    ax.set_title("value (discounted reward)", loc="left", fontsize=9)
