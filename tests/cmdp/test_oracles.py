"""What version 0.1 answered on the grids that are shipped, recorded as plain numbers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from tests.cmdp.models import highest_costs, known_set

DATA = Path(__file__).parents[1] / "oracles" / "data"
GRIDS = ("cliff", "corridor", "crossing", "islands", "paper", "rooms", "two_hazards")
#: Values of answers agree to this share of their size: solvers stop at 1e-7.
CLOSE = 2e-7


def rows(name: str, problems: tuple[str, ...]) -> list[dict[str, Any]]:
    recorded = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return [row for row in recorded if row["problem"] in problems]


def curator(name: str) -> Any:
    return dp.envs.HazardGridEnv(name, access="curator")


@pytest.mark.parametrize(
    "row",
    [row for row in rows("answers", GRIDS) if "policy" in row],
    ids=lambda row: f"{row['problem']}-{row['known']}",
)
def test_a_recorded_policy_costs_what_was_recorded_and_is_the_best_found(row):
    """Bounds are not below the exact costs, and above them by rounding only."""
    model = curator(row["problem"]).model()
    known = known_set(row["lower"], row["upper"])
    policy = dp.Policy(np.array(row["policy"]))
    for bound, text, limit in zip(
        highest_costs(model, policy, known), row["worst_cost"], row["limit"], strict=True
    ):
        exact = Fraction(text)
        assert exact <= Fraction(float(bound))
        assert float(bound) == pytest.approx(float(exact), rel=1e-9)
        assert exact <= Fraction(limit)
    assert model.certify(policy, known).verified
    assert model.value(policy, known.lower) == pytest.approx(row["value"], rel=CLOSE)
    assert model.answer(known).value == pytest.approx(row["value"], rel=CLOSE)
