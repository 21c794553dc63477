"""Pictures: what `plot()` of answers, releases and reports draws, to be saved (extra figures)."""

from dp_cmdp._src.figures.style import save_figure as save_figure

__all__ = ["save_figure"]
