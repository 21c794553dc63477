"""Exact sums of products."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp._src.base import exact

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


def fractions_of(rows, parts, num_rows):
    return [as_fraction(*(part[rows == row].tolist() for part in parts)) for row in range(num_rows)]


def hard_sums():
    """Rows and factors on which plain sums go wrong, or that leave the error-free range."""
    rng = np.random.default_rng(3)
    drift = np.r_[1.0, np.full(1000, 2.0**-53)]  # every addition is rounded down
    yield np.zeros(drift.size, dtype=int), [drift, np.ones(drift.size)]
    cancel = np.r_[1.0, np.full(1000, 2.0**-53), -1.0 - 999 * 2.0**-53]
    yield np.zeros(cancel.size, dtype=int), [cancel]
    above = rng.uniform(0.5, 1.0, (2, 40))
    yield np.repeat(np.arange(8), 5), list(above)  # all are far from 0, and the least counts
    for factors in (1, 2, 3):
        for spread in (0, 4, 60, 500):
            parts = [
                rng.normal(size=60) * 2.0 ** rng.integers(-spread, spread + 1, 60)
                for _ in range(factors)
            ]
            rows = rng.integers(0, 8, 60)
            yield rows, parts
            twice = [np.r_[parts[0], -parts[0]], *(np.r_[part, part] for part in parts[1:])]
            yield np.r_[rows, rows], twice  # every sum is 0
            near = [np.r_[parts[0], -parts[0] * (1 - 2.0**-52)], *twice[1:]]
            yield np.r_[rows, rows], near
            yield rows, [parts[0] * 2.0**-600, *(part * 2.0**-450 for part in parts[1:])]
    yield np.array([0, 1, 1]), [np.array([5e-324, 1e300, -1e-300]), np.array([0.5, 1e300, 1e-300])]


def test_error_bounds_of_plain_sums_enclose_the_exact_ones():
    for rows, parts in hard_sums():
        plain, error, _ = exact.sum_bounds(rows, parts, num_rows=8)
        for row, total in enumerate(fractions_of(rows, parts, 8)):
            own = np.abs(np.array(parts)[:, rows == row])
            if np.isfinite(error[row]):
                assert abs(Fraction(plain[row]) - total) <= Fraction(error[row])
            assert np.isfinite(error[row]) or own.max() > 2.0**240


def test_signs_that_floats_decide_and_those_they_do_not_are_exact():
    for rows, parts in hard_sums():
        found = exact.row_signs(rows, parts, num_rows=8)
        assert found.tolist() == [sign(total) for total in fractions_of(rows, parts, 8)]


def test_tight_sums_are_lower_bounds_with_the_signs_and_the_minimum_of_exact_sums():
    for rows, parts in hard_sums():
        found = exact.tight_sums(rows, parts, num_rows=8)
        whole = exact.row_sums(rows, parts, num_rows=8)
        assert (found <= whole).all()
        assert np.sign(found).tolist() == np.sign(whole).tolist()
        assert found.min() == whole.min()


@pytest.mark.parametrize(
    "terms", [[0.1, 0.7], [0.1, 0.2], [1.0, 2.0**-60], [1e300, 1e-300], [5e-324], [-0.1, -0.7]]
)
def test_sums_rounded_up_are_the_least_floats_above(terms):
    (found,) = exact.row_sums_up(
        np.zeros(len(terms), dtype=int), [np.array(terms), np.ones(len(terms))], num_rows=1
    )
    assert Fraction(np.nextafter(found, -np.inf)) < sum(map(Fraction, terms)) <= Fraction(found)


@given(st.fractions(-(10**6), 10**6))
def test_floats_above_and_below_enclose_a_fraction_tightly(value):
    above, below = exact.float_above(value), exact.float_below(value)
    assert Fraction(np.nextafter(above, -np.inf)) < value <= Fraction(above)
    assert Fraction(below) <= value < Fraction(np.nextafter(below, np.inf))
