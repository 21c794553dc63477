"""Exact sums of products."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp import _exact as exact

floats = st.floats(allow_nan=False, allow_infinity=False)


def as_fraction(*terms):
    total = Fraction(0)
    for term in zip(*terms, strict=True):
        product = Fraction(1)
        for factor in term:
            product *= Fraction(factor)
        total += product
    return total


def sign(value):
    return int(value > 0) - int(value < 0)


@settings(max_examples=300)
@given(st.lists(st.tuples(floats, floats), min_size=1, max_size=8))
def test_the_sign_of_a_sum_of_products_is_exact_for_any_floats(pairs):
    left, right = (np.array(part) for part in zip(*pairs, strict=True))
    found = exact.row_sums(np.zeros(left.size, dtype=int), [left, right], num_rows=1)[0]
    assert sign(found) == sign(as_fraction(left.tolist(), right.tolist()))


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_sums_are_the_rounded_rational_values(factors):
    rng = np.random.default_rng(factors)
    for _ in range(200):
        terms = int(rng.integers(1, 30))
        parts = [
            rng.normal(size=terms) * 2.0 ** rng.integers(-30, 30, terms) for _ in range(factors)
        ]
        rows = rng.integers(0, 3, terms)
        found = exact.row_sums(rows, parts, num_rows=3)
        for row in range(3):
            inside = [part[rows == row].tolist() for part in parts]
            assert found[row] == float(as_fraction(*inside))


def test_a_cancellation_that_floats_cannot_see_is_seen():
    # (1 + 2^-52)^2 - (1 + 2^-51) = 2^-104, but 0 in floats
    a = 1.0 + 2.0**-52
    assert a * a - (1.0 + 2.0**-51) == 0.0
    found = exact.row_sums(
        np.array([0, 0]), [np.array([a, -1.0]), np.array([a, 1.0 + 2.0**-51])], num_rows=1
    )
    assert found[0] == 2.0**-104


def test_rows_without_terms_sum_to_zero():
    assert exact.row_sums(np.array([2]), [np.array([3.0])], num_rows=4).tolist() == [0, 0, 3, 0]
