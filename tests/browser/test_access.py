"""Who is refused: other names, other pages, and who has not the start address."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from dp_cmdp import PrivacyLedger
from tests.browser.conftest import PATIENCE_MS

pytestmark = pytest.mark.browser


def test_the_server_listens_on_this_machine_only(server):
    # a server that listened everywhere would answer at all of 127.0.0.0/8 (Linux)
    own = socket.gethostbyname(socket.gethostname())
    for address in {"127.0.0.2", "127.0.1.1", own} - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, server.port), timeout=2)


# ------------------------------------------------------------- a page of another server, here


class _Plain(BaseHTTPRequestHandler):
    """An empty page, and what it was told by the browser."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(str(self.headers))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title><body>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def other_port() -> Iterator[str]:
    """Another local server: the same host, another port."""
    other = ThreadingHTTPServer(("127.0.0.1", 0), _Plain)
    thread = threading.Thread(target=other.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{other.server_address[1]}/"
    other.shutdown()
    thread.join()
    other.server_close()


#: What a page can try: the answer, or how it was refused.
FETCH = """async url => {
    try { return (await (await fetch(url, {credentials: "include"})).text()) || "empty" }
    catch (error) { return "refused" }
}"""
BLIND = """async url => {
    const how = {credentials: "include", mode: "no-cors", method: "POST", body: "40"}
    try { return (await fetch(url, how)).type } catch (error) { return "refused" }
}"""
SOCKET = """url => new Promise(done => {
    const line = new WebSocket(url)
    line.onopen = () => done("open")
    line.onerror = () => done("refused")
})"""
FRAME = """url => new Promise(done => {
    const frame = document.createElement("iframe")
    frame.onload = () => done(frame)
    frame.src = url
    document.body.append(frame)
})"""
SCRIPT = """url => new Promise(done => {
    const script = document.createElement("script")
    script.onload = () => done("ran")
    script.onerror = () => done("refused")
    script.src = url
    document.body.append(script)
})"""


def pressed(page: Any) -> Any:
    return page.locator("button", has_text=re.compile("^(lock_open)?Release$"))


@pytest.mark.parametrize("key_is_known", [False, True])
def test_a_page_of_another_port_cannot_reach_release(
    guarded, place, window, other_port, key_is_known
):
    """Beside an open explorer, in the same browser: not even if it knew the key."""
    page = window(guarded)
    page.get_by_text("remaining (ε = 2").wait_for()
    before = PrivacyLedger(place / "l.sqlite", "site").entries()
    assert page.context.cookies() == []
    other = page.context.new_page()
    other.set_default_timeout(PATIENCE_MS)
    other.goto(other_port)
    base = guarded.start if key_is_known else f"{guarded.base}/"
    polled = f"{base}_nicegui_ws/socket.io/?EIO=4&transport=polling"
    for url in (base, polled, f"{base}favicon.ico"):
        assert other.evaluate(FETCH, url) == "refused"
        assert other.evaluate(BLIND, url) in ("refused", "opaque")  # nothing to be read in it
        assert other.evaluate(SCRIPT, url) == "refused"
    line = polled.replace("http://", "ws://").replace("polling", "websocket")
    assert other.evaluate(SOCKET, line) == "refused"
    other.evaluate_handle(FRAME, base)
    for frame in other.frames[1:]:
        assert "chrome-error" in frame.url
        assert pressed(frame).count() == 0
    with page.context.expect_page() as opened:
        other.evaluate("url => { window.explorer = window.open(url) }", guarded.base)
    opened.value.get_by_text("open the address that dp-cmdp explore printed").wait_for()
    assert pressed(opened.value).count() == 0
    page.bring_to_front()
    assert pressed(page).is_enabled()  # where it belongs, it works
    assert PrivacyLedger(place / "l.sqlite", "site").entries() == before
    key = urlsplit(guarded.start).path.strip("/")
    assert not any(key in headers for headers in _Plain.seen)


def test_a_reload_and_a_copied_address_still_open_the_page(guarded, window):
    page = window(guarded)
    page.get_by_text("remaining (ε = 2").wait_for()
    page.reload()
    page.get_by_text("remaining (ε = 2").wait_for()
    again = page.context.new_page()
    again.set_default_timeout(PATIENCE_MS)
    again.goto(page.url)
    again.get_by_text("remaining (ε = 2").wait_for()
