"""What every tab with invented data does: take a design, compute elsewhere, show the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from nicegui import background_tasks, context, run, ui

import dp_cmdp as dp
from dp_cmdp.errors import Error
from dp_cmdp.explorer.page import parts
from dp_cmdp.explorer.page.later import Later
from dp_cmdp.explorer.settings import Settings

SIMULATED = (
    "Public files: dp-cmdp verify judges the first three, in one folder. Here they come from a "
    "simulation and say so."
)

D = TypeVar("D", bound=Settings)
S = TypeVar("S")
A = TypeVar("A")


class Workbench(Generic[D, S, A]):
    """A design, what is known of it early (a sketch), and all that follows from it."""

    messages: parts.Messages
    later: Later
    renew_code: Callable[[], None]

    def __init__(self, design: D) -> None:
        self.design: D = design
        self.found: A | None = None
        self._running = self._waiting = False
        self._client = context.client

    def address(self) -> str:
        """The address that brings this design back."""
        raise NotImplementedError

    def answer(self, design: D, tell: Callable[[S], Any]) -> A:
        """What follows from a design; `tell` gets what is known early. In a thread of its own."""
        raise NotImplementedError

    def sketch(self, part: S) -> None:
        """Show what is known early; runs in the page."""
        raise NotImplementedError

    def show(self, found: A) -> None:
        """Show it; runs in the page."""
        raise NotImplementedError

    def code(self) -> str:
        """The code that does what the tab shows."""
        raise NotImplementedError

    def file(self, name: str) -> bytes | None:
        """What is downloaded under a name; None where nothing was found yet."""
        raise NotImplementedError

    def strategy_controls(self) -> None:
        """Fields for strategy and noise."""
        parts.strategy_select(self.design.strategy, lambda strategy: self.change(strategy=strategy))
        parts.whole_field(
            "Seed of the noise", self.design.noise,
            lambda seed: Settings(noise=seed).check(), lambda seed: self.change(noise=seed),
        )  # fmt: skip

    def closing_cards(self, files: Sequence[str]) -> None:
        """What stands below the answer: what privacy costs, the code, the files."""
        self.later = Later(self.messages)
        self.renew_code = parts.code_card(self.code)
        parts.download_card(files, self.file, self.messages, SIMULATED)

    def change(self, **changes: Any) -> None:
        """Take a changed design, if it can be used, and compute."""
        try:
            wanted = self.design.replace(**changes)
            wanted.check()
        except Error as error:
            self.messages.failed(error)
            return
        if wanted != self.design:
            self.design = wanted
            self.start()

    def start(self) -> None:
        """Compute what follows from the design; of several requests the last one counts."""
        with self._client:
            ui.navigate.history.replace(self.address())
        self.later.stop()
        self._waiting = True
        if not self._running:
            background_tasks.create(self._compute(), name="answer")

    async def _compute(self) -> None:
        self._running = True
        try:
            while self._waiting:
                self._waiting = False
                design = self.design
                self.messages.refused("")
                self.messages.busy(f"computing: {design.strategy} release …")
                try:
                    found = await run.io_bound(self.answer, design, self._teller(design))
                except Exception as error:
                    self.messages.failed(error)
                    self.messages.idle("the last answer is shown" if self.found else "")
                    continue
                if found is not None and design == self.design:
                    self.found = found
                    with self._client:
                        self.show(found)
        finally:
            self._running = False

    def _teller(self, design: D) -> Callable[[S], Any]:
        """Hands sketches from the thread to the page, while their design is the present one."""
        loop = asyncio.get_running_loop()

        def shown(part: S) -> None:
            if design == self.design and self._client.id in type(self._client).instances:
                with self._client:
                    self.sketch(part)

        return lambda part: loop.call_soon_threadsafe(shown, part)

    def follow(self, design: Any, strategy: dp.Strategy, loss: float | None) -> None:
        """Start what may arrive later."""
        now = None if loss is None else (float(design.budget().epsilon), loss)
        background_tasks.create(self.later.renew(design, strategy=strategy, now=now), name="curve")


def results_table(columns: tuple[tuple[str, str], ...]) -> ui.table:
    """A table of answers: the first column names them, the others are numbers."""
    first = columns[0][0]
    table = ui.table(
        columns=[
            {
                "name": name,
                "label": label,
                "field": name,
                "align": "left" if name == first else "right",
            }
            for name, label in columns
        ],
        rows=[],
        row_key=first,
    )
    table.classes("w-full").props("dense flat bordered hide-pagination")
    return table
