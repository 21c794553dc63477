"""Who is refused: other names, other pages, and who has not the start address."""

from __future__ import annotations

import http.client
import socket

import pytest

pytestmark = pytest.mark.browser


def asked(server, path: str, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    with connection.getresponse() as answer:
        answer.read()
        status = answer.status
    connection.close()
    return status


@pytest.mark.parametrize(
    "path", ["/", "/_nicegui/x", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"]
)
@pytest.mark.parametrize(
    "headers",
    [{}, {"Host": "evil.example"}, {"Host": "localhost"}, {"Origin": "http://evil.example"}],
)
def test_without_the_key_or_with_a_foreign_name_everything_is_refused(server, path, headers):
    assert asked(server, path, **headers) == 403


def test_with_the_key_a_foreign_host_or_origin_is_still_refused(server):
    _, query = server.start.split("?", 1)
    assert asked(server, f"/?{query}") == 303
    assert asked(server, f"/?{query}", Host="evil.example") == 403
    assert asked(server, f"/?{query}", Origin="http://evil.example") == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_a_socket_from_another_page_is_refused(server, window, origin):
    page = window(server)
    (cookie,) = page.context.cookies()
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        f"Cookie: {cookie['name']}={cookie['value']}",
        *([f"Origin: {origin}"] if origin else []),
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert b" 403 " in line.recv(200).split(b"\r\n")[0] + b" "


def test_the_server_listens_on_this_machine_only(server):
    # a server that listened everywhere would answer at all of 127.0.0.0/8 (Linux)
    own = socket.gethostbyname(socket.gethostname())
    for address in {"127.0.0.2", "127.0.1.1", own} - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, server.port), timeout=2)


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(server, window):
    page = window(server)
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert page.evaluate("() => document.cookie") == ""
    assert "key" not in page.url
