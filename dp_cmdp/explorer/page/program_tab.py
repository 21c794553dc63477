"""The tabs *Ad auction* and *Files*: linear programs, with invented or uploaded numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nicegui import events, run, ui

from dp_cmdp.explorer.files import (
    PICTURES,
    PROGRAM_FILES,
    SAMPLE,
    answer_file,
    sample_file,
    strategy_name,
)
from dp_cmdp.explorer.grid_design import GridDesign, with_table
from dp_cmdp.explorer.invented import Found, answer_to
from dp_cmdp.explorer.page import parts
from dp_cmdp.explorer.page.program_parts import ProgramPictures, tell_answer
from dp_cmdp.explorer.page.workbench import Workbench, results_table
from dp_cmdp.explorer.program_design import MOST_BYTES, AuctionDesign, FileDesign
from dp_cmdp.explorer.settings import address, number
from dp_cmdp.explorer.snippets import program_code
from dp_cmdp.explorer.words import loss_words, strategy_words

P = TypeVar("P", AuctionDesign, FileDesign)
NAMES = "private", "robust, no data", "without privacy"
COLUMNS = (("answer", "answer"), ("value", "true objective"), ("loss", "loses"))
PRICES = (
    "The paper's ad auction: visits are sold to advertisers whose prices per visit are known "
    "only through a differentially private release. Prices are invented here, noise is simulated: "
    "nothing is spent."
)
UPLOADED = (
    "What would a private answer of your own linear program be worth? Upload public or invented "
    "files only: their numbers are read and shown at once, and no ledger is debited. Real data is "
    "named at the start, with the ledger that pays: see the tab Real database."
)
BEGIN = (
    "A model (an MPS or LP file), a specification that says which of its numbers are private and "
    "within which public bounds (TOML), and a table with a value for each (CSV). The sample is a "
    "workshop that makes chairs and tables."
)
#: What is uploaded where: a name, and the endings that are taken.
PARTS = {
    "model": ("1. Model", (".mps", ".lp")),
    "spec": ("2. What is private", (".toml",)),
    "table": ("3. Invented values", (".csv",)),
    "hazards": ("Hazards", (".csv",)),
}
PICK = "() => getElement({}).pickFiles()"
#: Of a file that the page does not take: which rule, and the file's name.
REJECTED = "(refused) => emit(refused.map(part => [part.failedPropValidation, part.file.name]))"


class ProgramPanel(Workbench[P, Found, tuple[Found, list[bytes]]]):
    """Answers of a linear program: pictures, numbers, curve, code, files."""

    def __init__(self, design: P, *, tab: str) -> None:
        super().__init__(design)
        self._tab = tab

    def program_places(self) -> ui.column:
        """Results and what comes later; the place for controls."""
        controls = self.places()
        with self.results:
            with parts.card("Result"):
                self._table = results_table(COLUMNS, NAMES)
                self._words = ui.column().classes("gap-1 min-h-16")
            self._pictures = ProgramPictures()
        with self.rest:
            self.closing_cards(PROGRAM_FILES)
        return controls

    def address(self) -> str:
        """Of this design; uploaded files are not in it."""
        shown = self.design.query() if isinstance(self.design, AuctionDesign) else {}
        return address(self._tab, shown)

    def answer(self, design: P, tell: Callable[[Found], Any]) -> tuple[Found, list[bytes]]:
        """Release and solution first, then their pictures, which take longer."""
        found = answer_to(design)
        tell(found)
        return found, [answer_file(name, found.private) for name in PICTURES]

    def sketch(self, part: Found) -> None:
        """Numbers and words, before the pictures."""
        self._tell(part)

    def show(self, found: tuple[Found, list[bytes]]) -> None:
        """All parts of the tab."""
        answers, pictures = found
        self._tell(answers)
        self._pictures.show(pictures)
        self._pictures.show_answers(dict(zip(NAMES, _answers(answers), strict=True)))
        self.renew_code()
        named = strategy_words(self.design.strategy, strategy_name(answers.private))
        self.messages.idle(f"strategy {named}")
        self.follow(self.design, answers.loss)

    def _tell(self, found: Found) -> None:
        losses = (found.loss, found.robust_loss, 0.0)
        self._table.rows = [
            {
                "answer": name,
                "value": f"{value:,.8g}",
                "loss": loss_words(loss),
            }
            for name, value, loss in zip(NAMES, found.values, losses, strict=True)
        ]
        tell_answer(self._words, found.private)

    def code(self) -> str:
        """Of this design."""
        return program_code(self.design)

    def file(self, name: str) -> bytes | None:
        """A public file of what was found."""
        return None if self.found is None else answer_file(name, self.found[0].private)


class AuctionTab(ProgramPanel[AuctionDesign]):
    """The paper's ad auction, with invented prices."""

    def __init__(self, design: AuctionDesign) -> None:
        super().__init__(design, tab="auction")
        ui.label(PRICES).classes(parts.SMALL)
        with self.program_places(), parts.card("Auction"):
            for label, name in (("Groups of pages", "groups"), ("Advertisers", "advertisers")):
                parts.whole_field(
                    label, getattr(design, name),
                    lambda value, name=name: AuctionDesign().replace(**{name: value}).check(),
                    lambda value, name=name: self.change(**{name: value}),
                )  # fmt: skip
            parts.whole_field(
                "Seed of the prices", design.seed,
                lambda value: AuctionDesign(seed=value).check(),
                lambda value: self.change(seed=value),
            )  # fmt: skip
            parts.LogField(
                "radius of a price", f"{design.radius:g}", base=2, low=-6, high=0,
                tip="how far one price may move between adjacent databases",
                check=lambda text: number("radius", text, low=0.001, high=1.0),
                on_change=lambda text: self.change(radius=float(text)),
            )  # fmt: skip
            parts.budget_fields(self.design, self.change)
            self.strategy_controls()
        self.start()


