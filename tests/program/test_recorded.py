"""Values and certificates that the old package was recorded with (tests/oracles)."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.data.envelope import UncertaintySet
from paper.problems import families

DATA = Path(__file__).parents[1] / "oracles" / "data"
ANSWERS = [row for row in json.loads((DATA / "answers.json").read_text()) if "x" in row]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row['problem']}-{row['known']}")
def test_recorded_answers_are_proved_with_the_recorded_slack(row):
    weights = "knapsack" in row["problem"]
    lp, _ = families.knapsack(3, 12) if weights else families.staffing()
    size, count = len(row["lower"]), len(row["q"])
    known = UncertaintySet(
        np.array(row["lower"]),
        np.array(row["upper"]),
        sparse.csr_array(np.reshape(np.array(row["W"], dtype=float), (count, size))),
        np.array(row["q"], dtype=float),
    )
    table = np.reshape(np.array(row["multipliers"], dtype=float), (lp.b.size, count))
    proof = lp._certificate(row["x"], known, sparse.csr_array(table))
    assert proof.verified
    for claimed, text in zip(proof.slack.tolist(), row["slack"], strict=True):
        assert Fraction(claimed) <= Fraction(text)
        assert claimed == pytest.approx(float(Fraction(text)), rel=1e-9, abs=1e-12)
    assert lp.certify(row["x"], known)
    found = lp.answer(known)
    assert found.value >= row["value"] - 1e-6 * abs(row["value"])
    worse = 1.001 if weights else 0.999
    assert not lp.certify(worse * np.array(row["x"]), known)
