"""The tab *Grid*: draw, invent hazards, move the budget, and see what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui

import dp_cmdp as dp
from dp_cmdp.envs import Layout, layout_names
from dp_cmdp.errors import Error
from dp_cmdp.explorer import map_svg, words
from dp_cmdp.explorer.cell_words import cell_words, queries_of
from dp_cmdp.explorer.episodes import cost_table, flat_values, places_of
from dp_cmdp.explorer.files import GRID_FILES, answer_file, strategy_name
from dp_cmdp.explorer.grid_design import TOOLS, GridDesign, base_layout, steps_of
from dp_cmdp.explorer.invented import Found, answer_to
from dp_cmdp.explorer.page import maps, parts
from dp_cmdp.explorer.page.workbench import Workbench, results_table
from dp_cmdp.explorer.settings import LARGEST_FACTOR, SMALLEST_FACTOR, address, number
from dp_cmdp.explorer.snippets import grid_code

PURPOSE = (
    "Move ε and see what privacy costs: the private policy knows the hazards only through a "
    "differentially private release, and keeps the true limit with certainty. Hazards are invented "
    "here and noise is simulated: nothing is spent."
)
#: Maps of so many columns stand side by side: two on a phone, four where there is room.
SIDE_BY_SIDE = 16
SMALL_MAPS, LARGE_MAPS = "grid-cols-2 xl:grid-cols-4", "grid-cols-1 md:grid-cols-2"
TITLES = "Private policy", "Robust policy", "Policy without privacy"
POLICIES = "private", "robust, no data", "without privacy"
CRITERIA = {"discounted": "discounted (the layout's γ)", "episode": "episode of H steps"}
#: H, until another is typed.
STEPS = 100
COLUMNS = (
    ("policy", "policy"),
    ("value", "value"),
    ("loss", "loses"),
    ("cost", "cost ≤"),
    ("limit", "limit ≥"),
)
MARKS = (
    *maps.DATA_MARKS,
    ("◆", "invented truth", map_svg.TRUTH),
    ("▢ violet", "weighed in the chosen query", map_svg.WEIGHED),
    *maps.POLICY_MARKS,
    ("slider", "policies of an episode are drawn at its step", map_svg.TRUTH),
)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the first map shows: a grid, its invented data, and what was released of them."""

    layout: Layout
    truth: Any
    release: dp.Release | None


