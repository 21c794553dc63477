"""Budgets are exact fractions, read as they are written, and add up."""

import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget, shown_up
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyWarning

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
    with pytest.warns(PrivacyWarning, match="epsilon") as told:
        found = PrivacyBudget(value, SMALL).epsilon
    assert found == Fraction(str(value)) != Fraction(meant)
    assert [f'epsilon="{meant}"' in str(each.message) for each in told] == [True]
    assert str(value) in str(told[0].message)
    assert silent(meant, SMALL).epsilon == Fraction(meant)


def test_a_rounded_delta_is_warned_of() -> None:
    with pytest.warns(PrivacyWarning, match='delta="1/300000"'):
        PrivacyBudget(1, 1e-5 / 3)


@pytest.mark.parametrize(
    "value", [*np.geomspace(0.01, 20, 40), np.pi, np.e, 0.333333333, 0.3000000001]
)
def test_other_numbers_are_what_they_print(value: float) -> None:
    assert silent(value, SMALL).epsilon == Fraction(repr(float(value)))


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "x", None, True, 1j, "1/0", "1e400"]
)
def test_bad_epsilon_is_refused_by_name(epsilon: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="epsilon"):
        PrivacyBudget(epsilon, 0.1)


@pytest.mark.parametrize("delta", [0, -0.1, 0.51, 2, float("nan"), float("inf"), "x", None, False])
def test_bad_delta_is_refused_by_name(delta: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="delta"):
        PrivacyBudget(1, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(21, 1e-6), (1, 0.01)])
def test_weak_parameters_are_warned_about(epsilon: Any, delta: Any) -> None:
    with pytest.warns(PrivacyWarning, match="promises little"):
        PrivacyBudget(epsilon, delta)


@pytest.mark.parametrize(
    "value", ["1e-100000000", "1E+100000000", "-1e-999_999", Decimal("1e-100000000"), "1" * 5000]
)
def test_an_astronomical_text_is_refused_before_it_is_read(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="epsilon must"):
        PrivacyBudget(value, "1e-6")
    with pytest.raises(InvalidArgumentError, match="delta must"):
        PrivacyBudget(1, value)


@pytest.mark.parametrize("value", ["1e-400", "1e-301", Fraction(1, 10**400), f"1/{10**320}"])
def test_a_budget_that_would_be_shown_as_nothing_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="epsilon must be at least 1e-300"):
        PrivacyBudget(value, "1e-6")
    with pytest.raises(InvalidArgumentError, match="delta must be at least 1e-300"):
        PrivacyBudget(1, value)


def test_arithmetic_is_exact() -> None:
    part = PrivacyBudget(0.1, 0.0001)
    ten = sum([part] * 9, part)
    assert ten == part * 10 == 10 * part == PrivacyBudget(1, "1/1000")
    assert ten / 10 == ten * "1/10" == part
    assert ten - part == part * 9
    assert part.fits(ten)
    assert not ten.fits(part)
    assert not PrivacyBudget(1, "1/1000").fits(PrivacyBudget(2, "1/2000"))


def test_a_budget_is_split_into_shares_that_sum_to_at_most_one_exactly() -> None:
    budget = PrivacyBudget(1, "1/1000")
    first, second = budget.split(["7/20", "13/20"])
    assert first + second == budget
    for shares in ([0.5, 0.6], ["-1/2", 1], [1 / 3, 1 / 3, "0.3333333333333335"]):
        with pytest.raises(InvalidArgumentError, match="shares"):
            budget.split(shares)
    with pytest.raises(InvalidArgumentError, match="divisor"):
        _ = budget / 0


def test_a_loss_is_never_shown_too_small() -> None:
    for value in (Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**9), Fraction(123456789, 10)):
        assert Fraction(shown_up(value)) >= value
        assert Fraction(shown_up(value)) <= value * Fraction(100001, 100000)