class FilesTab(ProgramPanel[FileDesign]):
    """An MPS or LP file, or a table of hazards, that is public or invented."""

    def __init__(self) -> None:
        super().__init__(FileDesign(delta="1/1000"), tab="files")
        self._buttons: dict[str, ui.button] = {}
        ui.label(UPLOADED).classes(parts.AMBER)
        with self.program_places():
            self._agreed = ui.checkbox("These files are public or invented")
            with parts.card("A linear program"):
                for part in ("model", "spec", "table"):
                    self._upload(part)
                parts.budget_fields(self.design, self.change)
                self.strategy_controls()
            with parts.card("A table of hazards"):
                ui.label(
                    "Columns row, col, severity (and kind). It becomes the invented hazards of "
                    "a layout, in the tab Grid."
                ).classes(parts.SMALL)
                self._layout = ui.input("For the layout", value="islands")
                self._layout.classes("w-full").props('dense aria-label="For the layout"')
                self._upload("hazards")
        with self.first, parts.card("Three files make a private linear program") as self._begin:
            ui.label(BEGIN).classes(parts.SMALL)
            ui.button("Use the sample files", on_click=self._sample).props("no-caps")
            parts.download_buttons(SAMPLE, sample_file, self.messages)
        self._show_results(False)
        self.messages.idle("upload a model, a specification and values to begin")

    def _show_results(self, there: bool) -> None:
        for part, shown in ((self.results, there), (self.rest, there), (self._begin, not there)):
            part.set_visibility(shown)

    def start(self) -> None:
        """As in every tab; where the files explained themselves, results appear."""
        self._show_results(True)
        super().start()

    def _sample(self) -> None:
        model, spec, table = (sample_file(name).decode() for name in SAMPLE)
        for part, name in zip(("model", "spec", "table"), SAMPLE, strict=True):
            self._buttons[part].text = f"{PARTS[part][0]}: {name}"
        self.change(model_name=SAMPLE[0], model=model, spec=spec, table=table)

    def change(self, **changes: Any) -> None:
        """As in every tab; before the files are there, only remember."""
        if self.design.missing and "model" not in changes:
            self.design = self.design.replace(**changes)
        else:
            super().change(**changes)

    def _upload(self, part: str) -> None:
        name, endings = PARTS[part]
        label = f"{name} ({', '.join(endings)})"

        def rejected(event: events.GenericEventArguments) -> None:
            for rule, given in event.args:
                why = f"must be a {' or '.join(endings)} file"
                if rule == "max-file-size":
                    why = f"must have at most {MOST_BYTES // 10**6} MB"
                self.messages.refused(f"{name}: {given} {why}")

        place = ui.upload(
            auto_upload=True,
            max_file_size=MOST_BYTES,
            on_upload=lambda event: self._took(part, event),
        ).props(f'accept="{",".join(endings)}"')
        place.classes(f"hidden upload-{part}").on("rejected", rejected, js_handler=REJECTED)
        button = ui.button(label, icon="upload_file").props(f"{parts.BUTTON} align=left")
        button.classes("w-full").on("click", js_handler=PICK.format(place.id))
        self._buttons[part] = button

    async def _took(self, part: str, event: events.UploadEventArguments) -> None:
        self.messages.refused("")
        if not self._agreed.value:
            self.messages.refused(
                "say first that the files are public or invented; nothing was read"
            )
            event.sender.reset()  # pyright: ignore[reportAttributeAccessIssue]
            return
        try:
            text = (await event.file.read()).decode("utf-8")
        except UnicodeDecodeError:
            self.messages.refused("a file must be text in UTF-8")
            return
        if part == "hazards":
            await self._hazards(text)
            return
        self._buttons[part].text = f"{PARTS[part][0]}: {event.file.name}"
        changes = {part: text}
        if part == "model":
            changes["model_name"] = event.file.name
        self.design = self.design.replace(**changes)
        if self.design.missing:
            self.messages.idle(f"still missing: {', '.join(self.design.missing)}")
            return
        self.start()

    async def _hazards(self, text: str) -> None:
        try:
            found = await run.io_bound(_design_of, (self._layout.value or "").strip(), text)
        except Exception as error:
            self.messages.failed(error)
            return
        if found is not None:
            ui.navigate.to(address("grid", found.query()), new_tab=False)


def _design_of(layout: str, text: str) -> GridDesign:
    """The design of a layout with the hazards of a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hazards.csv"
        path.write_text(text, encoding="utf-8")
        design = GridDesign(layout=layout)
        design.check()
        return with_table(design, path)


def _answers(found: Found) -> tuple[Any, Any, Any]:
    return found.private, found.private.robust, found.best
