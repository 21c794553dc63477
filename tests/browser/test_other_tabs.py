"""The tabs *Ad auction*, *Files* and *Real database*."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dp_cmdp import PrivacyLedger
from dp_cmdp.envs import named_layout
from tests.browser.conftest import started
from tests.explorer.test_programs import MODEL, SPEC, VALUES
from tests.marked import DIGITS, MARKS

pytestmark = pytest.mark.browser


def open_tab(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def refused(page: Any, text: str) -> None:
    """Wait for a refusal that says so."""
    page.get_by_role("alert").filter(has_text=text).first.wait_for()


def solved(page: Any) -> str:
    page.get_by_text(re.compile(r"^strategy \w+")).wait_for()
    return page.locator(".q-table:visible").first.inner_text()


def changed(page: Any, label: str, text: str) -> None:
    before = page.url, solved(page)
    page.locator(f'[aria-label="{label}"]:visible').first.fill(text)
    page.wait_for_function("url => location.href !== url", arg=before[0])
    page.wait_for_timeout(300)
    solved(page)


def test_the_auction(window, server):
    page = window(server)
    open_tab(page, "Ad auction")
    text = solved(page)
    assert "without privacy" in text
    for label, value in (
        ("Groups of pages", "6"), ("Advertisers", "4"), ("Seed of the prices", "3"),
        ("radius of a price", "0.2"), ("ε", "4"), ("δ", "1/20"), ("Seed of the noise", "2"),
    ):  # fmt: skip
        changed(page, label, value)
    said = {k: v[0] for k, v in parse_qs(urlsplit(page.url).query).items()}
    assert (said["tab"], said["groups"], said["radius"]) == ("auction", "6", "0.2")
    shown = solved(page)
    page.reload()
    assert solved(page) == shown
    page.get_by_role("button", name="Copy the code").click()
    page.get_by_text("copied").wait_for()
    made: dict[str, Any] = {}
    exec(page.evaluate("() => navigator.clipboard.readText()"), made)
    assert made["found"].certificate
    with page.expect_download() as got:
        page.get_by_role("button", name="solution.csv").click()
    assert got.value.suggested_filename == "solution.csv"


def upload(page: Any, part: str, name: str, text: str) -> None:
    place = page.locator(f".upload-{part} input[type=file]")
    place.set_input_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})


def test_files_are_taken_after_their_owner_said_what_they_are(window, server):
    page = window(server)
    open_tab(page, "Files")
    page.get_by_text("upload a model, a specification and values to begin").wait_for()
    assert not page.get_by_text("What was released").is_visible()
    upload(page, "model", "model.mps", MODEL)
    refused(page, "nothing was read")
    page.get_by_role("checkbox", name="These files are public or invented").click()
    upload(page, "model", "table.csv", VALUES)
    refused(page, "1. Model: table.csv must be a .mps or .lp file")
    upload(page, "model", "model.mps", MODEL)
    page.get_by_text("still missing: specification, values").wait_for()
    upload(page, "spec", "spec.toml", "no toml at all [")
    page.get_by_text("still missing: values").wait_for()
    upload(page, "table", "values.csv", VALUES)
    refused(page, "TOML")
    upload(page, "spec", "spec.toml", SPEC)
    assert "without privacy" in solved(page)
    for kind, name in (("variable", "TABLE"), ("inequality", "HOURS"), ("number", "HOURS")):
        page.get_by_label(f"table of each {kind}").get_by_text(name, exact=True).wait_for()
    assert page.get_by_text("What was released").is_visible()
    assert page.locator(".q-tab-panel:visible canvas").first.bounding_box()["width"] > 300
    assert "values" not in page.url


def release(page: Any) -> Any:
    return page.locator("button", has_text=re.compile("^(lock_open)?Release$"))


def entries(place: Any) -> int:
    return len(PrivacyLedger(place / "l.sqlite", "site").entries())


def test_only_a_press_of_release_spends_and_nothing_private_is_drawn(guarded, window, place):
    page = window(guarded)
    page.get_by_text("remaining (ε = 2, δ = 0.001)").wait_for()
    page.get_by_text(re.compile("no data: ε = 0")).first.wait_for()
    first = entries(place)
    for label, text in (("ε", "1"), ("δ", "1/4000")):
        page.locator(f'[aria-label="{label}"]:visible').first.fill(text)
    page.get_by_text("One press spends (ε = 1, δ = 0.00025)").wait_for()
    page.get_by_role("combobox", name="Strategy").click()
    page.get_by_role("option", name=re.compile("^queries")).click()
    page.get_by_role("button", name="Another episode").click()
    page.reload()
    page.get_by_text("One press spends (ε = 1, δ = 0.00025)").wait_for()
    assert entries(place) == first
    release(page).click()
    page.get_by_text("remaining (ε = 1, δ = 0.00075)").wait_for()
    page.get_by_text("exact noise from the operating system").wait_for()
    assert entries(place) == first + 1
    other = window(guarded)  # another window sees what was paid for, and the same account
    other.get_by_text("remaining (ε = 1, δ = 0.00075)").wait_for()
    other.get_by_text("Debited as entry").wait_for()
    for shown in (page, other):
        content = shown.content()
        assert DIGITS not in content
        for word in ("knows the truth", "invented", "without privacy", "loses"):
            assert word not in shown.locator(".q-tab-panel:visible").inner_text()
    assert "hazards" not in page.url
    with page.expect_download() as got:
        page.get_by_role("button", name="release.npz").click()
    assert DIGITS.encode() not in got.value.path().read_bytes()
    assert (place / "out" / "explore").is_dir()


PROGRAMS = {
    "program": ("--model", "model.mps", "--private", "spec.toml", "--data", "values.csv"),
    "auction": ("--auction", "3x2", "--data", "prices.csv"),
    "table": ("--layout", "islands", "--hazards", "mine.csv", "--limits", "limits.csv"),
}


@pytest.fixture(params=PROGRAMS)
def other_database(request, tmp_path):
    prices = [f"{i},{j},{MARKS[2 * i + j]}" for i in range(3) for j in range(2)]
    cell = named_layout("islands").kinds[0].cells[0]
    files = {
        "model.mps": MODEL,
        "spec.toml": SPEC,
        "values.csv": f"row,value\nHOURS,100.{DIGITS}\n",
        "prices.csv": "\n".join(["group,advertiser,price", *prices]) + "\n",
        "mine.csv": f"row,col,severity\n{cell // 10},{cell % 10},{MARKS[0]}\n",
        "limits.csv": f"kind,limit\nhazard,{0.7 + MARKS[10]}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    PrivacyLedger.create(tmp_path / "l.sqlite", "site", epsilon=2, delta="1/1000")
    running = started(
        tmp_path, *PROGRAMS[request.param], "--ledger", "l.sqlite", "--account", "site"
    )
    yield running, tmp_path, request.param
    running.stop()


def test_every_kind_of_real_database_is_released_against_its_ledger(other_database, window):
    running, place, kind = other_database
    page = window(running)
    page.get_by_text("remaining (ε = 2, δ = 0.001)").wait_for()
    page.get_by_text("Nothing was released yet").wait_for()
    first = entries(place)
    for label, text in (("ε", "1"), ("δ", "1/2000")):
        page.locator(f'[aria-label="{label}"]:visible').first.fill(text)
    page.get_by_text("One press spends (ε = 1, δ = 0.0005)").wait_for()
    assert entries(place) == first
    release(page).click()
    page.get_by_text("remaining (ε = 1, δ = 0.0005)").wait_for()
    left = page.get_by_role("progressbar", name="share of ε that remains")
    filled = left.locator(".q-linear-progress__model").bounding_box()["width"]
    assert abs(filled / left.bounding_box()["width"] - 0.5) < 0.01
    page.get_by_text("exact noise from the operating system").wait_for()
    page.get_by_text("Debited as entry").wait_for()
    assert entries(place) == first + 1
    if kind == "auction":
        page.locator('img[alt^="the private answer"], [alt^="the private"] img').first.wait_for()
    shown = page.content()
    assert DIGITS not in shown + page.url
    said = page.locator(".q-tab-panel:visible").inner_text()
    for word in ("invented", "without privacy", "loses", "true objective"):
        assert word not in said
    with page.expect_download() as got:
        page.get_by_role("button", name="release.npz").click()
    assert DIGITS.encode() not in got.value.path().read_bytes()
    release(page).click()  # what is left pays for one more, and then the button is dead
    page.get_by_text("remaining (ε = 0").wait_for()
    page.get_by_text("The ledger does not allow this").wait_for()
    assert release(page).is_disabled()
    assert entries(place) == first + 2
    assert DIGITS not in (place / "stderr.txt").read_text()
