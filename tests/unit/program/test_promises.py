"""Small promises of programs and their certificates, one by one."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dp_cmdp import Envelope, ParametricLP
from dp_cmdp._exact import row_sums
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import InvalidArgumentError
from tests.problems import random_parametric_lp


def exact_slacks(program: ParametricLP, theta, x) -> list[Fraction]:
    """b(θ) − A(θ)x and b_ub − A_ub x, in fractions from beginning to end."""
    values, point = [Fraction(v) for v in theta], [Fraction(v) for v in x]
    slack = [Fraction(v) for v in program.b.constant]
    for i, k, h in zip(program.b.row, program.b.entry, program.b.coefficient, strict=True):
        slack[i] += Fraction(h) * values[k]
    for i, row in enumerate(program.A.constant.toarray()):
        slack[i] -= sum(Fraction(a) * v for a, v in zip(row, point, strict=True))
    A = program.A
    for i, j, k, g in zip(A.row, A.col, A.entry, A.coefficient, strict=True):
        slack[i] -= Fraction(g) * values[k] * point[j]
    for row, right in zip(program.A_ub.toarray(), program.b_ub, strict=True):
        used = sum(Fraction(a) * v for a, v in zip(row, point, strict=True))
        slack.append(Fraction(right) - used)
    return slack


def test_the_worst_slack_is_the_smallest_over_all_corners_rounded_once():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        program = random_parametric_lp(rng)
        envelope = program.envelope
        lower, upper = np.sort(
            rng.uniform(envelope.lower, envelope.upper, (2, envelope.lower.size)), axis=0
        )
        x = np.clip(rng.normal(size=program.num_variables), program.lower, program.upper)
        corners = product(*zip(lower, upper, strict=True))
        least = map(min, zip(*(exact_slacks(program, c, x) for c in corners), strict=True))
        found = program.worst_case_slack(x, lower=lower, upper=upper)
        assert found.tolist() == [float(slack) for slack in least]


@pytest.mark.parametrize("block", ["A", "b", "c"])
def test_a_program_that_reads_one_entry_too_many_is_refused(block):
    parts: dict[str, Any] = {
        "A": Affine((1, 1), constant=[[1.0]]),
        "b": Affine(1, constant=[1.0]),
        "c": Affine(1, constant=[1.0]),
    }
    at = (0, 0) if block == "A" else 0
    parts[block] = Affine(parts[block].shape, at=at, entry=[2])
    with pytest.raises(InvalidArgumentError, match="reads database entry 2"):
        ParametricLP(Envelope(0.0, 1.0, shape=2), **parts)


@pytest.mark.parametrize("size", [2.0**-300, 2.0**-400, 2.0**300, 2.0**400])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_of_three_extreme_factors_keep_their_sign(size, sign):
    factors = [np.array([size, size]), np.array([size, size]), np.array([size, sign * 2 * size])]
    (total,) = row_sums(np.zeros(2, dtype=np.intp), factors, num_rows=1)
    assert np.sign(total) == sign


def test_a_residue_of_three_factors_below_their_rounding_is_seen():
    above = 1.0 + 2.0**-52
    factors = [
        np.array([above, -1.0]),
        np.array([above, 1.0]),
        np.array([above, 1.0 + 3 * 2.0**-52]),
    ]
    (total,) = row_sums(np.zeros(2, dtype=np.intp), factors, num_rows=1)
    assert Fraction(total) == Fraction(float(Fraction(above) ** 3 - 1 - 3 * Fraction(1, 2**52)))
    assert total > 0.0


@pytest.mark.parametrize("constant", [1.0, -1.0, 3.0])
@pytest.mark.parametrize("coefficient", [1.0, -1.0, 0.1])
def test_bounds_enclose_sums_that_round_to_their_public_part(constant, coefficient):
    part = Affine(1, constant=[constant], at=[0], entry=[0], coefficient=coefficient)
    low, high = np.array([-(2.0**-60)]), np.array([2.0**-59])
    ends = [Fraction(constant) + Fraction(coefficient) * Fraction(end[0]) for end in (low, high)]
    (lower,), (upper,) = part.bounds(low, high)
    assert Fraction(lower) <= min(ends)
    assert max(ends) <= Fraction(upper)
