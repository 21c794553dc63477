"""The explorer as its users meet it: a real server, and Debian's Chromium without a window."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dp_cmdp import PrivacyLedger
from dp_cmdp.envs import named_layout
from tests.marked import MARKS

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
#: What a page shifts after it was painted, and when its largest part was.
VITALS = """
window.shifted = 0
window.painted = 0
const watch = (type, see) => new PerformanceObserver(list => list.getEntries().forEach(see))
    .observe({type, buffered: true})
watch("layout-shift", entry => { if (!entry.hadRecentInput) window.shifted += entry.value })
watch("largest-contentful-paint", entry => { window.painted = entry.startTime })
"""
#: The first solve compiles; a busy machine takes its time.
PATIENCE_MS = 60_000
#: What may arrive later is computed with low priority, and waits for everybody else.
LATER_MS = 300_000


@dataclass
class Server:
    """An explorer in a process of its own."""

    process: subprocess.Popen[str]
    start: str

    @property
    def base(self) -> str:
        parts = urlsplit(self.start)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def port(self) -> int:
        return urlsplit(self.start).port or 0

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        if self.process.stdout is not None:
            self.process.stdout.close()


def started(folder: Path, *arguments: str) -> Server:
    """A server that listens, with the address that it prints."""
    # NiceGUI behaves otherwise where it sees a test: this is to be as its users meet it
    known = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    command = [sys.executable, "-m", "dp_cmdp", "explore", "--port", "0", "--no-browser"]
    with (folder / "stderr.txt").open("w") as errors:
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env={**known, "PYTHONUNBUFFERED": "1"},
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    running = Server(process, (line.split() or ["", ""])[-1])
    if "http://127.0.0.1:" not in line:
        running.stop()
        pytest.fail((folder / "stderr.txt").read_text())
    return running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = started(tmp_path_factory.mktemp("explorer"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs: make test-browser")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Chromium: make test-browser")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Any) -> Iterator[Callable[[Server], Any]]:
    """Opens windows; none may write an error or ask anybody but the server."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def opened(server: Server, *, width: int = 1400, height: int = 1000) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(VITALS)
        page = context.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        own = (server.base, server.base.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda r: r.url.startswith(own) or wrong.append(r.url))
        page.goto(server.start)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with private hazards, and a ledger that pays for them."""
    cells = named_layout("islands").kinds[0].cells[:20]
    severity = [[c // 10, c % 10, float(m)] for c, m in zip(cells, MARKS, strict=False)]
    kinds = {"hazard": {"severity": severity, "limit": 0.7 + float(MARKS[10])}}
    content = {"format": "dp_cmdp.Hazards/2", "kinds": kinds}
    (tmp_path / "mine.json").write_text(json.dumps(content))
    PrivacyLedger.create(tmp_path / "l.sqlite", "site", epsilon=2, delta="1/1000")
    return tmp_path


@pytest.fixture
def guarded(place: Path) -> Iterator[Server]:
    """An explorer of a real database."""
    running = started(
        place, "--layout", "islands", "--hazards", "mine.json", "--ledger", "l.sqlite",
        "--account", "site",
    )  # fmt: skip
    yield running
    running.stop()
