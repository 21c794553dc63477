"""The sentences of the README are true of the tables (its code: test_pages.py)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_how_much_less_is_lost_is_what_the_table_says():
    rows = re.findall(r"^\| [\d.]+ \| ([\d.]+) %.*\| \*\*([\d.]+) %", README, re.M)
    ratios = [float(theirs) / float(ours) for theirs, ours in rows]
    said = re.search(r"loses ([\d.]+) to ([\d.]+) times less", README)
    assert len(ratios) == 5
    assert said is not None
    least, most = (float(number) for number in said.groups())
    assert least == pytest.approx(min(ratios), abs=0.05)
    assert most == pytest.approx(max(ratios), abs=0.05)
