"""The tab *Real database*: public facts, a ledger, and a button that spends."""

from __future__ import annotations

from nicegui import background_tasks, context, run, ui

from dp_cmdp.accounting.budget import PrivacyBudget, shown_up, weak_budgets
from dp_cmdp.cmdp.private_policy import PrivatePolicy
from dp_cmdp.cmdp.synthesis import SafePolicy
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.curve import public_advice
from dp_cmdp.explorer.custody import Custody, Wish
from dp_cmdp.explorer.files import GRID_FILES, grid_file
from dp_cmdp.explorer.grid_answer import highest_costs, robust_of, saturation_share
from dp_cmdp.explorer.page.grid_tab import budget_fields
from dp_cmdp.explorer.page.maps import DrawnMap, Player, PolicyMap
from dp_cmdp.explorer.page.parts import (
    BUTTON,
    SMALL,
    Messages,
    card,
    download_card,
    plan_select,
)
from dp_cmdp.explorer.settings import address
from dp_cmdp.explorer.words import certificate_words, guarantee_words, saturation_words

WITHOUT = """
No database was named. A real one is named at the start, with the ledger that pays for it, so that
nothing in a page can open a file:

    dp-cmdp ledger create ledger.sqlite --identity site-7 --epsilon 4 --delta 1e-3
    dp-cmdp explore --layout my.json --hazards mine.json --ledger ledger.sqlite --identity site-7
"""


class NoDatabaseTab:
    """What the tab says when no database was named."""

    def __init__(self) -> None:
        with card("Real database"):
            ui.markdown(WITHOUT).classes("w-full overflow-x-auto")

    def address(self) -> str:
        """Of this tab."""
        return address("database", {})


