"""The examples on other people's environments run, certify what they made, and are short."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples/gymnasium"
PICTURES = {"frozen_lake": True, "taxi": True, "minigrid_room": True, "own_class": False}


@pytest.mark.parametrize("name", PICTURES)
def test_an_example_ends_with_a_certified_policy_that_was_played(name, tmp_path):
    if name == "minigrid_room":
        pytest.importorskip("minigrid", reason="MiniGrid is not installed: pip install minigrid")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ", verified: cost ≤ limit for every database" in done.stdout.splitlines()[0]
    assert len(done.stdout.splitlines()) > 1
    if PICTURES[name]:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_an_example_that_needs_more_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['minigrid'] = None; import runpy; runpy.run_path(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(EXAMPLES / "minigrid_room.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install minigrid" in done.stderr
