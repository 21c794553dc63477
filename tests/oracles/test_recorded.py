"""What commit 2e23627 was recorded to do still holds, through the adapter."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles import adapter, problems
from tests.oracles.enumeration import divergence, weights_of
from tests.oracles.frozen.noise import Certificate

HERE = Path(__file__).parent
#: Values of answers agree to this share of their size: solvers stop at 1e-7.
CLOSE = 1e-6


def rows(name: str) -> list[dict[str, Any]]:
    return json.loads((HERE / "data" / f"{name}.json").read_text())


def named(row: dict[str, Any]) -> str:
    proof = row["certificate"]
    return "-".join(str(proof[key]) for key in ("law", "epsilon", "delta", "steps", "entries"))


@pytest.mark.parametrize("row", rows("laws"), ids=named)
def test_a_law_is_private_by_enumeration_and_as_narrow_as_recorded(row: dict[str, Any]) -> None:
    was = Certificate.from_facts(row["certificate"])
    moved = {name: row[name] for name in ("l1", "largest", "count")}
    assert divergence(weights_of(was), was.epsilon, **moved) == Fraction(row["divergence"])
    budget = str(was.epsilon), str(was.delta)
    law = adapter.calibrated(was.law, *budget, steps=was.steps, entries=str(was.entries))
    found = divergence(weights_of(law), was.epsilon, **moved)
    assert found <= law.outer_mass <= was.delta
    assert law.support <= was.support


def test_enumeration_finds_what_is_not_private() -> None:
    """The noise for one step, when two are made."""
    (row, *_) = rows("laws")
    was = Certificate.from_facts(row["certificate"])
    assert divergence(weights_of(was), was.epsilon, l1=2, largest=2, count=1) > was.delta


@pytest.mark.parametrize("row", rows("values"), ids=lambda row: row["problem"])
def test_values_without_data_and_without_privacy_are_as_recorded(row: dict[str, Any]) -> None:
    case = adapter.problem(row["problem"])
    assert case.optimum() == pytest.approx(row["optimum"], rel=CLOSE)
    assert case.robust_value() == pytest.approx(row["robust"], rel=CLOSE)


PROGRAMS = [row for row in rows("answers") if "x" in row]
POLICIES = [row for row in rows("answers") if "policy" in row]


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: f"{row['problem']}-{row['known']}")
def test_an_answer_keeps_its_rows_as_recorded(row: dict[str, Any]) -> None:
    """The recorded fractions follow from the recorded point, and the package proves the same."""
    numbers = adapter.small_programs()[row["problem"]]
    known = {name: row[name] for name in ("lower", "upper", "W", "q", "multipliers")}
    exact = problems.exact_slack(numbers, row["x"], **known)
    assert [str(slack) for slack in exact] == row["slack"]
    assert min(exact) >= 0
    assert adapter.slack(numbers, row["x"], **known).tolist() == [float(slack) for slack in exact]
    worse = 1.001 if numbers.private == "A" else 0.999
    assert min(problems.exact_slack(numbers, worse * np.array(row["x"]), **known)) < 0


@pytest.mark.parametrize("row", POLICIES, ids=lambda row: f"{row['problem']}-{row['known']}")
def test_a_policy_costs_at_most_what_is_proved(row: dict[str, Any]) -> None:
    """Bounds are not below the exact costs, and above them by rounding only."""
    known = {name: row[name] for name in ("lower", "upper")}
    bounds = adapter.worst_cost(row["problem"], row["policy"], **known)
    for bound, text, limit in zip(bounds, row["worst_cost"], row["limit"], strict=True):
        exact = Fraction(text)
        assert exact <= Fraction(float(bound))
        assert float(bound) == pytest.approx(float(exact), rel=1e-9)
        assert exact <= Fraction(limit)


@pytest.mark.parametrize("row", rows("verdicts"), ids=lambda row: row["files"][0])
def test_files_of_users_are_judged_as_recorded(row: dict[str, Any]) -> None:
    found = adapter.verdict(HERE / "files" / name for name in row["files"])
    assert found["passed"] == row["passed"]
    assert found["findings"] == row["findings"]


def test_a_ledger_of_users_counts_as_recorded_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    shutil.copy(HERE / "files" / "ledger.sqlite", path)
    recorded = rows("ledger")
    assert adapter.ledger_rows(path) == recorded
    adapter.debit(path, "prices", "2/3", "1/1000000")
    (was, *_), (now, *_) = recorded, adapter.ledger_rows(path)
    assert now["spent"] == [str(Fraction(was["spent"][0]) + Fraction("2/3")), "3501/500000"]
    with pytest.raises(Exception, match=r"budget|remain"):
        adapter.debit(path, "prices", was["remaining"][0], "1/1000000")
