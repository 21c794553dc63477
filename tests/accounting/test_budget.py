"""Budgets are exact fractions, read as they are written, and add up."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget, shown_up
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyWarning


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