class DatabaseTab:
    """What may be shown of a real database: public facts, and what was released."""

    def __init__(self, custody: Custody, settings: Wish) -> None:
        self._custody = custody
        self._settings = settings
        self._shown: PrivatePolicy | None = custody.made[-1].private if custody.made else None
        self._robust: SafePolicy | None = None
        self._client = context.client
        ui.label(
            f"Real data ({custody.identity}): nothing is drawn but public facts and releases. "
            "Moving a slider spends nothing; each press of Release spends, and nothing is refunded."
        ).classes(f"{SMALL} bg-red-50 border border-red-300 rounded p-2 w-full")
        with ui.element("div").classes(
            "w-full grid grid-cols-1 lg:grid-cols-[19rem_minmax(0,1fr)] gap-4 mt-4"
        ):
            with ui.column().classes("w-full gap-4"):
                self._controls()
            with ui.column().classes("w-full gap-4 min-w-0"):
                self._results()
        background_tasks.create(self._open(), name="database")

    def _controls(self) -> None:
        with card("Ledger"):
            self._account = ui.label("").classes(SMALL).mark("account")
            self._left = ui.linear_progress(value=0, show_value=False).props(
                'aria-label="share of ε that remains"'
            )
        with card("Release"):
            budget_fields(self._settings, self._change)
            plan_select(self._settings.plan, lambda plan: self._change(plan=plan))
            self._price = ui.label("").classes(SMALL).mark("price")
            self._button = ui.button("Release", icon="lock_open", on_click=self._release)
            self._button.props("color=negative no-caps").classes("w-full")
        with card("The adviser (public data alone)"):
            self._advice = ui.label("").classes(SMALL)
            self._ask = ui.button("Ask at this ε and δ", on_click=self._advise)
            self._ask.props(BUTTON)

    def _results(self) -> None:
        custody = self._custody
        self._messages = Messages()
        with card("Maps"):
            self._facts = ui.label("").classes(SMALL).props("role=status aria-live=polite")
            with ui.element("div").classes(
                "w-full grid gap-4 grid-cols-1 md:grid-cols-2 xl:grid-cols-3"
            ):
                with ui.column().classes("w-full gap-1"):
                    ui.label("Data released").classes("font-semibold")
                    ui.label("green in grey: released in public bounds").classes(SMALL)
                    self._data = DrawnMap(
                        custody.layout, label="Map: arrow keys move, facts are read above",
                        on_cell=lambda _cell, _pressed: self._draw_data(),
                    )  # fmt: skip
                self._policies = []
                for title, note in (
                    ("Robust policy", "no data: ε = 0"),
                    ("Private policy", "none before a release"),
                ):
                    with ui.column().classes("w-full gap-1"):
                        self._policies.append(PolicyMap(custody.layout, title, note))
            self._player = Player(on_seed=lambda _: self._show())
            ui.label(
                "Costs of the episode are the highest that is publicly possible, not true ones."
            ).classes(SMALL)
        with card("What came out"):
            self._words = ui.column().classes("gap-1")
        download_card(
            GRID_FILES, self._file, self._messages,
            "Public files of the release that is shown; all releases of this run also lie in "
            f"{custody.out}.",
        )  # fmt: skip

    def _change(self, **changes: str) -> None:
        self._settings = self._settings.replace(**changes)
        ui.navigate.history.replace(self.address())
        self._show_price()

    def address(self) -> str:
        """Of this tab: the wish for a release, nothing of what was released."""
        return address("database", self._settings.query())

    def _show_price(self) -> None:
        budget = self._settings.budget()
        left = self._custody.remaining()
        enough = left.epsilon >= budget.epsilon and left.delta >= budget.delta
        self._price.text = (
            f"One press spends ε = {shown_up(budget.epsilon)}, δ = {shown_up(budget.delta)}."
            if enough
            else "The ledger does not allow this: lower ε or δ."
        )
        self._button.set_enabled(enough)

    def _show_account(self) -> None:
        self._account.text = self._custody.account()
        self._left.value = self._custody.share_left()
        self._show_price()

    async def _open(self) -> None:
        """The policy without data, which also says whether a release can be made safe at all."""
        self._messages.busy("computing the robust policy …")
        try:
            self._robust = await run.io_bound(robust_of, self._custody.layout)
        except Exception as error:
            self._messages.failed(error)
        self._messages.idle()
        with self._client:
            try:
                self._show_account()
            except Exception as error:
                self._messages.failed(error)
            self._show()

    async def _release(self) -> None:
        self._button.disable()  # one press, one debit
        self._messages.refused("")
        settings = self._settings
        self._messages.busy(f"spending ε = {settings.epsilon}, δ = {settings.delta}: releasing …")
        try:
            with weak_budgets():
                budget = PrivacyBudget(settings.epsilon, settings.delta)
            made = await run.io_bound(self._custody.release, budget, settings.plan)
        except Exception as error:
            self._messages.failed(error)
            self._messages.idle("not released; the ledger says what was spent")
        else:
            if made is not None:
                self._shown = made.private
                self._messages.idle(f"released; files are in {made.folder}")
                self._show()
        finally:
            self._show_account()

    async def _advise(self) -> None:
        self._ask.disable()
        self._advice.text = "asking …"
        try:
            found = await run.cpu_bound(
                public_advice, self._custody.layout, self._settings.epsilon, self._settings.delta
            )
            self._advice.text = found or ""
        except Exception as error:
            self._advice.text = ""
            self._messages.failed(error)
        finally:
            self._ask.enable()

    def _draw_data(self) -> None:
        layout = self._custody.layout
        release = self._shown.release if self._shown else None
        self._data.show(layout, map_svg.data_map(layout, release=release))
        self._data.mark({})
        self._facts.text = cell_words(layout, self._data.cursor, release=release, severity=None)

    def _show(self) -> None:
        self._draw_data()
        made, model = self._shown, self._custody.model
        shown = []
        if self._robust is not None:
            shown.append((self._policies[0], self._robust, None, "no data: ε = 0"))
        if made is not None:
            epsilon = float(made.release.guarantee.epsilon)
            note = f"from the release with ε = {epsilon:g}"
            shown.append((self._policies[1], made.safe, made.release, note))
        for drawn, safe, release, note in shown:
            drawn.show(
                self._custody.layout, safe.policy, model=model,
                costs=highest_costs(self._custody.layout, release), seed=self._player.seed,
                note=f"value {safe.value:.4g}, {note}",
            )  # fmt: skip
        self._player.show([part[0] for part in shown])
        self._words.clear()
        with self._words:
            for text in self._told():
                ui.label(text).classes(SMALL)

    def _told(self) -> list[str]:
        made, model = self._shown, self._custody.model
        if made is None:
            return ["Nothing was released yet in this run. The robust policy uses no data."]
        told = [
            f"Private policy: value {made.safe.value:.5g}; robust policy, no data: "
            f"{made.robust.value:.5g}."
        ]
        told += certificate_words(made.safe, model.names, release=True)
        told.append(saturation_words(saturation_share(model, made.release)))
        told.append(guarantee_words(made.release))
        debit = made.release.ledger
        if debit is not None:
            told.append(f"Debited as entry {debit.index} of the ledger.")
        return told

    def _file(self, name: str) -> bytes | None:
        if self._shown is None:
            return None
        return grid_file(name, self._custody.layout, self._custody.model, self._shown)
