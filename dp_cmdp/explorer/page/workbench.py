"""What every tab with invented data does: take a design, compute elsewhere, show the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from nicegui import background_tasks, context, run, ui

from dp_cmdp.errors import Error
from dp_cmdp.explorer.page import parts
from dp_cmdp.explorer.page.later import Later
from dp_cmdp.explorer.settings import Settings

SIMULATED = (
    "Public files: dp-cmdp verify judges the first three, in one folder. Here they come from a "
    "simulation and say so."
)

#: The last answers of all windows, by design: a way back and the first page cost nothing.
ANSWERS: dict[Settings, Any] = {}
KEPT = 16

D = TypeVar("D", bound=Settings)
S = TypeVar("S")
A = TypeVar("A")


def keep(design: Settings, found: Any) -> None:
    """Keep an answer, in the place of the oldest one."""
    ANSWERS[design] = found
    while len(ANSWERS) > KEPT:
        ANSWERS.pop(next(iter(ANSWERS)))


class Workbench(Generic[D, S, A]):
    """A design, what is known of it early (a sketch), and all that follows from it."""

    first: ui.column
    rest: ui.column
    messages: parts.Messages
    results: parts.Results
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

    def places(self) -> ui.column:
        """Messages and results, and what comes below them; returns the place for controls."""
        self.first, controls, self.rest = parts.columns()
        with self.first:
            self.messages = parts.Messages()
            self.results = parts.Results()
        return controls

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
        self._waiting = self.design not in ANSWERS
        if not self._waiting:
            self._take(ANSWERS[self.design])
            return
        self.results.wait(known=self.found is not None)
        if not self._running:
            background_tasks.create(self._compute(), name="answer")

    def _take(self, found: A) -> None:
        """Show the answer to the present design."""
        self.found = found
        self.messages.refused("")
        with self._client:
            self.show(found)
        self.results.settle(stale=False)

    async def _compute(self) -> None:
        self._running = True
        try:
            while self._waiting:
                self._waiting = False
                design = self.design
                self.messages.refused("")
                self.messages.busy("simulating a release and answering …")
                try:
                    found = await run.io_bound(self.answer, design, self._teller(design))
                except Exception as error:
                    if design == self.design:
                        self.messages.failed(error)
                        self.messages.idle("in grey: the last answer" if self.found else "")
                        self.results.settle(stale=True)
                    continue
                if found is not None:
                    keep(design, found)
                    if design == self.design:
                        self._take(found)
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

    def follow(self, design: Any, loss: float | None) -> None:
        """Start what may arrive later."""
        now = None if loss is None else (float(design.budget().epsilon), loss)
        background_tasks.create(self.later.renew(design, now), name="curve")


def results_table(columns: tuple[tuple[str, str], ...], rows: Sequence[str] = ()) -> ui.table:
    """A table of numbers; the first column names the rows, which wait for their numbers."""
    first = columns[0][0]
    heads = [
        {"name": name, "label": label, "field": name, "align": "left" if name == first else "right"}
        for name, label in columns
    ]
    waiting = [{name: parts.WAITING for name, _ in columns} | {first: row} for row in rows]
    with parts.scrolling("table of results"):
        table = ui.table(columns=heads, rows=waiting, row_key=first).classes(parts.TABLE)
    table.props("dense flat bordered hide-pagination hide-no-data")
    return table
