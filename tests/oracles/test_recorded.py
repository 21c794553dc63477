"""What version 0.1 did, recorded as plain numbers and files: values of problems, files of users.

Laws are compared in `tests/kernel`, answers in `tests/program` and `tests/cmdp`, ledgers in
`tests/accounting`, losses in `tests/paper`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from paper.problems import families
from paper.problems.auction import growing_auction, random_auction

HERE = Path(__file__).parent
FILES = sorted((HERE / "files").glob("*.npz"))
#: Values of answers agree to this share of their size: solvers stop at 1e-7.
CLOSE = 1e-6


def rows(name: str) -> list[dict[str, Any]]:
    return json.loads((HERE / "data" / f"{name}.json").read_text(encoding="utf-8"))


def asked(name: str) -> tuple[Any, Any]:
    """The problem of a name, and its private numbers."""
    kind = name.split()[0]
    if kind == "auction":
        program = growing_auction(int(name.split()[1]), radius=0.1)
        return program, random_auction(program, np.random.default_rng(30))
    if kind in ("knapsack", "staffing"):
        return getattr(families, kind)()
    curator = dp.envs.HazardGridEnv(name, access="curator")
    return curator.model(), curator.database().read()


@pytest.mark.parametrize("row", rows("values"), ids=lambda row: row["problem"])
def test_values_without_data_and_without_privacy_are_as_recorded(row: dict[str, Any]) -> None:
    problem, values = asked(row["problem"])
    robust = dp.answer(problem)
    assert robust.certificate.verified
    close = CLOSE if isinstance(problem, dp.ParametricLP) else CLOSE / 5
    assert robust.value == pytest.approx(row["robust"], rel=close)
    assert robust.bound == pytest.approx(row["robust"], rel=CLOSE)
    assert dp.answer(problem.at(values)).value == pytest.approx(row["optimum"], rel=close)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_files_are_refused_with_the_version_that_verifies_them(path: Path) -> None:
    """Good and forged ones alike: none passes."""
    report = dp.verify(path)
    assert not report
    assert "version 0.1" in " ".join(repr(report).split())
    for load in (dp.Release.load, dp.Policy.load, dp.ParametricLP.load, dp.ParametricCMDP.load):
        with pytest.raises(dp.errors.InvalidArgumentError, match=r"version 0\.1"):
            load(path)
