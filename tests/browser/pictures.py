"""Draws the pictures of ``docs/explorer.md``: ``make explorer-pictures``."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from dp_cmdp import PrivacyLedger
from dp_cmdp.explorer.grid_design import GridDesign
from tests.browser.conftest import FLAGS, LATER_MS, started

WIDTH = 1280
#: Colours of a picture: few enough for a small file, enough for smooth letters.
COLOURS = 256


def main(folder: Path) -> None:
    """Write explorer-grid.png and explorer-database.png."""
    from playwright.sync_api import sync_playwright  # pyright: ignore[reportMissingImports]

    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        place = Path(name)
        _database(place)
        server = started(
            place, "--layout", "islands", "--hazards", "mine.json", "--ledger", "l.sqlite",
            "--account", "site-7",
        )  # fmt: skip
        try:
            browser = play.chromium.launch(
                executable_path=shutil.which("chromium"), args=list(FLAGS)
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": 1180})
            page.set_default_timeout(LATER_MS)
            page.goto(server.start)
            _save(_released(page), folder / "explorer-database.png")
            page.goto(f"{server.start}?tab=grid&epsilon=4")
            _save(_designed(page), folder / "explorer-grid.png")
            browser.close()
        finally:
            server.stop()


def _database(place: Path) -> None:
    """Invented hazards in the place of real ones, and a ledger."""
    design = GridDesign(seed=7)
    limit = float(design.values()["limit"])
    severity = [[cell // 10, cell % 10, level] for _, cell, level in design.placed()]
    kinds = {"hazard": {"severity": severity, "limit": limit}}
    content = {"format": "dp_cmdp.Hazards/2", "kinds": kinds}
    (place / "mine.json").write_text(json.dumps(content))
    PrivacyLedger.create(place / "l.sqlite", "site-7", epsilon=4, delta="1/1000")


def _released(page: Any) -> bytes:
    page.get_by_text("remaining (ε = 4").wait_for()
    page.locator('[aria-label="ε"]:visible').fill("2")
    page.locator('[aria-label="δ"]:visible').fill("1/2000")
    page.get_by_text("One press spends (ε = 2, δ = 0.0005)").wait_for()
    page.locator("button", has_text=re.compile("^(lock_open)?Release$")).click()
    page.get_by_text("Debited as entry").wait_for()
    page.wait_for_timeout(500)
    return page.screenshot()


def _designed(page: Any) -> bytes:
    page.get_by_text("bars are 95 % intervals").wait_for()
    page.get_by_label("Play or pause the episode").click()
    page.get_by_text(re.compile(r"step (9|1\d)")).first.wait_for()
    page.get_by_label("Play or pause the episode").click()
    page.wait_for_timeout(500)
    return page.screenshot()


def _save(picture: bytes, path: Path) -> None:
    """As a PNG of few colours."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    # colours that cover all there are: a median cut loses those of thin lines
    small = image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
