"""The programs that the face was designed by run as they are written, in a folder of their own."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dp_cmdp as dp

FOLDER = Path(__file__).parents[2] / "examples/face"
#: Slow, or of packages that are not installed everywhere.
MARKED = {
    "study": pytest.mark.long,
    "sparse_entries": pytest.mark.long,
    "advise": pytest.mark.long,
    "dask_study": pytest.mark.long,
    "minigrid": pytest.mark.long,
    "learners": pytest.mark.rl,
}
PROGRAMS = [
    pytest.param(path, id=path.stem, marks=MARKED.get(path.stem, ()))
    for path in sorted(FOLDER.glob("*.py"))
]
MODEL = """NAME farm
ROWS
 N value
 L LAND
 L WORK
COLUMNS
 x value -3 LAND 1
 x WORK 2
 y value -2 LAND 1
 y WORK 3
RHS
 RHS LAND 100 WORK 240
ENDATA
"""
SPEC = """[[private]]
kind = "rhs"
name = "capacity"
rows = ["LAND", "WORK"]
lower = 0.9
upper = 1.1
radius = 0.01
relative = true

[[private]]
kind = "coefficient"
name = "hours"
entries = [["WORK", "x"], ["WORK", "y"]]
lower = 0.9
upper = 1.1
radius = 0.01
relative = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a program finds the files that it names."""
    monkeypatch.chdir(tmp_path)
    theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    lp.save("problem.npz")
    pd.DataFrame({"value": [1, 1.2, 10]}).to_csv("values.csv", index=False)
    pd.DataFrame({"value": [100, 20, 50]}).to_csv("demand.csv", index=False)
    Path("model.mps").write_text(MODEL)
    Path("spec.toml").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_program(program: Path, folder: Path, monkeypatch: Any) -> None:
    if program.stem == "minigrid":
        pytest.importorskip("minigrid")
        pytest.importorskip("matplotlib")
    if program.stem == "learners":
        pytest.importorskip("stable_baselines3")
    if program.stem == "dask_study":
        client = pytest.importorskip("distributed").Client
        local: Any = {"n_workers": 2, "processes": False, "dashboard_address": None}
        monkeypatch.setattr("distributed.Client", lambda address: client(**local))
    if program.stem in {"advise", "lp_file"}:
        relative(program, folder)
    runpy.run_path(str(program), run_name="__main__")


def relative(program: Path, folder: Path) -> None:
    """The file of values of a model, or bounds that do not need its numbers."""
    if program.stem == "advise":
        spec = SPEC.replace("relative = true\n", "")
        for name, (low, high, radius) in {
            "capacity": ("90", "260", "1"),
            "hours": ("1.8", "3.3", "0.01"),
        }.items():
            head, own = spec.split(f'name = "{name}"')
            own = own.replace("0.9", low, 1).replace("1.1", high, 1).replace("0.01", radius, 1)
            spec = f'{head}name = "{name}"{own}'
        (folder / "spec.toml").write_text(spec)
        rows = [
            ("capacity", "LAND", None, 103.5),
            ("capacity", "WORK", None, 231.0),
            ("hours", "WORK", "x", 2.05),
            ("hours", "WORK", "y", 2.9),
        ]
        columns = ["group", "row", "column", "value"]
        pd.DataFrame(rows, columns=columns).to_csv("values.csv", index=False)