class GridTab(Workbench[GridDesign, Known, Found]):
    """One window's grid: its design, and the widgets that show what follows from it."""

    def __init__(self, design: GridDesign) -> None:
        super().__init__(design)
        self._shape: tuple[int, int] | None = None
        self._known_data: Known | None = None
        self._weights: dict[int, float] = {}
        ui.label(PURPOSE).classes(parts.SMALL)
        with self.places():
            self._controls()
        with self.results:
            self._pictures()
        with self.rest:
            self.closing_cards(GRID_FILES)
        self.start()

    def _controls(self) -> None:
        with parts.card("Grid"):
            names = {name: name for name in layout_names()}
            more = {
                "random-10-0": "random, 10 × 10",
                "random-32-0": "random, 32 × 32",
                "blank-8x8": "blank, 8 × 8",
            }
            self._known = known = names | more
            if self.design.layout not in known:
                known[self.design.layout] = self.design.layout
            self._layout = ui.select(
                known, value=self.design.layout, label="Layout", on_change=self._pick
            )
            self._layout.classes("w-full").props('dense options-dense aria-label="Layout"')
            own = ui.input(
                "or its name", placeholder="random-20-7, blank-6x9", validation=_wrong_layout
            )
            own.classes("w-full").props(f'{parts.FIELD} aria-label="Name of a layout"')
            own.on("keydown.enter", lambda _: self._pick_named(own.value))
            ui.label("Draw on the first map: click, or arrow keys and Enter").classes(parts.SMALL)
            self._tool = ui.select(list(TOOLS), value="hazard", label="Tool")
            self._tool.classes("w-full").props('dense options-dense aria-label="Tool"')
            self._kind = ui.select({0: "all"}, value=0, label="Kind of hazard").classes("w-full")
            self._kind.props('dense options-dense aria-label="Kind of hazard"')
            self._kind.set_visibility(False)  # until a grid has several
            ui.label("severity of a new hazard").classes(parts.SMALL)
            self._severity = ui.slider(min=0.05, max=1.0, step=0.05, value=0.8)
            self._severity.props('dense label aria-label="Severity of a new hazard"')
            with ui.row().classes("gap-2"):
                ui.button("Invent others", on_click=self._invent).props(parts.BUTTON)
                ui.button("Undo drawing", on_click=self._undo).props(parts.BUTTON)
            self._criterion()
        with parts.card("Release"):
            parts.budget_fields(self.design, self.change)
            parts.LogField(
                "radius × the layout's", f"{self.design.radius:g}", base=2, low=-3, high=3.5,
                tip="how far one number may move between adjacent databases",
                check=_factor("radius"),
                on_change=lambda text: self.change(radius=float(text)),
            )  # fmt: skip
            parts.LogField(
                "limit × the layout's", f"{self.design.limit:g}", base=2, low=-3, high=3,
                tip="bounds of the highest cost that is allowed, discounted or of an episode",
                check=_factor("limit"),
                on_change=lambda text: self.change(limit=float(text)),
            )  # fmt: skip
            self.strategy_controls()

    def _criterion(self) -> None:
        """What is summed of costs and rewards; the length of an episode where it is one."""
        own = self.design.horizon

        def chosen(event: Any) -> None:
            steps.set_visibility(event.value == "episode")
            self.change(horizon=int(steps.value or STEPS) if event.value == "episode" else None)

        choice = ui.select(CRITERIA, value="episode" if own else "discounted", label="Criterion",
                           on_change=chosen)  # fmt: skip
        choice.classes("w-full").props('dense options-dense aria-label="Criterion"')
        steps = parts.whole_field(
            "Steps of an episode", own or STEPS, steps_of, lambda own: self.change(horizon=own)
        )
        steps.set_visibility(own is not None)

    def _pictures(self) -> None:
        with parts.card("Maps"):
            self._maps = ui.element("div").classes(parts.MAPS)
            self._player = maps.Player(on_seed=lambda _: self._show_policies())
            self._facts = ui.label("").classes(parts.SMALL).props("role=status aria-live=polite")
            maps.legend(*MARKS)
            self._query = ui.select(
                {-1: "none"}, value=-1, label="Show a released query", on_change=self._weigh
            ).classes("w-full")
            self._query.props('dense options-dense aria-label="Show a released query"')
        with parts.card("Result") as box:
            box.classes("lg:order-first")
            self._table = results_table(COLUMNS, POLICIES)
        with parts.card("What is proved"), ui.column() as self._words:
            self._words.classes("gap-1 min-h-28")
            ui.label(parts.WAITING)
        self._new_maps(self.design.grid())

    def _pick(self, event: Any) -> None:
        self.change(layout=event.value, rows=(), hazards=None, seed=None)

    def _pick_named(self, given: str | None) -> None:
        name = (given or "").strip()
        if _wrong_layout(name) is None and name:
            self._known[name] = name
            self._layout.set_options(self._known, value=name)

    def _invent(self) -> None:
        self.change(hazards=None, seed=(self.design.seed or 0) + 1)

    def _undo(self) -> None:
        self.change(rows=(), hazards=None)

    def address(self) -> str:
        """Of this design; its hazards are in it because they are invented."""
        return address("grid", self.design.query())

    def answer(self, design: GridDesign, tell: Callable[[Known], Any]) -> Found:
        """Release and policies; a grid that has no safe policy is shown nevertheless."""
        tell(Known(design.grid(), flat_values(design.grid(), design.values()), None))
        return answer_to(design)

    def sketch(self, part: Known) -> None:
        """The grid at once, where it is another; then with the release."""
        same_grid = self._known_data is not None and self._known_data.layout == part.layout
        if part.release is None and same_grid:
            return  # the last release is shown until there is the next
        if (part.layout.rows, part.layout.cols) != self._shape:
            self._new_maps(part.layout)
        self._known_data = part
        self._weights = {}
        self._data.show(places_of(part.layout), release=part.release, truth=part.truth)
        self._mark()

    def show(self, found: Found) -> None:
        """All parts of the tab."""
        layout, release = self.design.grid(), found.private.release
        self.sketch(Known(layout, found.truth, release))
        kinds = {number: kind.name for number, kind in enumerate(layout.kinds)}
        self._kind.set_options(kinds, value=self._kind.value if self._kind.value in kinds else 0)
        self._kind.set_visibility(len(kinds) > 1)
        queries = queries_of(places_of(layout), release)
        self._by_query = [weights for _, weights in queries]
        self._query.set_options(
            {-1: "none", **{i: text for i, (text, _) in enumerate(queries)}}, value=-1
        )
        self._query.set_enabled(bool(queries))
        self._show_policies()
        self._tell(found)
        self.renew_code()
        named = words.strategy_words(self.design.strategy, strategy_name(found.private))
        self.messages.idle(f"{layout.num_cells} states, strategy {named}")
        self.follow(self.design, found.loss)

    def _new_maps(self, layout: Layout) -> None:
        self._shape = (layout.rows, layout.cols)
        self._maps.clear()
        shapes = SMALL_MAPS, LARGE_MAPS
        add, remove = shapes if layout.cols <= SIDE_BY_SIDE else reversed(shapes)
        self._maps.classes(add=add, remove=remove)
        with self._maps:
            with ui.column().classes("w-full gap-1"):
                ui.label("Data and release").classes("font-semibold")
                ui.label("click to draw").classes(parts.SMALL)
                self._data = maps.DrawnMap(
                    places_of(layout), on_cell=self._on_cell,
                    label="Map to draw on: arrow keys move, Enter applies the tool",
                )  # fmt: skip
            self._policies = []
            for title in TITLES:
                with ui.column().classes("w-full gap-1"):
                    self._policies.append(maps.PolicyMap(layout, title, parts.WAITING))

    def _on_cell(self, cell: int, pressed: bool) -> None:
        if pressed:
            try:
                wanted = self.design.clicked(
                    cell,
                    self._tool.value,
                    kind=self._kind.value,
                    severity=self._severity.value or 0.0,
                )
            except Error as error:
                self.messages.failed(error)
            else:
                self.design = wanted
                self.start()
        self._mark()

    def _mark(self) -> None:
        known = self._known_data
        assert known is not None
        self._data.mark(self._weights)
        self._facts.text = cell_words(
            places_of(known.layout), self._data.cursor, release=known.release, truth=known.truth
        )

    def _weigh(self, event: Any) -> None:
        if self.found is not None:
            self._weights = {} if event.value in (None, -1) else self._by_query[event.value]
            self._mark()

    def _show_policies(self) -> None:
        found = self.found
        if found is None:
            return
        layout = found.private.problem.layout
        costs = cost_table(layout, found.truth)
        answers = found.private, found.private.robust, found.best
        for drawn, answer, loss in zip(self._policies, answers, _losses(found), strict=True):
            drawn.show(
                layout, answer.policy, costs=costs, seed=self._player.seed,
                note=f"value {answer.value:.4g}, loses {loss}",
            )  # fmt: skip
        self._player.show(self._policies)

    def _tell(self, found: Found) -> None:
        rows, answers = [], (found.private, found.private.robust, found.best)
        for name, answer, loss in zip(POLICIES, answers, _losses(found), strict=True):
            cost, limit = words.certified_cells(answer)
            value = f"{answer.value:.5g}"
            rows.append(
                {"policy": name, "value": value, "cost": cost, "limit": limit, "loss": loss}
            )
        self._table.rows = rows
        self._words.clear()
        release = found.private.release
        sentences = words.certificate_words(found.private)
        sentences += [words.saturation_words(release.saturation), words.guarantee_words(release)]
        judged = dp.evaluate(found.private.problem.at(found.truth), found.private.policy)
        limits = judged.costs + judged.slack
        pairs = zip(judged.costs, limits, strict=True)
        kept = ", ".join(f"{cost:.4g} of at most {limit:.4g}" for cost, limit in pairs)
        sentences.append(f"Against the invented truth the private policy costs {kept}.")
        with self._words:
            for text in sentences:
                ui.label(text).classes(parts.SMALL)

    def code(self) -> str:
        """Of this design."""
        return grid_code(self.design)

    def file(self, name: str) -> bytes | None:
        """A public file of what was found."""
        return None if self.found is None else answer_file(name, self.found.private)


def _losses(found: Found) -> list[str]:
    return [words.loss_words(loss) for loss in (found.loss, found.robust_loss, 0.0)]


def _factor(name: str) -> Callable[[str], Any]:
    return lambda text: number(name, text, low=SMALLEST_FACTOR, high=LARGEST_FACTOR)


def _wrong_layout(name: str | None) -> str | None:
    try:
        if (name or "").strip():
            base_layout((name or "").strip())
    except Error as error:
        return str(error)
    return None
