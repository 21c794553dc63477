"""The tab *Real database*: public bounds, a ledger, and a button that spends."""

from __future__ import annotations

from typing import Any

from nicegui import background_tasks, context, run, ui

from dp_cmdp.explorer.curve import politely
from dp_cmdp.explorer.files import answer_file
from dp_cmdp.explorer.invented import advice_on
from dp_cmdp.explorer.page import parts
from dp_cmdp.explorer.page.database_views import GridView, ProgramView
from dp_cmdp.explorer.paid import PaidReleases, Request, is_published
from dp_cmdp.explorer.settings import address
from dp_cmdp.explorer.sources import GridSource
from dp_cmdp.explorer.words import advice_words

WITHOUT = """
No database was named. A real one is named at the start, with the ledger that pays for it, so that
nothing in a page can open a file:

    dp-cmdp ledger create ledger.sqlite --account site-7 --unit "one operator" \\
        --epsilon 4 --delta 1e-3
    dp-cmdp explore --layout my.json --hazards mine.json --ledger ledger.sqlite --account site-7

Hazards may be a CSV table too (`--hazards mine.csv --limits limits.csv`); so may be the private
numbers of an MPS or LP file (`--model model.mps --private spec.toml --data values.csv`), and the
prices of an ad auction (`--auction 10x5 --data prices.csv`).
"""


class NoDatabaseTab:
    """What the tab says when no database was named."""

    def __init__(self) -> None:
        with parts.card("Real database"), parts.scrolling("How a database is named"):
            ui.markdown(WITHOUT)

    def address(self) -> str:
        """Of this tab."""
        return address("database", {})


class DatabaseTab:
    """What may be shown of a real database: public bounds, and what was released."""

    def __init__(self, paid: PaidReleases, settings: Request) -> None:
        self._paid = paid
        self._settings = settings
        self._answer: Any = paid.released[-1].answer if paid.released else None
        self._client = context.client
        ui.label(
            f"Real data ({paid.account}): only public bounds and releases are drawn. "
            "Moving a slider spends nothing; each press of Release spends, and nothing is refunded."
        ).classes(f"{parts.SMALL} bg-red-50 border border-red-300 rounded p-2 w-full")
        first, controls, rest = parts.columns()
        source = paid.source
        with first:
            self._messages = parts.Messages()
            self._results = parts.Results()
        with self._results:
            self._view: Any = (GridView if isinstance(source, GridSource) else ProgramView)(
                source  # pyright: ignore[reportArgumentType]
            )
        with controls:
            self._controls()
        with rest:
            parts.download_card(
                source.files, self._file, self._messages,
                "Public files of the release that is shown; all releases of this run also lie "
                f"in {paid.out}.",
            )  # fmt: skip
        background_tasks.create(self._open(), name="database")

    def _controls(self) -> None:
        with parts.card("Ledger"):
            self._account = ui.label("").classes(parts.SMALL).mark("account")
            self._left = ui.linear_progress(value=0, show_value=False).props(
                'instant-feedback aria-label="share of ε that remains"'
            )
        with parts.card("Release"):
            parts.budget_fields(self._settings, self._change)
            parts.strategy_select(
                self._settings.strategy, lambda strategy: self._change(strategy=strategy)
            )
            self._price = ui.label("").classes(parts.SMALL).mark("price")
            self._button = ui.button("Release", icon="lock_open", on_click=self._release)
            self._button.props("color=negative no-caps").classes("w-full")
        with parts.card("The adviser (public data alone)"):
            self._advice = ui.label("").classes(parts.SMALL)
            self._ask = ui.button("Ask at this ε and δ", on_click=self._advise)
            self._ask.props(parts.BUTTON)

    def _change(self, **changes: str) -> None:
        self._settings = self._settings.replace(**changes)
        ui.navigate.history.replace(self.address())
        self._show_price()

    def address(self) -> str:
        """Of this tab: the request for a release, nothing of what was released."""
        return address("database", self._settings.query())

    def _show_price(self) -> None:
        budget = self._settings.budget()
        enough = self._paid.allows(budget)
        self._price.text = (
            f"One press spends {budget}."
            if enough
            else "The ledger does not allow this: lower ε or δ."
        )
        self._button.set_enabled(enough)

    def _show_account(self) -> None:
        self._account.text = self._paid.balance()
        self._left.value = self._paid.share_left()
        self._show_price()

    async def _open(self) -> None:
        """The answer without data, which also says whether a release can be answered at all."""
        self._messages.busy("computing the robust answer …")
        self._results.wait(known=False)
        try:
            await self._view.open()
        except Exception as error:
            self._messages.failed(error)
        self._messages.idle()
        with self._client:
            try:
                self._show_account()
                await self._view.show(self._answer)
            except Exception as error:
                self._messages.failed(error)
        self._results.settle(stale=False)

    async def _release(self) -> None:
        self._button.disable()  # one press, one debit
        self._messages.refused("")
        settings = self._settings
        self._messages.busy(f"spending {settings.budget()}: releasing …")
        self._results.wait(known=True)
        try:
            paid = await run.io_bound(self._paid.release, settings)
        except Exception as error:
            self._messages.failed(error)
            self._messages.idle(
                "not released; the ledger says what was spent"
                if not is_published(error)
                else f"released, but not answered; the release is in {self._paid.out}"
            )
        else:
            if paid is not None:
                self._answer = paid.answer
                self._messages.idle(f"released; files are in {paid.folder}")
                with self._client:
                    await self._view.show(self._answer)
        finally:
            self._results.settle(stale=False)
            self._show_account()

    async def _advise(self) -> None:
        self._ask.disable()
        self._advice.text = "asking …"
        try:
            problem, asked = self._paid.source.problem(), self._settings
            found = await run.cpu_bound(politely, advice_on, problem, asked.epsilon, asked.delta)
            self._advice.text = advice_words(*found) if found else ""
        except Exception as error:
            self._advice.text = ""
            self._messages.failed(error)
        finally:
            self._ask.enable()

    def _file(self, name: str) -> bytes | None:
        return None if self._answer is None else answer_file(name, self._answer)
