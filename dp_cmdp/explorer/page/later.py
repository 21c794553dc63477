"""What may arrive later: curve, limit and the adviser's sentence, computed in other processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import app, context, run, ui

from dp_cmdp.explorer import curve as curves
from dp_cmdp.explorer import invented
from dp_cmdp.explorer.page.parts import SMALL, WAITING, Messages, card, download_buttons
from dp_cmdp.explorer.words import advice_words, limit_words

#: Curves of so many designs are kept: a way back costs nothing.
KEPT = 16


class Later:
    """The card with the curve, and the adviser's sentence above it.

    What does not depend on the ε that is chosen (points, limits at the ε of the curve) is computed
    once for a design and kept; a moved ε only moves the mark of the present release.
    """

    def __init__(self, messages: Messages) -> None:
        self._generation = 0
        self._curves: dict[Any, curves.Curve] = {}
        self._sentences: dict[invented.Design, str] = {}
        self._shown = curves.Curve()
        context.client.on_delete(self.stop)
        with card("What privacy costs here (judged against the invented data)"):
            self._state = ui.label("").classes(SMALL).props("role=status aria-live=polite")
            self._progress = ui.linear_progress(value=0, show_value=False).classes("w-full")
            self._progress.props('aria-label="share of the curve that is computed"')
            self._chart = ui.echart(curves.chart(self._shown)).classes("w-full h-72")
            self._limit = ui.label(WAITING).classes(f"{SMALL} min-h-5")
            download_buttons(curves.CURVE_FILES, self._file, messages)
        with card("The adviser (public data alone)"):
            self._advice = ui.label(WAITING).classes(f"{SMALL} min-h-10").mark("advice")

    def stop(self) -> None:
        """What is under way is no longer wanted."""
        self._generation += 1

    def _file(self, name: str) -> bytes | None:
        return curves.curve_file(name, self._shown) if self._shown.points else None

    async def renew(self, design: invented.Design, now: tuple[float, float] | None) -> None:
        """Show what is known, compute what is missing, and show each part when it is there."""
        self._generation += 1
        mine = self._generation
        curve = self._curve_of(design)
        curve.now = now
        self._shown = curve
        self._advice.text = self._sentences.get(design, WAITING)
        self._limit.text = WAITING
        self._progress.set_visibility(True)
        self._draw()
        try:
            await self._complete(mine, design, curve)
        except _Unwanted:
            return
        except run.SubprocessException as error:  # its text is not shown
            self._state.text = f"not to be had here ({error.original_type})"
            self._progress.set_visibility(False)
            return
        self._state.text = f"{invented.DRAWS} simulated releases at each ε; bars are 95 % intervals"
        self._progress.set_visibility(False)

    async def _complete(self, mine: int, design: invented.Design, curve: curves.Curve) -> None:
        self._state.text = f"simulating releases at {len(curves.EPSILONS)} values of ε …"
        for epsilon in curves.EPSILONS:
            if epsilon not in curve.points:
                curve.points[epsilon] = await self._computed(invented.curve_point, design, epsilon)
                self._go_on(mine)
        self._state.text = "asking the adviser …"
        if design not in self._sentences:
            asked = design.problem(), design.epsilon, design.delta
            self._sentences[design] = advice_words(
                *await self._computed(invented.advice_on, *asked)
            )
            self._go_on(mine)
        self._advice.text = self._sentences[design]
        self._state.text = "looking for the limit …"
        await self._find_limits(mine, design, curve)

    async def _find_limits(self, mine: int, design: invented.Design, curve: curves.Curve) -> None:
        here = float(design.budget().epsilon)
        found = curve.limits.get(here)
        if found is None:
            found = await self._computed(invented.limit_percent, design)
            if found is not None:
                curve.limits[here] = found
            self._go_on(mine)
        self._limit.text = limit_words(here, found)
        if found is None or design.problem().envelope.size > invented.LARGE:
            return
        for epsilon in curves.EPSILONS:
            if curves.as_number(epsilon) not in curve.limits:
                there = await self._computed(invented.limit_percent, design, epsilon)
                if there is not None:
                    curve.limits[curves.as_number(epsilon)] = there
                self._go_on(mine)

    def _curve_of(self, design: invented.Design) -> curves.Curve:
        """What was computed before for this design at any ε, in this window."""
        key = invented.anywhere(design)
        known = self._curves.pop(key, None) or curves.Curve()
        self._curves[key] = known
        for kept in (self._curves, self._sentences):
            while len(kept) > KEPT:
                kept.pop(next(iter(kept)))
        return known

    async def _computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function in another process."""
        found = await run.cpu_bound(curves.politely, function, *arguments)
        if app.is_stopping or app.is_stopped:
            raise _Unwanted
        return found

    def _go_on(self, mine: int) -> None:
        """Show what was computed, if it is still wanted; it is kept in any case."""
        if mine != self._generation:
            raise _Unwanted
        self._draw()

    def _draw(self) -> None:
        done = len(self._shown.points)
        self._progress.value = done / (len(curves.EPSILONS) + 2)
        self._chart.options.clear()
        self._chart.options.update(curves.chart(self._shown))
        self._chart.update()


class _Unwanted(Exception):  # noqa: N818 - not an error
    """A newer design took the place of this one."""
