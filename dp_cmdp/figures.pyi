from ._src.figures.style import save_figure as save_figure
from ._src.figures.view import Places as Places
from ._src.figures.view import View as View
