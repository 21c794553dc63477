"""How the explorer looks: at once, at every width, to everybody; in each of its states."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dp_cmdp.explorer.files import SAMPLE
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.invented import answer_to

pytestmark = pytest.mark.browser

#: A laptop and a phone.
SIZES = (1280, 800), (390, 844)
BUSY = "[aria-busy=true]:visible"


def rows(page: Any) -> Any:
    return page.locator(".q-table:visible").first.locator("tbody tr")


def settled(page: Any) -> None:
    page.get_by_role("status").filter(has_text=re.compile("strategy|robust")).first.wait_for()
    page.locator(BUSY).wait_for(state="detached")


def test_the_page_itself_holds_the_result_of_the_default_grid(server, window):
    page = window(server)
    content = page.request.get(server.start).text()  # before any script ran, or a socket opened
    found = answer_to(GridDesign())
    for answer in (found.private, found.private.robust, found.best):
        assert f"{answer.value:.5g}" in content
    assert f"{found.loss:.3g} %" in content


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_jumps_and_result_loss_and_maps_are_seen_at_once(
    server, window, width, height, record_property
):
    page = window(server, width=width, height=height)
    page.get_by_text("looking for the limit").wait_for(timeout=300_000)  # all else has arrived
    shifted, painted, wide = page.evaluate(
        "() => [shifted, painted, document.documentElement.scrollWidth]"
    )
    record_property("largest contentful paint, ms", painted)
    assert painted > 0
    assert shifted < 0.01
    assert wide <= width
    losses = [row.locator("td").nth(2).bounding_box() for row in rows(page).all()]
    maps = [part.bounding_box() for part in page.locator("[role=img][aria-label]").all()]
    assert len(losses) == len(maps) == 3
    assert all(box["x"] + box["width"] <= width for box in losses)
    assert all(box["y"] + box["height"] <= height for box in maps)
    above, below = (losses, maps) if width == 1280 else (maps, losses)
    assert max(box["y"] for box in above) < min(box["y"] for box in below)
    told = page.get_by_text(re.compile(r"^value .*, loses [\d.]+ %$"))
    assert all(part.bounding_box()["y"] < height for part in told.all())
    assert told.count() == 3


def sampled(page: Any) -> None:
    """The tab *Files* with its sample, which can be had as files too."""
    for name in SAMPLE:
        with page.expect_download() as got:
            page.get_by_role("button", name=name).click()
        assert got.value.path().stat().st_size > 0
    page.get_by_role("button", name="Use the sample files").click()
    settled(page)
    assert rows(page).count() == 3


def refused(page: Any) -> None:
    page.get_by_role("alert").filter(has_text="no policy keeps its limits").wait_for()
    assert page.get_by_text("No data available").count() == 0


def started_otherwise(page: Any) -> None:
    page.get_by_role("alert").filter(has_text="epsilon must be positive").wait_for()
    settled(page)


STATES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "grid": ("", settled),
    "large grid": ("?layout=random-32-0", settled),
    "no safe policy": ("?layout=blank-3x3&rows=S??/???/??G&limit=0.01", refused),
    "wrong address": ("?epsilon=-1", started_otherwise),
    "auction": ("?tab=auction", settled),
    "files": ("?tab=files", lambda page: page.get_by_text("Three files").wait_for()),
    "sample": ("?tab=files", sampled),
    "no database": ("?tab=database", lambda page: page.get_by_text("No database").wait_for()),
}


def check_for_everybody(page: Any) -> None:
    """Names, contrast, keys and roles as axe-core judges them, and no scrolling sideways."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(500)
        found = axe.run(page).response["violations"]
        assert [(part["id"], part["nodes"][0]["html"][:200]) for part in found] == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_usable_by_everybody(state, server, window):
    query, reach = STATES[state]
    page = window(server)
    page.goto(server.start + query)
    reach(page)
    check_for_everybody(page)


def test_a_real_database_is_usable_by_everybody(guarded, window):
    page = window(guarded)
    page.get_by_text("remaining (ε = 2").wait_for()
    check_for_everybody(page)
    page.locator("button", has_text=re.compile("^(lock_open)?Release$")).click()
    page.get_by_text("Debited as entry").wait_for()
    check_for_everybody(page)


def test_an_answer_to_an_earlier_design_is_greyed_until_there_is_the_next(server, window):
    page = window(server)
    settled(page)
    before = rows(page).all_inner_texts()
    page.get_by_label("Name of a layout").fill("random-40-1")
    page.get_by_label("Name of a layout").press("Enter")
    page.locator(BUSY).wait_for()
    assert rows(page).all_inner_texts() == before
    card = page.locator(BUSY).locator(".q-card").first
    grey = card.evaluate("card => getComputedStyle(card).backgroundColor")
    page.locator(BUSY).wait_for(state="detached")
    assert rows(page).all_inner_texts() != before
    assert card.count() == 0
    shown = page.locator("[aria-busy=false]:visible .q-card").first
    shown.evaluate("card => Promise.all(card.getAnimations().map(part => part.finished))")
    assert shown.evaluate("card => getComputedStyle(card).backgroundColor") != grey
