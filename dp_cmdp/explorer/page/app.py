"""The page and its server: one address on this machine."""

from __future__ import annotations

import asyncio
import socket
import warnings
import webbrowser
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import app, background_tasks, run, ui
from starlette.requests import Request as Asked

import dp_cmdp as dp
from dp_cmdp.errors import Error, InvalidArgumentError
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.guard import HOST, Guard, new_key
from dp_cmdp.explorer.invented import answer_to
from dp_cmdp.explorer.page.grid_tab import GridTab
from dp_cmdp.explorer.page.parts import RED
from dp_cmdp.explorer.page.workbench import keep
from dp_cmdp.explorer.paid import PaidReleases, Request
from dp_cmdp.explorer.program_design import AuctionDesign
from dp_cmdp.explorer.settings import read_settings

LARGEST_PORT = 65535
BLUE = "#1e5a96"
#: A table scrolls in a place that keys reach; what is under way is said in words.
STYLE = ".q-table__middle.scroll { overflow: visible } .q-loading-bar { display: none }"
TABS = {"grid": "Grid", "auction": "Ad auction", "files": "Files", "database": "Real database"}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def is_listening(port: int) -> bool:
    """Whether somebody answers there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def check_port(port: int) -> None:
    """Raise unless the port can be listened on."""
    if port > LARGEST_PORT:
        raise InvalidArgumentError(f"--port must be at most {LARGEST_PORT}, got {port}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise InvalidArgumentError(
                f"--port must be free on this machine; {port} is not. Give another, or 0 for any"
            ) from None


def serve(
    *, port: int, browser: bool, database: PaidReleases | None, say: Callable[[str], None]
) -> None:
    """Run the explorer until it is interrupted; `say` gets its address once it listens."""
    if port == 0:
        port = free_port()
    check_port(port)
    warnings.simplefilter("ignore", dp.errors.PrivacyWarning)  # the page says what a budget is
    first = None if database else GridDesign()  # what the first page shows
    key = new_key()
    start = f"http://{HOST}:{port}/{key}/"
    app.add_middleware(Guard, port=port, key=key)

    @ui.page("/", title="dp_cmdp explorer", language="en-US")
    def page(request: Asked) -> None:
        build(request.query_params, database)

    async def announce() -> None:
        if first is not None and (found := await run.io_bound(answer_to, first)):
            keep(first, found)
        while not is_listening(port):
            await asyncio.sleep(0.05)
        say(start)
        if browser:
            webbrowser.open(start)

    app.on_startup(lambda: background_tasks.create(announce(), name="announce"))
    run.process_pool_start_method = "spawn"
    ui.run(
        host=HOST,
        port=port,
        reload=False,
        show=False,
        show_welcome_message=False,
        title="dp_cmdp explorer",
        favicon="◆",
        uvicorn_logging_level="error",
    )


def build(parts: Mapping[str, Any], database: PaidReleases | None) -> None:
    """All tabs of one window, in the state that its address says."""
    from dp_cmdp.explorer.page.database_tab import DatabaseTab, NoDatabaseTab
    from dp_cmdp.explorer.page.program_tab import AuctionTab, FilesTab

    ui.query("body").classes("bg-gray-50")
    ui.query(".nicegui-content").classes("p-0 gap-0")
    ui.colors(primary=BLUE)
    ui.add_css(STYLE)
    wanted = parts.get("tab", "database" if database else "grid")
    first = wanted if wanted in TABS else "grid"
    trouble = ""
    grid, auction, asked = GridDesign(), AuctionDesign(), Request()
    try:
        if wanted not in TABS:
            raise InvalidArgumentError(f"tab must be one of {', '.join(TABS)}")
        if first == "grid":
            grid = GridDesign.from_query(parts)
        elif first == "auction":
            auction = AuctionDesign.from_query(parts)
        elif first == "database":
            asked = asked.replace(**read_settings(parts))
            asked.check()
    except Error as error:
        trouble = f"The address cannot be used, so the usual start is shown: {error}"
    with ui.row().classes("w-full bg-slate-800 text-white items-center gap-x-6 gap-y-0 px-4 py-1"):
        ui.label("dp_cmdp explorer").classes("text-lg font-semibold").props(
            "role=heading aria-level=1"
        )
        with ui.tabs().props("dense no-caps align=left outside-arrows") as tabs:
            for name, label in TABS.items():
                ui.tab(name, label=label)
        tabs.set_value(first)
    if trouble:
        ui.label(trouble).classes(RED).props("role=alert").style("overflow-wrap: anywhere")
    makers = {
        "grid": lambda: GridTab(grid),
        "auction": lambda: AuctionTab(auction),
        "files": FilesTab,
        "database": lambda: DatabaseTab(database, asked) if database else NoDatabaseTab(),
    }
    opened: dict[str, Any] = {}
    with ui.tab_panels(tabs, value=first).classes("w-full bg-transparent").props("keep-alive"):
        panels = {}
        for name in TABS:
            panels[name] = ui.tab_panel(name).classes("p-3 gap-2")

    def open_tab(name: str) -> None:
        if name not in opened:  # a tab that nobody opens computes nothing
            with panels[name]:
                opened[name] = makers[name]()
        ui.navigate.history.replace(opened[name].address())

    tabs.on_value_change(lambda event: open_tab(str(event.value)))
    open_tab(first)
