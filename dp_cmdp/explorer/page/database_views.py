"""What is shown of a real database: public facts and releases, on a grid or of a program.

No view has a way to the values: it gets public facts, and what was released.
"""

from __future__ import annotations

from typing import Any

from nicegui import run, ui

from dp_cmdp.cmdp.private_policy import PrivatePolicy
from dp_cmdp.cmdp.synthesis import SafePolicy
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.grid_answer import highest_costs, robust_of, saturation_share
from dp_cmdp.explorer.page.maps import (
    DATA_MARKS,
    POLICY_MARKS,
    DrawnMap,
    Player,
    PolicyMap,
    legend,
)
from dp_cmdp.explorer.page.parts import SMALL, card
from dp_cmdp.explorer.page.program_parts import ProgramPictures, allocation_picture, tell_answer
from dp_cmdp.explorer.page.workbench import results_table
from dp_cmdp.explorer.sources import AuctionSource, FileSource, GridSource
from dp_cmdp.explorer.words import certificate_words, guarantee_words, saturation_words
from dp_cmdp.metrics import saturation
from dp_cmdp.program.linear_program import Solution
from dp_cmdp.release.solve import PrivateAnswer, robust_solution

NOTHING = "Nothing was released yet in this run. The robust {} uses no data."


class GridView:
    """Maps: candidates with released intervals, the robust policy and the private one."""

    def __init__(self, source: GridSource) -> None:
        self._layout, self._model = source.layout, source.public()
        self._made: PrivatePolicy | None = None
        self._robust: SafePolicy | None = None
        with card("Maps"):
            self._facts = ui.label("").classes(SMALL).props("role=status aria-live=polite")
            legend(*DATA_MARKS, *POLICY_MARKS)
            with ui.element("div").classes(
                "w-full grid gap-4 grid-cols-1 md:grid-cols-2 xl:grid-cols-3"
            ):
                with ui.column().classes("w-full gap-1"):
                    ui.label("Data released").classes("font-semibold")
                    ui.label("public bounds, and what was released").classes(SMALL)
                    self._data = DrawnMap(
                        self._layout, label="Map: arrow keys move, facts are read above",
                        on_cell=lambda _cell, _pressed: self._mark(),
                    )  # fmt: skip
                self._policies = []
                for title, note in (
                    ("Robust policy", "no data: ε = 0"),
                    ("Private policy", "none before a release"),
                ):
                    with ui.column().classes("w-full gap-1"):
                        self._policies.append(PolicyMap(self._layout, title, note))
            self._player = Player(on_seed=lambda _: self._show_policies())
            ui.label(
                "Costs of the episode are the highest that is publicly possible, not true ones."
            ).classes(SMALL)
        with card("What came out"):
            self._words = ui.column().classes("gap-1")

    async def open(self) -> None:
        """The policy without data, which also says whether a release can be made safe at all."""
        self._robust = await run.io_bound(robust_of, self._layout)

    async def show(self, made: PrivatePolicy | None) -> None:
        """All that may be shown of a release, or of none."""
        self._made = made
        release = made.release if made else None
        self._data.show(self._layout, map_svg.data_map(self._layout, release=release))
        self._mark()
        self._show_policies()
        self._words.clear()
        with self._words:
            for text in self._told():
                ui.label(text).classes(SMALL)

    def _mark(self) -> None:
        release = self._made.release if self._made else None
        self._data.mark({})
        self._facts.text = cell_words(
            self._layout, self._data.cursor, release=release, severity=None
        )

    def _show_policies(self) -> None:
        made, shown = self._made, []
        if self._robust is not None:
            shown.append((self._policies[0], self._robust, None, "no data: ε = 0"))
        if made is not None:
            epsilon = float(made.release.guarantee.epsilon)
            note = f"from the release with ε = {epsilon:g}"
            shown.append((self._policies[1], made.safe, made.release, note))
        for drawn, safe, release, note in shown:
            drawn.show(
                self._layout, safe.policy, model=self._model,
                costs=highest_costs(self._layout, release), seed=self._player.seed,
                note=f"value {safe.value:.4g}, {note}",
            )  # fmt: skip
        self._player.show([part[0] for part in shown])

    def _told(self) -> list[str]:
        made = self._made
        if made is None:
            return [NOTHING.format("policy")]
        return [
            f"Private policy: value {made.safe.value:.5g}; robust policy, no data: "
            f"{made.robust.value:.5g}.",
            *certificate_words(made.safe, self._model.names, release=True),
            saturation_words(saturation_share(self._model, made.release)),
            guarantee_words(made.release),
            *debit_words(made),
        ]


class ProgramView:
    """Objectives, released intervals, and the answers variable by variable."""

    def __init__(self, source: AuctionSource | FileSource) -> None:
        self._source = source
        self._robust: Solution | None = None
        with card("What came out"):
            self._table = results_table(
                (("answer", "answer"), ("value", "objective at the released estimate"))
            )
            self._words = ui.column().classes("gap-1")
        self._pictures = ProgramPictures()

    async def open(self) -> None:
        """The answer without data, which also says whether a release can be answered at all."""
        self._robust = await run.io_bound(robust_solution, self._source.public())

    async def show(self, made: PrivateAnswer | None) -> None:
        """All that may be shown of a release, or of none."""
        robust = made.robust if made else self._robust
        answers = {} if made is None else {"private": made.solution}
        if robust is not None:
            answers["robust, no data"] = robust
        self._table.rows = [
            {"answer": name, "value": f"{self._source.shown(found.objective):.8g}"}
            for name, found in answers.items()
        ]
        points = {name: found.x for name, found in answers.items()}
        if isinstance(self._source, AuctionSource) and points:
            shape = self._source.groups, self._source.advertisers
            picture = await run.io_bound(
                allocation_picture, shape, points, title="Visits sold (public answers)"
            )
            self._pictures.show_allocations(picture or b"")
        else:
            self._pictures.show_columns(self._source.column_names(), points)
        if made is None:
            self._words.clear()
            with self._words:
                ui.label(NOTHING.format("answer")).classes(SMALL)
            return
        released = await run.io_bound(self._source.file, "release.png", made)
        self._pictures.show_release(released or b"")
        share = saturation(made.release, self._source.public().envelope).whole
        tell_answer(self._words, made, share, *debit_words(made))


def debit_words(made: Any) -> list[str]:
    """Which entry of the ledger paid."""
    debit = made.release.ledger
    return [] if debit is None else [f"Debited as entry {debit.index} of the ledger."]
