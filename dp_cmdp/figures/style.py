"""One look for all figures, and one way to write them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._storage import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One colour and one name per method or variant, in every figure.
COLOURS = {
    "planned": "#0284c7",
    "totals": "#6366f1",
    "database": "#00734d",
    "benvenuti2025": "#c2410c",
    "benvenuti2025-realised-mask": "#e9a15b",
    "benvenuti2025-as-published": "#e9a15b",
    "benvenuti2024": "#a16207",
    "munoz2021": "#1d4ed8",
    "dvorkin2020": "#7c3aed",
    "cummings2015": "#be185d",
    "hsu2014": "#475569",
    "robust": "#111827",
    "nonprivate": "#9ca3af",
    "laplace": "#dc2626",
    "sup_A_exact_c": "#0e7490",
}
NAMES = {
    "hsu2014": "Hsu 2014",
    "hsu2014-true-optimum": "Hsu 2014, told the optimum (leaks)",
    "cummings2015": "Cummings 2015 (joint privacy)",
    "dvorkin2020": "Dvorkin 2020 (b only)",
    "munoz2021": "Munoz 2021 (b only)",
    "munoz2021-private-c": "Munoz 2021 (b, and noise on c)",
    "benvenuti2024": "Benvenuti 2024 (A only)",
    "benvenuti2025": "Algorithm 1, public mask",
    "benvenuti2025-realised-mask": "Algorithm 1, realised mask (leaks)",
    "benvenuti2025-as-published": "Algorithm 1, Δ = 0.1 per entry (not private)",
    "database": "database release (ours)",
    "planned": "planned release (ours)",
    "totals": "totals (ours)",
    "robust": "robust, no data (ε = 0)",
    "nonprivate": "no privacy",
    "laplace": "Laplace, shifted",
    "laplace-unshifted": "Laplace, no shift",
    "sup_A_exact_c": "worst-case A, exact b and c",
}
#: A number that a paper states.
CROSS: Any = {
    "marker": "x",
    "linestyle": "none",
    "color": "black",
    "markersize": 8,
    "markeredgewidth": 2,
}


@door
def new_figure(width: float = 7.0, height: float = 4.2, **subplots):
    """(figure, axes) in the project's look, without touching global state."""
    from matplotlib.figure import Figure

    width = _check.real("width", width, low=0.1, high=100.0)
    height = _check.real("height", height, low=0.1, high=100.0)
    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    axes = figure.subplots(**subplots)
    for ax in getattr(axes, "flat", [axes]):
        dress(ax)
    return figure, axes


def dress(ax: Axes) -> None:
    """The project's look: a light grid behind the data, no frame above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def note(ax: Axes, text: str, at: tuple[float, float], *, offset: tuple[int, int], ha: str) -> None:
    """A small text beside a point, `offset` from it in points."""
    ax.annotate(text, at, textcoords="offset points", xytext=offset, ha=ha, fontsize=8)


@door
def save_figure(figure: Figure, path: str | Path, *, private: bool = False) -> Path:
    """Write a PNG atomically; its metadata says nothing about the data or the machine.

    A `private` one can be read by its owner only.

    Examples
    --------
    >>> from dp_cmdp.figures import allocation_figure, save_figure
    >>> figure = allocation_figure({"private": [[1, 0], [0, 2]]}, title="visits")
    >>> save_figure(figure, "allocation.png").name
    'allocation.png'
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": "dp_cmdp"})
    return write_bytes(path, buffer.getvalue(), private=private)
