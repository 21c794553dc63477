from ._src.figures.save import save_figure as save_figure
