"""One look for all figures, and one way to write them."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp._src.base.errors import InvalidTypeError
from dp_cmdp._src.base.storage import write_bytes
from dp_cmdp._src.base.validation import validated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What is public and says little, lines that only guide the eye, and small print.
PUBLIC, GUIDE, INK = "#d1d5db", "#9ca3af", "#374151"
#: What was released, and answers of three kinds; told apart by colour-blind eyes.
ENTRIES, QUERIES = "#0d764f", "#7567f3"
PRIVATE, ROBUST, NONPRIVATE = "#0767a5", "#121826", "#d96208"
THIS, NO_DATA, NO_PRIVACY, BOUND = "this answer", "robust, no data", "no privacy", "bound"
SHADES = {THIS: PRIVATE, NO_DATA: ROBUST, NO_PRIVACY: NONPRIVATE, BOUND: INK}
MARKS = {THIS: "s", NO_DATA: "d", NO_PRIVACY: "o", BOUND: "|"}
#: What failed, and what must not be published.
BAD = "#810120"
CURATOR_ONLY = "CURATOR ONLY: reads the true data, do not publish"
#: Characters of a heading per inch, and of a bold one.
PER_INCH, BOLD_PER_INCH = 12.5, 10.5


def new_figure(width: float = 7.0, height: float = 4.2, **subplots: Any) -> tuple[Figure, Any]:
    """(figure, axes) in the project's look, without touching global state."""
    figure = blank_figure(width, height)
    axes = figure.subplots(**subplots)
    for ax in getattr(axes, "flat", [axes]):
        dress(ax)
    return figure, axes


def blank_figure(width: float, height: float) -> Figure:
    """A figure of a size in inches, without axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    # notebooks ask for this, and know figures of pyplot only
    figure._repr_png_ = partial(png_of, figure)  # pyright: ignore[reportAttributeAccessIssue]
    return figure


def png_of(figure: Any) -> bytes:
    """The picture as PNG, with nothing about the machine in it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": "dp_cmdp"})
    return buffer.getvalue()


def column_beside(
    width: float, height: float, *, beside: float, heights: Sequence[float]
) -> tuple[Figure, Axes, list[Axes]]:
    """A figure with one large panel of a width and height, and a column of others beside it."""
    figure = blank_figure(width + beside, height)
    places = figure.add_gridspec(
        len(heights), 2, width_ratios=(width, beside), height_ratios=heights
    )
    main = figure.add_subplot(places[:, 0])
    column = [figure.add_subplot(places[k, 1]) for k in range(len(heights))]
    for ax in (main, *column):
        dress(ax)
    return figure, main, column


def dress(ax: Axes) -> None:
    """A light grid behind the data, no frame above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def panel(ax: Axes, title: str, *, along: str) -> None:
    """A small panel: its title, and grid lines across one axis only."""
    ax.set_title(title, loc="left", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(visible=False, axis="y" if along == "x" else "x")


def legend_below(figure: Figure, *axes: Axes, columns: int, handles: Sequence[Any] = ()) -> None:
    """One legend below all axes: every label once, in the order in which it was drawn."""
    entries: dict[str, Any] = {handle.get_label(): handle for handle in handles}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    place: dict[str, Any] = {"loc": "outside lower left", "fontsize": 8, "frameon": False}
    figure.legend(entries.values(), entries.keys(), ncols=columns, **place)


def heading(figure: Figure, text: str, *, alarming: bool = False) -> None:
    """The title of a whole figure, folded into its width; red where nobody may overlook it."""
    width = (BOLD_PER_INCH if alarming else PER_INCH) * figure.get_figwidth()
    folded = textwrap.fill(text, int(width))
    options: dict[str, Any] = {"color": BAD, "fontweight": "bold"} if alarming else {}
    figure.suptitle(folded, x=0.01, ha="left", fontsize=10, **options)


def describe(figure: Figure, release: Any) -> None:
    """What a release promises above its picture, in red where its noise was simulated."""
    text = "no data read" if release is None else release.guarantee
    simulated = release is not None and release.simulated
    heading(figure, text, alarming=simulated)


@validated
def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a figure as PNG, whole or not at all, with nothing about the machine in it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What ``plot()`` of an answer or a release returns, or any other.
    path : str or Path
        A file that ends with ``.png``.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InvalidTypeError
        If `figure` is no figure.

    Notes
    -----
    A picture that only the curator may see (``dp_cmdp.curator.compare(…).plot()``) can be read by
    the owner of the file only. **Privacy.** *Post-processing*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> dp.figures.save_figure(dp.answer(lp).plot(), "answer.png").name
    'answer.png'
    """
    if not hasattr(figure, "savefig"):
        raise InvalidTypeError(f"figure must be a matplotlib figure, got {type(figure).__name__}")
    private = getattr(figure, "get_label", str)() == CURATOR_ONLY
    return write_bytes(path, png_of(figure), private=private)
