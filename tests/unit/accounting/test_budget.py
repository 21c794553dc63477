"""Budgets, composition, allocation."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import PrivacyBudget
from dp_cmdp.accounting.budget import allocate, shown_up
from dp_cmdp.errors import InvalidArgumentError, PrivacyWarning


def test_numbers_are_read_as_they_are_written():
    for tenth in (0.1, "0.1", "1/10", Fraction(1, 10), Decimal("0.1"), np.float64(0.1)):
        assert PrivacyBudget(tenth, "1e-6") == PrivacyBudget(Fraction(1, 10), Fraction(1, 10**6))


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "x", None, True, 1j, "1/0", "1e400"]
)
def test_bad_epsilon_is_refused_by_name(epsilon):
    with pytest.raises(InvalidArgumentError, match="epsilon"):
        PrivacyBudget(epsilon, 0.1)


@pytest.mark.parametrize("delta", [0, -0.1, 0.51, 2, float("nan"), float("inf"), "x", None, False])
def test_bad_delta_is_refused_by_name(delta):
    with pytest.raises(InvalidArgumentError, match="delta"):
        PrivacyBudget(1, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(21, 1e-6), (1, 0.01)])
def test_weak_parameters_are_warned_about(epsilon, delta):
    with pytest.warns(PrivacyWarning, match="promises little"):
        PrivacyBudget(epsilon, delta)


@pytest.mark.parametrize(
    "value", ["1e-100000000", "1E+100000000", "-1e-999_999", Decimal("1e-100000000"), "1" * 5000]
)
def test_an_astronomical_text_is_refused_before_it_is_read(value):
    with pytest.raises(InvalidArgumentError, match="epsilon must"):
        PrivacyBudget(value, "1e-6")
    with pytest.raises(InvalidArgumentError, match="delta must"):
        PrivacyBudget(1, value)


@pytest.mark.parametrize("value", ["1e-400", "1e-301", Fraction(1, 10**400), f"1/{10**320}"])
def test_a_budget_that_would_be_shown_as_nothing_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="epsilon must be at least 1e-300"):
        PrivacyBudget(value, "1e-6")
    with pytest.raises(InvalidArgumentError, match="delta must be at least 1e-300"):
        PrivacyBudget(1, value)


def test_the_smallest_budget_is_shown_as_it_is():
    assert str(PrivacyBudget("1e-300", "1e-300")) == "(ε = 1e-300, δ = 1e-300)"
    assert PrivacyBudget(f"1/{10**300}", "1e-6").epsilon == Fraction(1, 10**300)


def test_ten_tenths_are_exactly_one():
    parts = [PrivacyBudget(0.1, 0.0001)] * 10
    assert sum(part.epsilon for part in parts) == 1
    assert sum(part.delta for part in parts) == Fraction(1, 1000)
    assert sum([0.1] * 10) != 1.0


def test_allocation_spends_the_budget_exactly_once():
    budget = PrivacyBudget(1, 0.1)
    shares = allocate(budget, {"A": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert sum(share.epsilon for share in shares.values()) == budget.epsilon
    assert sum(share.delta for share in shares.values()) == budget.delta
    assert shares["A"].delta == shares["b"].delta == budget.delta / 2
    assert shares["c"].delta == 0


def test_a_single_truncated_block_gets_all_of_delta():
    shares = allocate(PrivacyBudget(1, 0.1), {"A": "1/4", "c": "3/4"})
    assert shares["A"].delta == Fraction(1, 10)
    assert shares["b"].epsilon == shares["b"].delta == 0


@pytest.mark.parametrize(
    "alphas", [{"A": 0.5}, {"A": 1.5, "b": -0.5}, {"Q": 1}, {"A": float("nan"), "b": 1}]
)
def test_bad_alphas_are_refused(alphas):
    with pytest.raises(InvalidArgumentError, match="alphas"):
        allocate(PrivacyBudget(1, 0.1), alphas)


def test_a_loss_is_never_shown_too_small():
    for value in (Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**9), Fraction(123456789, 10)):
        assert Fraction(shown_up(value)) >= value
        assert Fraction(shown_up(value)) <= value * Fraction(100001, 100000)
