"""Every example runs as a reader would run it, in its quick form, and leaves its picture."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import cvxpy as cp
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Script, quick options, what it must say, pictures.
QUICK = (
    ("quickstart", (), "verified: ", ()),
    ("ad_auction", (), "verified: ", ("ad_auction.png",)),
    (
        "ad_auction",
        ("--compare",),
        "curator only",
        ("ad_auction.png",),
    ),
    (
        "feasibility_theorem",
        ("--draws", "5"),
        "Algorithm 1: no point",
        ("feasibility_theorem.png",),
    ),
    ("idea", (), "without data", ("idea.png",)),
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


MODELS = sorted(EXAMPLES.glob("cvxpy/*.py"))
ENVIRONMENTS = sorted(EXAMPLES.glob("gymnasium/*.py"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_cvxpy_model_gives_a_certified_answer_that_beats_no_data(path, capsys):
    names = runpy.run_path(str(path))
    found = names["found"]
    assert "verified: " in capsys.readouterr().out
    problem = next(thing for thing in names.values() if isinstance(thing, cp.Problem))
    sign = 1 if isinstance(problem.objective, cp.Maximize) else -1
    assert sign * (found.value - found.robust.value) > 0.01 * abs(found.robust.value)


@pytest.mark.parametrize("path", [*MODELS, *ENVIRONMENTS], ids=lambda path: path.stem)
def test_an_example_says_what_is_private_and_what_the_radius_means(path):
    text = path.read_text()
    assert "Private: " in text
    assert "radius" in text
    if path in MODELS:
        assert len(text.splitlines()) < 40
        assert "means" in text
    else:
        assert "Public: " in text


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
