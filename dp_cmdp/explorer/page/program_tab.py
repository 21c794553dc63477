"""The tabs *Ad auction* and *Files*: linear programs, with invented or uploaded numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nicegui import events, run, ui

from dp_cmdp.explorer.files import PICTURES, PROGRAM_FILES, answer_file, strategy_name
from dp_cmdp.explorer.grid_design import GridDesign, with_table
from dp_cmdp.explorer.invented import Found, answer_to
from dp_cmdp.explorer.page import parts
from dp_cmdp.explorer.page.program_parts import ProgramPictures, tell_answer
from dp_cmdp.explorer.page.workbench import Workbench, results_table
from dp_cmdp.explorer.program_design import MOST_BYTES, AuctionDesign, FileDesign
from dp_cmdp.explorer.settings import address, number
from dp_cmdp.explorer.snippets import program_code

P = TypeVar("P", AuctionDesign, FileDesign)
NAMES = "private", "robust, no data", "without privacy"
PRICES = (
    "Invented data: prices are drawn here from a seed, so the truth may be shown and nothing is "
    "spent. Noise is simulated from a seed. Real prices: see the tab Real database."
)
UPLOADED = (
    "Upload public or invented files only. They are treated as such: their numbers are read at "
    "once, the truth is shown, no ledger is debited. Real data is named at the start, with the "
    "ledger that pays: see the tab Real database."
)


class ProgramPanel(Workbench[P, Found, tuple[Found, list[bytes]]]):
    """Answers of a linear program: pictures, numbers, curve, code, files."""

    def __init__(self, design: P, *, tab: str) -> None:
        super().__init__(design)
        self._tab = tab

    def results(self) -> None:
        """The right-hand side of the tab."""
        self.messages = parts.Messages()
        with ui.column().classes("w-full gap-4") as self._results:
            with parts.card("What came out"):
                self._table = results_table(
                    (("answer", "answer"), ("value", "true objective"), ("loss", "loses"))
                )
                self._words = ui.column().classes("gap-1")
            self._pictures = ProgramPictures()
            self.closing_cards(PROGRAM_FILES)
        self._results.set_visibility(False)  # until there are some

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
        self._results.set_visibility(True)
        self._tell(part)

    def show(self, found: tuple[Found, list[bytes]]) -> None:
        """All parts of the tab."""
        answers, pictures = found
        self._pictures.show(pictures)
        private = answers.private
        self._pictures.show_answers(dict(zip(NAMES, _answers(answers), strict=True)))
        self.renew_code()
        self.messages.idle(f"strategy {strategy_name(private)}")
        self.follow(self.design, private.strategy, answers.loss)

    def _tell(self, found: Found) -> None:
        losses = (found.loss, found.robust_loss, 0.0)
        self._table.rows = [
            {
                "answer": name,
                "value": f"{value:,.8g}",
                "loss": "–" if loss is None else f"{loss:.3g} %",
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
        ui.label(PRICES).classes(parts.AMBER)
        with ui.element("div").classes(parts.COLUMNS):
            with ui.column().classes("w-full gap-4"), parts.card("Auction"):
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
            with ui.column().classes("w-full gap-4 min-w-0"):
                self.results()
        self.start()


class FilesTab(ProgramPanel[FileDesign]):
    """An MPS or LP file, or a table of hazards, that is public or invented."""

    def __init__(self) -> None:
        super().__init__(FileDesign(delta="1/1000"), tab="files")
        ui.label(UPLOADED).classes(parts.AMBER)
        with ui.element("div").classes(parts.COLUMNS):
            with ui.column().classes("w-full gap-4"):
                self._agreed = ui.checkbox("These files are public or invented")
                with parts.card("A linear program"):
                    self._uploads: dict[str, ui.label] = {}
                    for part, label, kinds in (
                        ("model", "1. Model (.mps, .lp)", ".mps,.lp"),
                        ("spec", "2. What is private (.toml)", ".toml"),
                        ("table", "3. Invented values (.csv)", ".csv"),
                    ):
                        self._upload(part, label, kinds)
                    parts.budget_fields(self.design, self.change)
                    self.strategy_controls()
                with parts.card("A table of hazards"):
                    ui.label(
                        "Columns row, col, severity (and kind). It becomes the invented hazards of "
                        "a layout, in the tab Grid."
                    ).classes(parts.SMALL)
                    self._layout = ui.input("For the layout", value="islands")
                    self._layout.classes("w-full").props('dense aria-label="For the layout"')
                    self._upload("hazards", "Hazards (.csv)", ".csv")
            with ui.column().classes("w-full gap-4 min-w-0"):
                self.results()
        self.messages.idle("upload a model, a specification and values to begin")

    def change(self, **changes: Any) -> None:
        """As in every tab; before the files are there, only remember."""
        if self.design.missing:
            self.design = self.design.replace(**changes)
        else:
            super().change(**changes)

    def _upload(self, part: str, label: str, kinds: str) -> None:
        ui.upload(
            label=label,
            auto_upload=True,
            max_file_size=MOST_BYTES,
            on_upload=lambda event: self._took(part, event),
            on_rejected=lambda _: self.messages.refused(
                f"{label}: one file of at most {MOST_BYTES // 10**6} MB is taken"
            ),
        ).props(f'flat bordered dense accept="{kinds}" aria-label="{label}"').classes(
            "w-full"
        ).mark(part)

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
