"""A budget is the number that its user wrote; where that is not plain, it is said."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.promises.adapter import PrivacyBudget, errors

SMALL = Fraction(1, 10**6)


def silent(epsilon: Any, delta: Any) -> PrivacyBudget:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return PrivacyBudget(epsilon, delta)


@pytest.mark.parametrize(
    "tenth",
    [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10)]
    + [kind(0.1) for kind in (np.float16, np.float32, np.float64)]
    + [np.longdouble("0.1")],
)
def test_a_tenth_is_a_tenth_however_it_is_written(tenth: Any) -> None:
    assert silent(tenth, SMALL).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("delta", [1e-6, np.float32(1e-6), "1e-6"])
def test_a_small_delta_is_what_was_written(delta: Any) -> None:
    assert silent(1, delta).delta == SMALL


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (0.1 + 0.2, "3/10"),
        (sum([0.1] * 10), "1"),
        (1 / 3, "1/3"),
        (2 / 7, "2/7"),
        (np.float32(1) / np.float32(3), "1/3"),
        (np.float64(0.7) + 0.1, "4/5"),
    ],
)
def test_a_rounded_float_is_taken_as_it_prints_and_warned_of(value: Any, meant: str) -> None:
    with pytest.warns(errors.PrivacyWarning, match="epsilon") as told:
        found = PrivacyBudget(value, SMALL).epsilon
    assert found == Fraction(str(value)) != Fraction(meant)
    assert [f'epsilon="{meant}"' in str(each.message) for each in told] == [True]
    assert str(value) in str(told[0].message)
    assert silent(meant, SMALL).epsilon == Fraction(meant)


def test_a_rounded_delta_is_warned_of() -> None:
    with pytest.warns(errors.PrivacyWarning, match='delta="1/300000"'):
        PrivacyBudget(1, 1e-5 / 3)


@pytest.mark.parametrize(
    "value", [*np.geomspace(0.01, 20, 40), np.pi, np.e, 0.333333333, 0.3000000001]
)
def test_other_numbers_are_what_they_print(value: float) -> None:
    assert silent(value, SMALL).epsilon == Fraction(repr(float(value)))
