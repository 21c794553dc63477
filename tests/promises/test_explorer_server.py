"""The explorer opens for who has the address printed at its start, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from http.cookies import SimpleCookie
from urllib.parse import urljoin, urlsplit

import pytest

from tests.promises.adapter import Asked, ask, explorer_parts, explorer_process

pytest.importorskip("nicegui", reason="needs the extra: explorer")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with explorer_process(tmp_path_factory.mktemp("explorer")) as address:
        yield address


def opened(start: str) -> tuple[list[Asked], str]:
    """The answers on the way to the page, as a browser goes, and all cookies that it then has."""
    jar, answers, url = SimpleCookie(), list[Asked](), start
    for _ in range(5):
        answers.append(ask(url, Cookie="; ".join(f"{k}={v.value}" for k, v in jar.items())))
        jar.load(answers[-1].headers.get("set-cookie", ""))
        if answers[-1].status not in (301, 302, 303, 307, 308):
            break
        url = urljoin(url, answers[-1].headers["location"])
    return answers, "; ".join(f"{k}={v.value}" for k, v in jar.items())


def origin(start: str) -> str:
    return f"http://{urlsplit(start).netloc}"


def test_the_printed_address_opens_the_page(start: str) -> None:
    answers, _ = opened(start)
    assert answers[-1].status == 200
    assert "dp_cmdp explorer" in answers[-1].text


@pytest.mark.parametrize("of", ["http://127.0.0.1:80", "http://localhost", "null", "http://a.b"])
def test_what_another_page_asks_is_refused_even_with_the_key(start: str, of: str) -> None:
    _, cookies = opened(start)
    for name, url in explorer_parts(start).items():
        said = {"Cookie": cookies, "Origin": of}
        assert ask(url, upgrade=name == "socket", **said).status == 403


def test_a_socket_that_does_not_say_its_page_is_refused(start: str) -> None:
    _, cookies = opened(start)
    socket = explorer_parts(start)["socket"]
    assert ask(socket, upgrade=True, Cookie=cookies).status == 403
    assert ask(socket, upgrade=True, Cookie=cookies, Origin=origin(start)).status == 101
