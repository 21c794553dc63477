"""What is shown of a real database: public bounds and releases, on a grid or of a program.

No view has a way to the values: it gets public structure, and what was released.
"""

from __future__ import annotations

from typing import Any

from nicegui import run, ui

import dp_cmdp as dp
from dp_cmdp.explorer import words
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.episodes import cost_table, places_of
from dp_cmdp.explorer.files import PICTURES, answer_file
from dp_cmdp.explorer.page import maps
from dp_cmdp.explorer.page.parts import MAPS, SMALL, card
from dp_cmdp.explorer.page.program_parts import ProgramPictures, tell_answer
from dp_cmdp.explorer.page.workbench import results_table
from dp_cmdp.explorer.paid import entry_of
from dp_cmdp.explorer.sources import GridSource, Source

NOTHING = "Nothing was released yet in this run. The robust {} uses no data."


class GridView:
    """Maps: candidates with released intervals, the robust policy and the private one."""

    def __init__(self, source: GridSource) -> None:
        self._layout, self._model = source.layout, source.problem()
        self._places = places_of(self._layout)
        self._answer: Any = None
        self._robust: Any = None
        with card("Maps"):
            with ui.element("div").classes(f"{MAPS} grid-cols-1 md:grid-cols-2 xl:grid-cols-3"):
                with ui.column().classes("w-full gap-1"):
                    ui.label("Data released").classes("font-semibold")
                    ui.label("public bounds, and what was released").classes(SMALL)
                    self._data = maps.DrawnMap(
                        self._places, label="Map: arrow keys move, the cell is described above",
                        on_cell=lambda _cell, _pressed: self._mark(),
                    )  # fmt: skip
                self._policies = []
                for title, note in (
                    ("Robust policy", "no data: ε = 0"),
                    ("Private policy", "none before a release"),
                ):
                    with ui.column().classes("w-full gap-1"):
                        self._policies.append(maps.PolicyMap(self._layout, title, note))
            self._player = maps.Player(on_seed=lambda _: self._show_policies())
            self._facts = ui.label("").classes(SMALL).props("role=status aria-live=polite")
            maps.legend(*maps.DATA_MARKS, *maps.POLICY_MARKS)
            ui.label(
                "Costs of the episode are the highest that is publicly possible, not true ones."
            ).classes(SMALL)
        with card("What is proved"):
            self._words = ui.column().classes("gap-1")

    async def open(self) -> None:
        """The policy without data, which also says whether a release can be made safe at all."""
        self._robust = await run.io_bound(dp.answer, self._model)

    async def show(self, answer: Any) -> None:
        """All that may be shown of a release, or of none."""
        self._answer = answer
        self._data.show(self._places, release=answer.release if answer else None)
        self._mark()
        self._show_policies()
        self._words.clear()
        with self._words:
            for text in self._sentences():
                ui.label(text).classes(SMALL)

    def _mark(self) -> None:
        release = self._answer.release if self._answer else None
        self._data.mark({})
        self._facts.text = cell_words(self._places, self._data.cursor, release=release)

    def _show_policies(self) -> None:
        answer, shown = self._answer, []
        if self._robust is not None:
            shown.append((self._policies[0], self._robust, "no data: ε = 0"))
        if answer is not None:
            note = f"from the release with ε = {float(answer.release.budget.epsilon):g}"
            shown.append((self._policies[1], answer, note))
        for drawn, found, note in shown:
            drawn.show(
                self._layout, found.policy, costs=cost_table(self._layout, found.known.upper),
                seed=self._player.seed, note=f"value {found.value:.4g}, {note}",
            )  # fmt: skip
        self._player.show([part[0] for part in shown])

    def _sentences(self) -> list[str]:
        answer = self._answer
        if answer is None:
            return [NOTHING.format("policy")]
        return [
            f"Private policy: value {answer.value:.5g}; robust policy, no data: "
            f"{answer.robust.value:.5g}.",
            *words.certificate_words(answer),
            words.saturation_words(answer.release.saturation),
            words.guarantee_words(answer.release),
            debit_words(answer),
        ]


class ProgramView:
    """Objectives, released intervals, and the answers variable by variable."""

    def __init__(self, source: Source) -> None:
        self._problem = source.problem()
        self._robust: Any = None
        with card("Result"):
            self._table = results_table(
                (("answer", "answer"), ("value", "objective at the released estimate"))
            )
            self._words = ui.column().classes("gap-1")
        self._pictures = ProgramPictures()

    async def open(self) -> None:
        """The answer without data, which also says whether a release can be answered at all."""
        self._robust = await run.io_bound(dp.answer, self._problem)

    async def show(self, answer: Any) -> None:
        """All that may be shown of a release, or of none."""
        answers = {} if answer is None else {"private": answer}
        if self._robust is not None:
            answers["robust, no data"] = self._robust if answer is None else answer.robust
        self._table.rows = [
            {"answer": name, "value": f"{found.value:.8g}"} for name, found in answers.items()
        ]
        if answers:
            self._pictures.show_answers(answers)
        if answer is None:
            self._words.clear()
            with self._words:
                ui.label(NOTHING.format("answer")).classes(SMALL)
            return
        pictures = [await run.io_bound(answer_file, name, answer) or b"" for name in PICTURES]
        self._pictures.show(pictures)
        tell_answer(self._words, answer, debit_words(answer))


def debit_words(answer: Any) -> str:
    """Which entry of the ledger paid."""
    return f"Debited as entry {entry_of(answer.release)} of the ledger."
