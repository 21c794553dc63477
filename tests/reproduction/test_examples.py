"""Every example runs as a reader would run it, in its quick form, and leaves its picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Script, quick options, what it must say, pictures.
QUICK = (
    ("quickstart", (), "verified=True", ()),
    ("ad_auction", (), "verified=True", ("ad_auction.png",)),
    (
        "ad_auction",
        ("--compare",),
        "curator only",
        ("ad_auction.png", "curator_only/comparison.png"),
    ),
    (
        "feasibility_theorem",
        ("--draws", "5"),
        "Algorithm 1: no point",
        ("feasibility_theorem.png",),
    ),
    (
        "hazard_grid",
        ("--episodes", "5", "--compare"),
        "5 episodes: return",
        ("policy.png", "curator_only/comparison.png"),
    ),
)


@pytest.mark.parametrize(("name", "options", "says", "pictures"), QUICK)
def test_an_example_runs_and_leaves_its_picture(name, options, says, pictures, tmp_path):
    target = ("--out", str(tmp_path)) if pictures else ()
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *options, *target]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def readme_blocks() -> list[str]:
    text = (EXAMPLES.parent / "README.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("number", range(len(readme_blocks())))
def test_the_readme_runs_as_it_is_printed(number, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", readme_blocks()[number]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
