"""Pictures: what `plot()` of answers, releases and reports draws, to be saved (extra figures).

`Places` and `View` are what a map shows, for pictures of your own.
"""

from dp_cmdp._src.figures.style import save_figure as save_figure
from dp_cmdp._src.figures.view import Places as Places
from dp_cmdp._src.figures.view import View as View

__all__ = ["Places", "View", "save_figure"]
