"""Who may talk to the page: this machine, the page itself, and whoever has the start address.

Three questions are asked of every request, also of those that open a socket, before anything
answers it:

* **Host**: is it called by the address it listens on? A foreign name that resolves to this machine
  (DNS rebinding) is another name.
* **Origin**: if a page asks, is it this page? Sockets say it always.
* **Key**: other users of the machine can connect too, and so can pages of other local servers. The
  address that is printed at the start begins with a random key, ``http://127.0.0.1:8733/KEY/``, and
  every request must begin with it: those of the page do, because its address does.

A cookie would be no such key: browsers send the cookies of 127.0.0.1 to every port of it, and count
all its ports as one site. Here none is set, and none is read.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

HOST = "127.0.0.1"
#: On every answer: no page may show this one in a frame, embed its parts or learn its address.
HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
#: Tells NiceGUI what its addresses begin with.
PREFIX = b"x-forwarded-prefix"

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def new_key() -> str:
    """A key that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI layer around the page."""

    def __init__(self, app: App, *, port: int, key: str) -> None:
        self.app = app
        self._host = f"{HOST}:{port}"
        self._prefix = f"/{key}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif reason := self._refusal(scope):
            await _refuse(scope, send, reason)
        else:
            await self._pass_on(self._inside(scope), receive, _Guarded(send))

    def _refusal(self, scope: Scope) -> str | None:
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        if hosts != [self._host]:
            return f"this page is at http://{self._host} only"
        if any(origin != f"http://{self._host}" for origin in origins):
            return "another page asked"
        if scope["type"] == "websocket" and len(origins) != 1:
            return "a socket must say which page opens it"
        if not self._has_key(scope["path"]):
            return "open the address that dp-cmdp explore printed at its start"
        return None

    def _has_key(self, path: str) -> bool:
        first, slash, _ = path[1:].partition("/")
        return bool(slash) and hmac.compare_digest(f"/{first}".encode(), self._prefix.encode())

    def _inside(self, scope: Scope) -> Scope:
        """The request as the page knows it: without the key, which is said apart."""
        path = scope["path"][len(self._prefix) :]
        headers = [pair for pair in scope["headers"] if pair[0].lower() != PREFIX]
        headers.append((PREFIX, self._prefix.encode()))
        return {**scope, "path": path, "raw_path": path.encode(), "headers": headers}

    async def _pass_on(self, scope: Scope, receive: Receive, send: _Guarded) -> None:
        try:
            await self.app(scope, receive, send)
        except Exception:  # its text could quote data: it is for the server's own log
            if scope["type"] == "http" and not send.started:
                await _answer(send, 500, b"failed; the explorer's own log says why\n")
            raise


class _Guarded:
    """`send`, with :data:`HEADERS` on every answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            self.started = True
            names = {name for name, _ in HEADERS}
            own = [pair for pair in message.get("headers", ()) if pair[0].lower() not in names]
            message = {**message, "headers": [*own, *HEADERS]}
        await self._send(message)


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def _refuse(scope: Scope, send: Send, reason: str) -> None:
    kind = scope["type"]
    if kind == "http" or "websocket.http.response" in scope.get("extensions", ()):
        prefix = "" if kind == "http" else "websocket."
        await _answer(_Guarded(send), 403, f"refused: {reason}\n".encode(), prefix=prefix)
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": reason})


async def _answer(send: _Guarded, status: int, body: bytes, *, prefix: str = "") -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    start = {"type": f"{prefix}http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": f"{prefix}http.response.body", "body": body})
