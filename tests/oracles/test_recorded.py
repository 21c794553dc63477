"""What version 0.1 did, recorded as plain numbers and files: auctions, and files of users.

Laws are compared in `tests/kernel`, programs in `tests/program`, grids in `tests/cmdp`, ledgers in
`tests/accounting`, losses in `tests/paper`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from paper.problems.auction import growing_auction, random_auction

HERE = Path(__file__).parent
FILES = sorted((HERE / "files").glob("*.npz"))
#: Values of answers agree to this share of their size: solvers stop at 1e-7.
CLOSE = 1e-6


def rows(name: str) -> list[dict[str, Any]]:
    return json.loads((HERE / "data" / f"{name}.json").read_text(encoding="utf-8"))


AUCTIONS = [row for row in rows("values") if row["problem"].startswith("auction")]


@pytest.mark.parametrize("row", AUCTIONS, ids=lambda row: row["problem"])
def test_values_without_data_and_without_privacy_are_as_recorded(row: dict[str, Any]) -> None:
    program = growing_auction(int(row["problem"].split()[1]), radius=0.1)
    assert dp.answer(program).value == pytest.approx(row["robust"], rel=CLOSE)
    prices = random_auction(program, np.random.default_rng(30))
    assert dp.answer(program.at(prices)).value == pytest.approx(row["optimum"], rel=CLOSE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_files_are_refused_with_the_version_that_verifies_them(path: Path) -> None:
    """Good and forged ones alike: none passes."""
    report = dp.verify(path)
    assert not report
    assert "version 0.1" in " ".join(repr(report).split())
    for load in (dp.Release.load, dp.Policy.load, dp.ParametricLP.load, dp.ParametricCMDP.load):
        with pytest.raises(dp.errors.InvalidArgumentError, match=r"version 0\.1"):
            load(path)
