"""Who may talk to the page: every wrong host, origin and key is refused, sockets too."""

import asyncio

import pytest

from dp_cmdp.explorer.guard import Guard, new_key

KEY = "k" * 32
COOKIE = f"dp_cmdp_explorer_8733={KEY}"
GOOD = {"host": "127.0.0.1:8733", "cookie": COOKIE}


def asked(headers, *, kind="http", query="", path="/"):
    """What the guard sends, and whether the page was asked."""
    passed, sent = [], []

    async def page(scope, receive, send):
        passed.append(scope["path"])

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": f"{kind}.disconnect"}

    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(Guard(page, port=8733, key=KEY)(scope, receive, send))
    return sent, bool(passed)


def test_the_page_itself_is_let_in():
    assert asked(GOOD.items()) == ([], True)
    own = {**GOOD, "origin": "http://127.0.0.1:8733"}
    assert asked(own.items()) == ([], True)
    assert asked(own.items(), kind="websocket") == ([], True)


BAD = {
    "a name that resolves to this machine": {**GOOD, "host": "evil.example:8733"},
    "another port": {**GOOD, "host": "127.0.0.1:80"},
    "a name without a port": {**GOOD, "host": "127.0.0.1"},
    "localhost by another name": {**GOOD, "host": "localhost:8733"},
    "no host": {"cookie": COOKIE},
    "another site": {**GOOD, "origin": "http://evil.example"},
    "a sandboxed page": {**GOOD, "origin": "null"},
    "another port's page": {**GOOD, "origin": "http://127.0.0.1:80"},
    "a longer name": {**GOOD, "origin": "http://127.0.0.1:8733.evil.example"},
    "https": {**GOOD, "origin": "https://127.0.0.1:8733"},
    "no key": {"host": GOOD["host"]},
    "a wrong key": {**GOOD, "cookie": COOKIE[:-1] + "x"},
    "another port's key": {**GOOD, "cookie": f"dp_cmdp_explorer_80={KEY}"},
    "a broken cookie": {**GOOD, "cookie": "\x00=;;;"},
}


@pytest.mark.parametrize("why", BAD)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_all_others_are_refused(why, kind):
    headers = dict(BAD[why])
    if kind == "websocket":
        headers.setdefault("origin", "http://127.0.0.1:8733")
    sent, passed = asked(headers.items(), kind=kind)
    assert not passed
    assert sent[0].get("status", sent[0].get("code")) in (403, 1008)


def test_a_socket_without_an_origin_is_refused():
    sent, passed = asked(GOOD.items(), kind="websocket")
    assert not passed
    assert sent[0]["type"] == "websocket.close"


def test_two_hosts_or_two_origins_are_refused():
    for extra in (("host", "evil.example"), ("origin", "http://evil.example")):
        headers = [*GOOD.items(), ("origin", "http://127.0.0.1:8733"), extra]
        assert not asked(headers)[1]


def test_the_start_address_becomes_a_cookie_that_scripts_and_other_sites_cannot_use():
    headers = {"host": GOOD["host"]}
    sent, passed = asked(headers.items(), query=f"key={KEY}&tab=grid&rows=S?/.G")
    assert not passed
    answer = dict(sent[0]["headers"])
    assert sent[0]["status"] == 303
    assert answer[b"location"] == b"/?tab=grid&rows=S?/.G"
    for part in (b"HttpOnly", b"SameSite=Strict", COOKIE.encode()):
        assert part in answer[b"set-cookie"]


def test_a_wrong_key_in_an_address_opens_nothing():
    sent, passed = asked({"host": GOOD["host"]}.items(), query="key=wrong")
    assert not passed
    assert sent[0]["status"] == 403
    assert KEY.encode() not in sent[1]["body"]


def test_the_key_is_not_taken_from_another_host():
    sent, passed = asked({"host": "evil.example"}.items(), query=f"key={KEY}")
    assert not passed
    assert sent[0]["status"] == 403


def test_keys_differ_and_start_up_is_not_guarded():
    assert len({new_key() for _ in range(20)}) == 20
    assert len(new_key()) >= 32
    sent, passed = asked([], kind="lifespan")
    assert (sent, passed) == ([], True)
