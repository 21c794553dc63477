"""Pieces that every tab is made of: fields with sliders, messages, code, downloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import events, run, ui

import dp_cmdp as dp
from dp_cmdp.errors import Error
from dp_cmdp.explorer.settings import STOP, Settings, slider_place, slider_text
from dp_cmdp.explorer.words import refusal

CARD = "w-full p-3 md:p-4 gap-2 shadow-sm border border-gray-200 bg-white"
SMALL = "text-sm text-gray-700"
AMBER = f"{SMALL} bg-amber-50 border border-amber-300 rounded p-2 w-full"
RED = "w-full text-sm text-red-900 bg-red-50 border border-red-300 rounded p-2"
MAPS = "w-full grid gap-2 md:gap-4"
#: Results, controls, what comes later: below each other, or the controls left of both.
COLUMNS = (
    "w-full grid grid-cols-1 items-start gap-x-4 gap-y-2 "
    "lg:grid-cols-[19rem_minmax(0,1fr)] lg:grid-rows-[auto_1fr]"
)
RIGHT, LEFT = "lg:col-start-2", "lg:col-start-1 lg:row-start-1 lg:row-span-2"
#: On a phone with narrow cells.
TABLE = "w-full max-md:[&_td]:px-1! max-md:[&_th]:px-1!"
#: What is shown until something is known, and how an answer to an earlier design looks.
WAITING, PULSE = "…", "animate-pulse"
STALE = (
    "[&_.q-card]:bg-gray-100! [&_.q-table__card]:bg-gray-100! [&_.q-table]:text-gray-600! "
    "[&_[role=img][aria-label]]:opacity-50 [&_[role=img][aria-label]]:grayscale"
)
BUTTON = "outline dense no-caps"
#: A field whose refusal takes the room it needs below it.
FIELD = "dense hide-bottom-space"
#: Seconds between two readings of a slider that is moved; the first is at once.
TICK = 0.1
#: Milliseconds without a key after which a typed number is taken.
TYPED = 200
STRATEGIES = {
    "auto": "auto: what is best in simulations",
    "entries": "entries: an interval per number",
    "queries": "queries: bounds on sums besides",
    "worst row": "worst row: the largest of the rows",
}


def scrolling(label: str) -> ui.element:
    """A place for what may be wider than a phone: it scrolls, by keys too."""
    box = ui.element("div").classes("w-full overflow-x-auto focus:outline focus:outline-blue-600")
    return box.props(f'tabindex=0 role=region aria-label="{label}"')


@contextmanager
def card(title: str):
    """A titled box."""
    with ui.card().classes(CARD) as box:
        ui.label(title).classes("text-base font-semibold").props("role=heading aria-level=2")
        yield box


def columns() -> Sequence[ui.column]:
    """Places for results, controls, and what comes later."""
    with ui.element("div").classes(COLUMNS):
        places = (RIGHT, LEFT, RIGHT)
        return [ui.column().classes(f"w-full gap-4 min-w-0 {place}") for place in places]


class Results(ui.column):
    """What follows from a design; it says by its look whether it follows from the present one."""

    def __init__(self) -> None:
        super().__init__()
        self.classes("w-full gap-4 transition duration-200 delay-150")

    def wait(self, *, known: bool) -> None:
        """Another answer is under way; the last one stays, where one is `known`, in grey."""
        self.classes(STALE if known else PULSE).props("aria-busy=true")

    def settle(self, *, stale: bool) -> None:
        """Nothing is under way; what is shown is `stale` where the design has no answer."""
        self.classes(STALE if stale else "", remove=PULSE if stale else f"{PULSE} {STALE}")
        self.props("aria-busy=false")


class LogField:
    """A number as exact text and, beside it, a slider over its powers.

    Parameters
    ----------
    label : str
    value : str
    base, low, high : float
        The slider goes over base^low … base^high.
    check : callable
        Raises one of our errors for a text that cannot be used.
    on_change : callable
        Gets the text, once it can be used.
    """

    def __init__(
        self,
        label: str,
        value: str,
        *,
        base: float,
        low: float,
        high: float,
        check: Callable[[str], Any],
        on_change: Callable[[str], Any],
        tip: str,
    ) -> None:
        self._base, self._check, self._on_change = base, check, on_change
        self._quiet = False
        with ui.column().classes("w-full gap-1"):
            self.text = ui.input(
                label, value=value, validation=self._wrong, on_change=self._typed
            ).classes("w-full")
            self.text.props(f'{FIELD} debounce={TYPED} aria-label="{label}"').tooltip(tip)
            self.slider = (
                ui.slider(min=low, max=high, step=STOP, value=self._place(value))
                .props(f'dense aria-label="{label}, slider"')
                .on("update:model-value", self._moved, throttle=TICK)
            )

    def _wrong(self, text: str | None) -> str | None:
        try:
            self._check((text or "").strip())
        except Error as error:
            return str(error)
        return None

    def _place(self, text: str) -> float:
        return slider_place(text, base=self._base)

    def _typed(self, event: events.ValueChangeEventArguments) -> None:
        text = (event.value or "").strip()
        if self._quiet or self._wrong(text) is not None:
            return
        self.slider.value = self._place(text)
        self._on_change(text)

    def _moved(self, event: events.GenericEventArguments) -> None:
        text = slider_text(float(event.args), base=self._base)
        self._quiet = True
        self.text.value = text
        self._quiet = False
        self._on_change(text)

    def show(self, text: str) -> None:
        """Show a value that came from elsewhere."""
        self._quiet = True
        self.text.value, self.slider.value = text, self._place(text)
        self._quiet = False


class Messages:
    """One place for what is refused and what is under way; read aloud by screen readers."""

    def __init__(self) -> None:
        with ui.row().classes("w-full items-center min-h-8 gap-2 no-wrap"):
            self._spinner = ui.spinner(size="sm").mark("busy")
            self._text = ui.label("").classes(SMALL).props("role=status aria-live=polite")
        self._error = ui.label("").classes(RED).style("overflow-wrap: anywhere").props("role=alert")
        self.idle()
        self.refused("")

    def busy(self, text: str) -> None:
        """Something is being computed."""
        self._spinner.set_visibility(True)
        self._text.text = text

    def idle(self, text: str = "") -> None:
        """Nothing is."""
        self._spinner.set_visibility(False)
        self._text.text = text

    def refused(self, text: str) -> None:
        """Show why something was not done; an empty text takes it back."""
        self._error.text = text
        self._error.set_visibility(bool(text))

    def failed(self, error: BaseException) -> None:
        """Show an error of ours; of others only the kind."""
        self.refused(refusal(error))


def code_card(code: Callable[[], str]) -> Callable[[], None]:
    """The code that does this, with a button that copies it; returns what renews it."""
    with card("The code that does this"):
        with ui.expansion("Show the code", icon="code").classes("w-full") as box:
            shown = ui.code("", language="python").classes("w-full text-xs")

        def copy() -> None:
            ui.clipboard.write(code())
            ui.notify("copied", type="positive", position="bottom")

        ui.button("Copy the code", icon="content_copy", on_click=copy).props(BUTTON)

    def renew() -> None:
        if box.value:  # colouring long code takes longer than a small answer
            shown.content = code()

    box.on_value_change(renew)
    return renew


def download_card(
    names: Sequence[str], make: Callable[[str], bytes | None], messages: Messages, note: str
) -> None:
    """A titled box with a button for each file."""
    with card("Download"):
        ui.label(note).classes(SMALL)
        download_buttons(names, make, messages)


def download_buttons(
    names: Sequence[str], make: Callable[[str], bytes | None], messages: Messages
) -> None:
    """A button for each file, made when it is asked for."""

    async def give(name: str) -> None:
        try:
            content = await run.io_bound(make, name)
        except Exception as error:
            messages.failed(error)
            return
        if content is None:
            messages.refused("there is nothing to download yet")
        else:
            ui.download.content(content, name)

    with ui.row().classes("gap-2"):
        for name in names:
            ui.button(name, icon="download", on_click=lambda _, name=name: give(name)).props(BUTTON)


def strategy_select(value: str, on_change: Callable[[str], Any]) -> ui.select:
    """The choice of a strategy."""
    return (
        ui.select(
            STRATEGIES,
            value=value,
            label="Strategy",
            on_change=lambda event: on_change(event.value),
        )
        .classes("w-full")
        .props('dense options-dense aria-label="Strategy"')
    )


def whole_field(
    label: str, value: int, check: Callable[[int], Any], on_change: Callable[[int], Any]
) -> ui.number:
    """A whole number; what cannot be used is said below the field."""

    def wrong(given: float | None) -> str | None:
        if given is None or given != int(given):
            return "must be a whole number"
        try:
            check(int(given))
        except Error as error:
            return str(error)
        return None

    def changed(event: events.ValueChangeEventArguments) -> None:
        if wrong(event.value) is None:
            on_change(int(event.value))

    field = ui.number(label, value=value, step=1, validation=wrong, on_change=changed)
    return field.classes("w-full").props(f'{FIELD} debounce={TYPED} aria-label="{label}"')


def budget_fields(settings: Settings, change: Callable[..., None]) -> None:
    """Fields for ε and δ."""
    LogField(
        "ε", settings.epsilon, base=2, low=-3, high=4, tip="smaller is more private",
        check=lambda text: _budget(text, "1/10"), on_change=lambda text: change(epsilon=text),
    )  # fmt: skip
    LogField(
        "δ", settings.delta, base=10, low=-6, high=-0.5, tip="in (0, 1/2]",
        check=lambda text: _budget("1", text), on_change=lambda text: change(delta=text),
    )  # fmt: skip


def _budget(epsilon: str, delta: str) -> None:
    dp.PrivacyBudget(epsilon, delta)
