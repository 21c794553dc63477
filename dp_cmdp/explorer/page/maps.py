"""Maps: the one that is drawn on, and those of the policies with the episode that plays on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import events, ui

import dp_cmdp as dp
from dp_cmdp.envs import Layout
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.episodes import episode, places_of, running_sums
from dp_cmdp.explorer.page.parts import BUTTON, SMALL, WAITING
from dp_cmdp.figures import Places, View

MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
#: Where a box was clicked, as shares of its width and height.
PLACE = """(event) => {
    const box = event.currentTarget.getBoundingClientRect()
    emit((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height)
}"""
#: Seconds per step of an episode that plays.
TICK = 0.25
#: Mark, meaning and colour: of data and releases, and of policies.
DATA_MARKS = (
    ("▭ dashed", "candidate: a hazard may be here (public)", map_svg.CANDIDATE),
    ("▌ grey", "public bounds of its severity", "#4b5563"),
    ("▌ green", "released interval", map_svg.RELEASED),
)
POLICY_MARKS = (
    ("■ blue", "the darker, the more visited", "#2b6a9b"),
    ("→", "action, as long as it is likely, faint where nobody comes", map_svg.TRUTH),
    ("●", "where the agent is", map_svg.AGENT),
    ("S, G", "start and goal", map_svg.TRUTH),
)


def legend(*marks: tuple[str, str, str]) -> None:
    """What the marks of the maps below mean."""
    with ui.row().classes("gap-x-4 gap-y-0"):
        for mark, meaning, colour in marks:
            ui.label(f"{mark}: {meaning}").classes("text-xs").style(f"color: {colour}")


class Drawing:
    """An SVG of a grid, and a layer above it that changes more often."""

    def __init__(self, places: Places, label: str, role: str = "img") -> None:
        self._size = map_svg.size(places)
        with ui.element("div") as self.box:
            layers = (ui.html("", sanitize=False).classes("absolute inset-0") for _ in range(2))
            self._below, self._above = layers
        width, height = self._size
        self.box.classes("relative w-full border border-gray-300 bg-white")
        self.box.style(f"aspect-ratio: {width} / {height}")
        self.box.props(f'role={role} aria-label="{label}"')

    def draw(self, content: str) -> None:
        """Draw anew what lies below."""
        self._below.content = self._svg(content)

    def mark(self, content: str) -> None:
        """Draw anew what lies above."""
        self._above.content = self._svg(content)

    def _svg(self, content: str) -> str:
        width, height = self._size
        return f'<svg width="100%" height="100%" viewBox="0 0 {width} {height}">{content}</svg>'


class DrawnMap:
    """A map with a cursor: clicked with the mouse, or moved by arrows and pressed by Enter."""

    def __init__(self, places: Places, *, label: str, on_cell: Callable[[int, bool], None]) -> None:
        self.cursor = places.starts[0]
        self._places, self._on_cell = places, on_cell
        self._image = Drawing(places, label, "application")
        box = self._image.box.classes("focus:outline focus:outline-blue-600").props("tabindex=0")
        box.on("click", self._clicked, js_handler=PLACE)
        for key in MOVES:
            box.on(f"keydown.{key}.prevent", lambda _, key=key: self._moved(key))
        for key in ("enter", "space"):
            box.on(f"keydown.{key}.prevent", lambda _: self._on_cell(self.cursor, True))

    def show(self, places: Places, *, release: dp.Release | None, truth: Any = None) -> None:
        """Draw a grid of the same size, and what was released or invented of it."""
        self._places = places
        self._image.draw(map_svg.data_map(places, release=release, truth=truth))

    def mark(self, weights: Mapping[int, float]) -> None:
        """Draw the cursor, and the cells that a query weighs, above what is drawn."""
        self._image.mark(map_svg.marks(self._places, weights=weights, cursor=self.cursor))

    def _clicked(self, event: events.GenericEventArguments) -> None:
        (x, y), (width, height) = event.args, map_svg.size(self._places)
        self.cursor = map_svg.cell_at(self._places, x * width, y * height)
        self._on_cell(self.cursor, True)

    def _moved(self, key: str) -> None:
        rows, cols = self._places.shape
        row, col = divmod(self.cursor, cols)
        row, col = row + MOVES[key][0], col + MOVES[key][1]
        if 0 <= row < rows and 0 <= col < cols:
            self.cursor = row * cols + col
            self._on_cell(self.cursor, False)


class PolicyMap:
    """Visits, arrows, and an episode above them."""

    def __init__(self, layout: Layout, title: str, note: str) -> None:
        self._layout = layout
        self._policy: dp.Policy | None = None
        self._drawn: tuple[Any, ...] = ()
        self._path: Sequence[int] = ()
        self._sums: list[tuple[float, float]] = []
        ui.label(title).classes("font-semibold")
        self._note = ui.label(note).classes(SMALL)
        self._image = Drawing(places_of(layout), f"{title}: arrows over visits")
        self._steps = ui.label(WAITING).classes(SMALL)

    @property
    def length(self) -> int:
        """Steps of the episode."""
        return max(len(self._path) - 1, 0)

    def show(self, layout: Layout, policy: dp.Policy, *, costs: Any, seed: int, note: str) -> None:
        """Take a policy on a layout of the same size, and an episode of it; drawn by :meth:`at`."""
        self._policy, self._layout, self._note.text = policy, layout, note
        self._path = episode(layout, policy, seed=seed)
        gamma = None if policy.horizon is None else 1.0
        self._sums = running_sums(layout, tuple(self._path), costs, gamma=gamma)

    def at(self, step: int) -> None:
        """Put the agent where it is after some steps, on what the policy does at that step."""
        self._draw(self._policy, step)
        step, places = min(step, self.length), places_of(self._layout)
        self._image.mark(map_svg.agent(places, self._path, step) if self._path else "")
        reward, cost = self._sums[step] if self._sums else (0.0, 0.0)
        end = " (goal)" if self._path and self._path[step] in self._layout.goals else ""
        self._steps.text = f"step {step}{end}: return {reward:.3g}, cost {cost:.3g}"

    def _draw(self, policy: dp.Policy | None, step: int) -> None:
        """The arrows and visits of a policy; of one that knows the time, those of a step."""
        time = None if policy is None or not policy.horizon else min(step, policy.horizon - 1)
        if policy is None or (policy, self._layout, time) == self._drawn:
            return  # the picture is the same
        self._drawn = policy, self._layout, time
        view = View.of(places_of(self._layout, policy.horizon), policy, time)
        self._image.draw(map_svg.policy_map(view))


class Player:
    """Plays one episode on several maps at once."""

    def __init__(self, *, on_seed: Callable[[int], None]) -> None:
        self.seed = 0
        self._maps: list[PolicyMap] = []
        with ui.row().classes("w-full items-center gap-4 no-wrap"):
            self._button = ui.button(icon="play_arrow", on_click=self.toggle).props(
                'dense round aria-label="Play or pause the episode"'
            )
            self._slider = ui.slider(min=0, max=1, value=0, step=1, on_change=self._moved)
            self._slider.props('dense label aria-label="Step of the episode"').classes("grow")

            def another() -> None:
                self.seed += 1
                on_seed(self.seed)

            ui.button("Another episode", on_click=another).props(f"{BUTTON} no-wrap")
        self._timer = ui.timer(TICK, self._tick, active=False)

    def show(self, maps: Sequence[PolicyMap]) -> None:
        """Play on these maps from the start."""
        self._maps = list(maps)
        self._slider.props(f"max={max([1, *(part.length for part in maps)])}")
        self._slider.value = 0
        self._moved()

    def toggle(self) -> None:
        """Play or pause; at the end, play again."""
        last = max([0, *(part.length for part in self._maps)])
        if not self._timer.active and (self._slider.value or 0) >= last:
            self._slider.value = 0
        self._set(not self._timer.active)

    def _set(self, playing: bool) -> None:
        self._timer.active = playing
        self._button.props(f"icon={'pause' if playing else 'play_arrow'}")

    def _tick(self) -> None:
        last = max([0, *(part.length for part in self._maps)])
        if (self._slider.value or 0) >= last:
            self._set(False)
        else:
            self._slider.value = (self._slider.value or 0) + 1

    def _moved(self) -> None:
        for part in self._maps:
            part.at(int(self._slider.value or 0))
