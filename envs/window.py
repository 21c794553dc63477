"""A window for people (render mode ``human``): matplotlib's, or the terminal without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dp_cmdp._src.base.extras import is_installed
from dp_cmdp.envs.drawing import Image

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

OFF_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


class Window:
    """Shows one picture after another; opened by the first one."""

    def __init__(self, *, title: str, fps: float) -> None:
        self._title = title
        self._fps = fps
        self._drawn: tuple[Figure, AxesImage] | None = None

    @staticmethod
    def available() -> bool:
        """Whether matplotlib can open a window here (it needs a display and a GUI toolkit)."""
        if not is_installed("matplotlib"):
            return False
        import matplotlib as mpl

        name = mpl.get_backend().lower().rpartition(".")[2]
        return name.removeprefix("backend_") not in OFF_SCREEN

    def show(self, image: Image, *, text: str) -> None:
        """Show `image` in the window, or print `text` when no window can be opened."""
        if not self.available():
            print(text, flush=True)
            return
        if self._drawn is None:
            self._drawn = self._open(image)
        figure, picture = self._drawn
        picture.set_data(image)
        figure.canvas.draw_idle()
        figure.canvas.start_event_loop(1.0 / self._fps)

    def _open(self, image: Image) -> tuple[Figure, AxesImage]:
        import matplotlib.pyplot as plt

        height, width = image.shape[:2]
        figure = plt.figure(self._title, figsize=(width / 100, height / 100), dpi=100)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        picture = axes.imshow(image)
        if figure.canvas.manager is not None:
            figure.canvas.manager.show()
        return figure, picture

    def close(self) -> None:
        """Close the window; closing twice does no harm."""
        if self._drawn is not None:
            import matplotlib.pyplot as plt

            plt.close(self._drawn[0])
            self._drawn = None
