"""Values and certificates that the old package was recorded with (tests/oracles)."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.parametric import ParametricLP
from tests.oracles import problems

DATA = Path(__file__).parents[1] / "oracles" / "data"
ANSWERS = [row for row in json.loads((DATA / "answers.json").read_text()) if "x" in row]
VALUES = {row["problem"]: row for row in json.loads((DATA / "values.json").read_text())}


def program(numbers: problems.Numbers) -> ParametricLP:
    theta = Envelope(numbers.low, numbers.high, radius=numbers.radius)
    A, b = numbers.A, numbers.b
    if numbers.private == "A":
        A = theta[:].reshape(A.shape) + A
    else:
        b = b - theta[:]
    return ParametricLP(numbers.c, A=A, b=b, upper=numbers.upper)


@pytest.mark.parametrize("name", ["knapsack 20 x 1000", "staffing"])
def test_values_without_data_and_without_privacy_are_as_recorded(name):
    numbers = problems.knapsack() if name.startswith("knapsack") else problems.staffing()
    lp = program(numbers)
    robust = lp.answer(lp.envelope.uncertainty)
    assert robust.value == pytest.approx(VALUES[name]["robust"], rel=1e-6)
    assert robust.bound == pytest.approx(VALUES[name]["robust"], rel=1e-6)
    plain = lp.at(numbers.values)
    optimum = plain.answer(plain.envelope.uncertainty)
    assert optimum.value == pytest.approx(VALUES[name]["optimum"], rel=1e-6)


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row['problem']}-{row['known']}")
def test_recorded_answers_are_proved_with_the_recorded_slack(row):
    numbers = problems.knapsack(3, 12) if "knapsack" in row["problem"] else problems.staffing()
    lp = program(numbers)
    size, count = len(row["lower"]), len(row["q"])
    known = UncertaintySet(
        np.array(row["lower"]),
        np.array(row["upper"]),
        sparse.csr_array(np.reshape(np.array(row["W"], dtype=float), (count, size))),
        np.array(row["q"], dtype=float),
    )
    table = np.reshape(np.array(row["multipliers"], dtype=float), (numbers.b.size, count))
    proof = lp._certificate(row["x"], known, sparse.csr_array(table))
    assert proof.verified
    for claimed, text in zip(proof.slack.tolist(), row["slack"], strict=True):
        assert Fraction(claimed) <= Fraction(text)
        assert claimed == pytest.approx(float(Fraction(text)), rel=1e-9, abs=1e-12)
    assert lp.certify(row["x"], known)
    found = lp.answer(known)
    assert found.value >= row["value"] - 1e-6 * abs(row["value"])
    worse = 1.001 if numbers.private == "A" else 0.999
    assert not lp.certify(worse * np.array(row["x"]), known)
