"""A window for people (render mode ``human``): matplotlib's, or the terminal where there is none."""

from __future__ import annotations

from typing import Any

from envs.drawing import Image

OFF_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


class Window:
    """Shows one picture after another; opened by the first one."""

    def __init__(self, *, title: str, fps: float) -> None:
        self._title = title
        self._fps = fps
        self._figure: Any = None
        self._picture: Any = None

    @staticmethod
    def available() -> bool:
        """Whether matplotlib can open a window here (it needs a display and a GUI toolkit)."""
        import matplotlib as mpl

        return (
            mpl.get_backend().lower().rpartition(".")[2].removeprefix("backend_") not in OFF_SCREEN
        )

    def show(self, image: Image, *, text: str) -> None:
        """Show `image` in the window, or print `text` when no window can be opened."""
        if not self.available():
            print(text, flush=True)
            return
        if self._figure is None:
            self._open(image)
        self._picture.set_data(image)
        self._figure.canvas.draw_idle()
        self._figure.canvas.start_event_loop(1.0 / self._fps)

    def _open(self, image: Image) -> None:
        import matplotlib.pyplot as plt

        height, width = image.shape[:2]
        self._figure = plt.figure(self._title, figsize=(width / 100, height / 100), dpi=100)
        axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        self._picture = axes.imshow(image)
        self._figure.canvas.manager.show()

    def close(self) -> None:
        """Close the window; closing twice does no harm."""
        if self._figure is not None:
            import matplotlib.pyplot as plt

            plt.close(self._figure)
            self._figure = self._picture = None
