"""Who may talk to the page: this machine, the page itself, and whoever has the start address.

Three questions are asked of every request, also of those that open a socket, before anything
answers it:

* **Host**: is it called by the address it listens on? A foreign name that resolves to this machine
  (DNS rebinding) is another name.
* **Origin**: if a page asks, is it this page? Sockets say it always.
* **Key**: other users of the machine can connect too. The address that is printed at the start
  carries a random key; it becomes a cookie that scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

HOST = "127.0.0.1"
#: Parameter of the start address.
KEY = "key"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def new_key() -> str:
    """A key that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI layer around the page."""

    def __init__(self, app: App, *, port: int, key: str) -> None:
        self.app = app
        self._host = f"{HOST}:{port}"
        self._key = key
        self._cookie = f"dp_cmdp_explorer_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif reason := self._refusal(scope):
            await _refuse(scope, send, reason)
        elif scope["type"] == "http" and self._carries_key(scope):
            await self._enter(scope, send)
        elif not self._known(scope):
            await _refuse(scope, send, "open the address that dp-cmdp explore printed at its start")
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        if hosts != [self._host]:
            return f"this page is at http://{self._host} only"
        if any(origin != f"http://{self._host}" for origin in origins):
            return "another page asked"
        if scope["type"] == "websocket" and len(origins) != 1:
            return "a socket must say which page opens it"
        return None

    def _carries_key(self, scope: Scope) -> bool:
        given = dict(_query(scope)).get(KEY)
        return given is not None and _same(given, self._key)

    def _known(self, scope: Scope) -> bool:
        for text in _headers(scope, b"cookie"):
            try:
                found = SimpleCookie(text).get(self._cookie)
            except CookieError:
                continue
            if found is not None and _same(found.value, self._key):
                return True
        return False

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Keep the key as a cookie, and go on to the same address without it."""
        rest = urlencode([part for part in _query(scope) if part[0] != KEY], safe="/?.:,")
        target = scope["path"] + (f"?{rest}" if rest else "")
        cookie = f"{self._cookie}={self._key}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", target.encode()), (b"set-cookie", cookie.encode())]
        await _answer(send, 303, headers, b"")


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)


def _same(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(), key.encode())


async def _refuse(scope: Scope, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    kind = [(b"content-type", b"text/plain; charset=utf-8")]
    await _answer(send, 403, kind, f"refused: {reason}\n".encode())


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
