"""The README and other pages run as they stand; its sentences are true of its tables."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
#: Pages whose snippets can be copied one by one.
PAGES = ("README.md", "docs/cvxpy.md", "docs/gymnasium.md", "docs/tables.md")
SNIPPETS = {
    f"{page} {number}": code
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    )
}


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_every_python_snippet_runs(snippet, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SNIPPETS[snippet]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_a_policy_and_a_program_to_copy():
    assert {f"{page} {number}" for page in PAGES for number in range(2)} <= set(SNIPPETS)


def test_how_much_less_is_lost_is_what_the_table_says():
    rows = re.findall(r"^\| [\d.]+ \| ([\d.]+) %.*\| \*\*([\d.]+) %", README, re.M)
    ratios = [float(theirs) / float(ours) for theirs, ours in rows]
    said = re.search(r"loses ([\d.]+) to ([\d.]+) times less", README)
    assert len(ratios) == 5
    assert said is not None
    least, most = (float(number) for number in said.groups())
    assert least == pytest.approx(min(ratios), abs=0.05)
    assert most == pytest.approx(max(ratios), abs=0.05)


def test_how_the_loss_falls_with_size_is_what_the_table_says():
    table = (ROOT / "docs/scale.md").read_text()
    losses = [
        re.search(rf"^\| auction \| {size} \| 0.1 \| 0.001 \|.*?\*\*([\d.]+) \[", table, re.M)
        for size in ("100", "300", "1,000")
    ]
    said = re.search(r"planned release loses ([\d.]+), ([\d.]+) and ([\d.]+) %", README)
    assert said is not None
    for number, loss in zip(said.groups(), losses, strict=True):
        assert loss is not None
        assert float(number) == pytest.approx(float(loss[1]), abs=0.05)


def test_links_to_files_of_the_repository_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if "://" not in target
        and re.search(r"\.\w+$|/$", target)
        and not (page.parent / target).exists()
    ]
    assert not broken
