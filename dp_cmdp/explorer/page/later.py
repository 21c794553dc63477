"""What may arrive later: curve, limit and the adviser's sentence, computed in other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import app, context, run, ui

from dp_cmdp.explorer.curve import (
    DRAWS,
    EPSILONS,
    LARGE,
    Invented,
    Point,
    advice_sentence,
    as_number,
    chart,
    curve_point,
    limit_percent,
    politely,
)
from dp_cmdp.explorer.page.parts import SMALL, card
from dp_cmdp.explorer.words import limit_words

WAITING = "…"


def _robust_loss(design: Invented) -> float:
    return design.robust_loss()


class Later:
    """The card with the curve, and the adviser's sentence above it."""

    def __init__(self) -> None:
        self._generation = 0
        context.client.on_delete(self.stop)
        with card("What privacy costs here (judged against the invented data)"):
            self._state = ui.label("").classes(SMALL).props("role=status aria-live=polite")
            self._progress = ui.linear_progress(value=0, show_value=False).classes("w-full")
            self._chart = ui.echart(chart([], robust=None, limits={}, now=None)).classes(
                "w-full h-72"
            )
            self._limit = ui.label("").classes(SMALL)
        with card("The adviser (public data alone)"):
            self._advice = ui.label(WAITING).classes(SMALL).mark("advice")

    def stop(self) -> None:
        """What is under way is no longer wanted."""
        self._generation += 1

    async def renew(
        self, design: Invented, *, plan: Mapping[str, Any], now: tuple[float, float] | None
    ) -> None:
        """Compute everything anew, and show each part when it is there."""
        self._generation += 1
        mine = self._generation
        points: list[Point] = []
        limits: dict[float, float] = {}
        robust: float | None = None
        self._advice.text = self._limit.text = WAITING
        self._progress.set_visibility(True)

        def show(done: int) -> None:
            self._progress.value = done / (len(EPSILONS) + 2)
            self._draw(chart(points, robust=robust, limits=limits, now=now))

        show(0)
        try:
            self._state.text = f"simulating releases at {len(EPSILONS)} values of ε …"
            robust = await self._wanted(mine, _robust_loss, design)
            for number, epsilon in enumerate(EPSILONS):
                points.append(await self._wanted(mine, curve_point, design, epsilon, plan))
                show(number + 1)
            self._state.text = "asking the adviser …"
            self._advice.text = await self._wanted(mine, advice_sentence, design)
            show(len(EPSILONS) + 1)
            self._state.text = "looking for the limit …"
            await self._find_limits(mine, design, limits, lambda: show(len(EPSILONS) + 1))
        except _Unwanted:
            return
        except run.SubprocessException as error:  # its text is not shown
            self._state.text = f"not to be had here ({error.original_type})"
            self._progress.set_visibility(False)
            return
        self._state.text = f"{DRAWS} simulated releases at each ε; bars are 95 % intervals"
        self._progress.set_visibility(False)

    async def _find_limits(
        self, mine: int, design: Invented, limits: dict[float, float], show: Callable[[], None]
    ) -> None:
        budget = design.budget()
        found = await self._wanted(mine, limit_percent, design)
        self._limit.text = limit_words(float(budget.epsilon), found)
        if found is None:
            return
        limits[float(budget.epsilon)] = found
        show()
        if design.public().envelope.num_entries > LARGE:
            return
        for epsilon in EPSILONS:
            there = await self._wanted(mine, limit_percent, design, epsilon)
            if there is not None:
                limits[as_number(epsilon)] = there
            show()

    async def _wanted(self, mine: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function in another process, if it is still wanted by then."""
        if mine != self._generation:
            raise _Unwanted
        found = await run.cpu_bound(politely, function, *arguments)
        if mine != self._generation or app.is_stopping or app.is_stopped:
            raise _Unwanted
        return found

    def _draw(self, options: dict[str, Any]) -> None:
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()


class _Unwanted(Exception):  # noqa: N818 - not an error
    """A newer design took the place of this one."""
