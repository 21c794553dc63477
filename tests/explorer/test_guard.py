"""Who may talk to the page: every wrong host, origin and key is refused, sockets too."""

import asyncio

import pytest

from dp_cmdp.explorer.guard import HEADERS, Guard, new_key

KEY = "k" * 32
INSIDE = f"/{KEY}/_nicegui_ws/socket.io/"
GOOD = {"host": "127.0.0.1:8733"}
OWN = {**GOOD, "origin": "http://127.0.0.1:8733"}


def asked(headers, *, kind="http", path=INSIDE, extensions=(), page=None):
    """What the guard sends, and what it passes on to the page."""
    passed, sent = [], []

    async def silent(scope, receive, send):
        passed.append(scope)

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": f"{kind}.disconnect"}

    scope = {
        "type": kind,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "extensions": {name: {} for name in extensions},
    }
    guard = Guard(silent if page is None else page, port=8733, key=KEY)
    asyncio.run(guard(scope, receive, send))
    return sent, passed


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_the_page_itself_is_let_in_and_sees_its_own_paths(kind):
    sent, (scope,) = asked(OWN.items(), kind=kind)
    assert sent == []
    assert scope["path"] == "/_nicegui_ws/socket.io/"
    assert (b"x-forwarded-prefix", f"/{KEY}".encode()) in scope["headers"]
    assert asked(GOOD.items(), path=f"/{KEY}/")[1][0]["path"] == "/"


def test_no_caller_says_what_addresses_begin_with():
    _, (scope,) = asked([*GOOD.items(), ("X-Forwarded-Prefix", "/evil")])
    assert b"/evil" not in dict(scope["headers"]).values()


BAD = {
    "a name that resolves to this machine": {**OWN, "host": "evil.example:8733"},
    "another port": {**OWN, "host": "127.0.0.1:80"},
    "no host": {"origin": OWN["origin"]},
    "another site": {**GOOD, "origin": "http://evil.example"},
    "a sandboxed page": {**GOOD, "origin": "null"},
    "a longer name": {**GOOD, "origin": "http://127.0.0.1:8733.evil.example"},
}
KEYLESS = {
    "no key": "/",
    "a wrong key": f"/{KEY[:-1]}x/",
    "the start of the key": f"/{KEY[:-1]}/",
    "the key in another place": f"/_nicegui/{KEY}/",
    "no path": "",
}
KINDS = pytest.mark.parametrize("kind", ["http", "websocket"])


def is_refused(sent, passed):
    return passed == [] and sent[0].get("status", sent[0].get("code")) in (403, 1008)


@pytest.mark.parametrize("why", BAD)
@KINDS
def test_other_names_and_pages_are_refused_also_with_the_key(why, kind):
    assert is_refused(*asked(BAD[why].items(), kind=kind))


@pytest.mark.parametrize("why", KEYLESS)
@KINDS
def test_without_the_key_all_is_refused_whatever_else_is_said(why, kind):
    said = {**OWN, "cookie": f"key={KEY}; dp_cmdp_explorer_8733={KEY}", "referer": f"/{KEY}/"}
    said |= {"authorization": KEY, "x-forwarded-prefix": f"/{KEY}"}
    sent, passed = asked(said.items(), kind=kind, path=KEYLESS[why])
    assert is_refused(sent, passed)
    assert KEY not in repr(sent)


def test_a_socket_without_an_origin_is_refused():
    sent, passed = asked(GOOD.items(), kind="websocket")
    assert passed == []
    assert sent[0]["type"] == "websocket.close"


def answers(kind, page):
    """What is sent for a page's answer, and for a refusal."""
    extension = "websocket.http.response"
    yield asked(OWN.items(), kind=kind, extensions=[extension], page=page)[0]
    yield asked(OWN.items(), kind=kind, extensions=[extension], path="/")[0]


@KINDS
def test_every_answer_says_that_no_page_may_frame_or_embed_it(kind):
    prefix = "" if kind == "http" else "websocket."

    async def page(scope, receive, send):
        headers = [(b"X-Frame-Options", b"ALLOWALL"), (b"content-type", b"text/html")]
        await send({"type": f"{prefix}http.response.start", "status": 200, "headers": headers})

    for sent in answers(kind, page):
        headers = [(name.lower(), value) for name, value in sent[0]["headers"]]
        assert all(headers.count(pair) == 1 for pair in HEADERS)
        assert [value for name, value in headers if name == b"x-frame-options"] == [b"DENY"]


def test_an_error_of_the_page_is_not_quoted_and_goes_on_to_the_log():
    sent = []

    async def page(scope, receive, send):
        raise ValueError("0.123")

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": INSIDE, "headers": [(b"host", b"127.0.0.1:8733")]}
    with pytest.raises(ValueError, match=r"0\.123"):
        asyncio.run(Guard(page, port=8733, key=KEY)(scope, None, send))  # pyright: ignore[reportArgumentType]
    assert sent[0]["status"] == 500
    assert b"0.123" not in sent[1]["body"]
    assert all(pair in sent[0]["headers"] for pair in HEADERS)


def test_keys_differ_and_start_up_is_not_guarded():
    assert len({new_key() for _ in range(20)}) == 20
    assert len(new_key()) >= 32
    sent, passed = asked([], kind="lifespan")
    assert (sent, len(passed)) == ([], 1)
