"""The tab *Grid*: every control, wrong input, keyboard, addresses, windows, a thousand states."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dp_cmdp.explorer.curve import EPSILONS, MEAN, NOW
from tests.browser.conftest import LATER_MS

pytestmark = pytest.mark.browser


def settled(page: Any) -> None:
    """Wait until the answer for the present design is shown, and the page is connected."""
    page.wait_for_function(
        "() => { const s = [...document.querySelectorAll('[role=status]')].map(e => e.innerText);"
        " return location.search && s.some(t => / states, strategy /.test(t)) }"
    )


def changed(page: Any, act: Any) -> str:
    """What the results say after an act that changes them."""
    before = page.url
    act()
    page.wait_for_function("url => location.href !== url", arg=before)
    settled(page)
    page.locator("[aria-busy=true]:visible").wait_for(state="detached")
    return page.locator(".q-table").first.inner_text()


def said(page: Any) -> dict[str, str]:
    return {key: part[0] for key, part in parse_qs(urlsplit(page.url).query).items()}


def field(page: Any, label: str) -> Any:
    return page.get_by_label(label, exact=True)


def choose(page: Any, label: str, option: str | re.Pattern[str]) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option).click()


def refused(page: Any, text: str) -> None:
    """Wait for a refusal that says so."""
    page.get_by_role("alert").filter(has_text=text).first.wait_for()


def slide(page: Any, label: str, key: str, times: int = 4) -> None:
    thumb = page.locator(f'[aria-label="{label}"] [tabindex="0"]').first
    thumb.focus()
    for _ in range(times):
        thumb.press(key)


@pytest.fixture
def page(window, server):
    opened = window(server)
    settled(opened)
    return opened


TYPED = (
    ("ε", "1/3", "epsilon"),
    ("δ", "1e-5", "delta"),
    ("radius × the layout's", "0.5", "radius"),
    ("limit × the layout's", "1.5", "limit"),
    ("Seed of the noise", "12", "noise"),
)


def test_a_typed_value_goes_into_answer_and_address(page):
    for label, text, key in TYPED:
        changed(page, lambda label=label, text=text: field(page, label).fill(text))
        assert said(page)[key] == text


WRONG = (
    ("ε", "-3", "epsilon must be positive"),
    ("ε", "", "epsilon"),
    ("δ", "0.9", "delta must lie in"),
    ("radius × the layout's", "0", "radius"),
    ("limit × the layout's", "1e6", "limit"),
    ("Seed of the noise", "1.5", "whole number"),
    ("Name of a layout", "nowhere", "layout must be one of"),
)


def lies_on_others(text: Any) -> bool:
    """Whether a text leaves the field that it belongs to, and so covers what is below."""
    inside = text.locator("xpath=ancestor::label").bounding_box()
    box = text.bounding_box()
    return box["y"] + box["height"] > inside["y"] + inside["height"] + 1


def test_wrong_input_is_named_at_its_field_and_changes_nothing(page):
    before = page.url, page.locator(".q-table").first.inner_text()
    for label, text, rule in WRONG:
        usual = field(page, label).input_value()
        field(page, label).fill(text)
        told = page.locator(".q-field__messages", has_text=rule).first
        told.wait_for()
        page.wait_for_timeout(400)
        assert not lies_on_others(told), label
        assert (page.url, page.locator(".q-table").first.inner_text()) == before
        field(page, label).fill(usual)


def cell(page: Any, row: int, col: int, size: int) -> None:
    """Click a cell of the map that is drawn on."""
    box = page.locator("[role=application]").bounding_box()
    step = box["width"] / size
    page.mouse.click(box["x"] + (col + 0.5) * step, box["y"] + (row + 0.5) * step)


def test_a_grid_is_drawn_by_clicks_and_undone(page):
    field(page, "Name of a layout").fill("blank-6x6")
    changed(page, lambda: field(page, "Name of a layout").press("Enter"))
    for tool, row, col in (
        ("candidate", 2, 2), ("wall", 4, 4), ("start", 5, 1), ("goal", 0, 4), ("free", 3, 3),
    ):  # fmt: skip
        choose(page, "Tool", tool)
        changed(page, lambda row=row, col=col: cell(page, row, col, 6))
    rows = said(page)["rows"].split("/")
    assert (rows[2][2], rows[4][4], rows[5][1], rows[0][4]) == ("?", "#", "S", "G")
    assert rows[3][3] == "."
    choose(page, "Tool", "hazard")
    changed(page, lambda: cell(page, 2, 2, 6))
    assert "0.14:" in said(page)["hazards"]
    changed(page, lambda: page.get_by_role("button", name="Undo drawing").click())
    assert "rows" not in said(page)
    changed(page, lambda: page.get_by_role("button", name="Invent others").click())
    assert said(page)["seed"] == "1"


def test_a_limit_that_cannot_be_kept_is_refused_in_words_and_can_be_mended(page, server):
    page.goto(f"{server.start}?layout=blank-3x3&rows=S??/???/??G&limit=0.01")
    refused(page, "no policy keeps its limits")
    changed(page, lambda: field(page, "limit × the layout's").fill("50"))
    assert not page.get_by_role("alert").first.is_visible()


def test_every_control_is_met_by_the_tab_key(page):
    met = set()
    page.locator("body").click(position={"x": 5, "y": 500})
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "() => { const e = document.activeElement; const n = e.closest('[aria-label]');"
            " return n ? n.getAttribute('aria-label') : e.innerText || '' }"
        )
        met.add(name.strip().split("\n")[-1])
    wanted = {
        "Layout", "Name of a layout", "Tool", "Severity of a new hazard", "Invent others",
        "Criterion", "Undo drawing", "ε", "δ", "radius × the layout's", "limit × the layout's",
        "Strategy", "Seed of the noise", "Another episode", "Copy the code",
        "Map to draw on: arrow keys move, Enter applies the tool", "Step of the episode",
        "Play or pause the episode", "release.npz", "policy.png", "curve.csv", "curve.png",
    }  # fmt: skip
    assert wanted <= met


def test_an_episode_plays_pauses_and_is_drawn_again(page):
    play = page.get_by_label("Play or pause the episode")
    play.click()
    page.get_by_text(re.compile(r"step [3-9]")).first.wait_for()
    play.click()
    page.wait_for_timeout(600)
    there = page.get_by_text(re.compile(r"^step \d")).all_inner_texts()
    page.wait_for_timeout(700)
    assert page.get_by_text(re.compile(r"^step \d")).all_inner_texts() == there
    slide(page, "Step of the episode", "PageUp", 12)
    page.get_by_text(re.compile(r"\(goal\)")).first.wait_for()
    page.get_by_role("button", name="Another episode").click()
    page.get_by_text("step 0: return 0, cost 0").first.wait_for()


def test_a_policy_of_an_episode_is_drawn_step_by_step(page, server):
    page.goto(f"{server.start}?layout=corridor&strategy=entries")
    settled(page)
    changed(page, lambda: choose(page, "Criterion", "episode of H steps"))
    changed(page, lambda: field(page, "Steps of an episode").fill("30"))
    assert said(page)["horizon"] == "30"
    assert page.get_by_text("cost per episode").first.is_visible()
    drawn = page.get_by_role("img", name="Policy without privacy: arrows over visits")
    first = drawn.inner_html()
    slide(page, "Step of the episode", "ArrowRight", 3)
    page.get_by_text(re.compile(r"^step 3")).first.wait_for()
    assert drawn.locator("path").first.is_visible()
    assert drawn.inner_html() != first
    changed(page, lambda: choose(page, "Criterion", re.compile("discounted")))
    assert "horizon" not in said(page)
    assert not field(page, "Steps of an episode").is_visible()


def test_the_curve_is_downloaded_and_stays_while_epsilon_moves(page):
    page.get_by_text("bars are 95 % intervals").wait_for(timeout=LATER_MS)
    found = {}
    for epsilon in ("2", "3"):
        with page.expect_download() as got:
            page.get_by_role("button", name="curve.csv").click()
        text = got.value.path().read_text()
        rows = [line.split(",") for line in text.splitlines()]
        assert next(row for row in rows if row[0] == NOW)[1] == f"{float(epsilon)}"
        found[epsilon] = [row for row in rows if row[0] == MEAN]
        if epsilon == "2":
            changed(page, lambda: field(page, "ε").fill("3"))
    assert len(found["2"]) == len(EPSILONS)
    assert found["3"] == found["2"]  # known at once: it does not depend on the ε that is chosen
    with page.expect_download() as got:
        page.get_by_role("button", name="curve.png").click()
    assert got.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_thousand_states_answer_while_curve_and_limit_are_still_under_way(page, server):
    page.goto(f"{server.start}?tab=grid&layout=random-32-0&strategy=entries")
    page.get_by_text("1024 states, strategy entries").wait_for()
    started = time.monotonic()
    changed(page, lambda: field(page, "ε").fill("1"))
    page.get_by_text("SIMULATED noise of (ε = 1, δ = 0.001)").wait_for()
    assert time.monotonic() - started < 5  # a quarter of a second, on a machine that is not busy
    assert page.locator(".q-linear-progress").first.is_visible()
    changed(page, lambda: cell(page, 31, 0, 32) or choose(page, "Tool", "wall") or
            cell(page, 31, 0, 32))  # fmt: skip
