"""Muñoz's own experiment: revenue as good as without privacy, and what truncation is for."""

import numpy as np
import pytest

from dp_cmdp.experiments.munoz_ads import (
    PUBLISHED,
    draw_budgets,
    expected_percent,
    munoz_program,
)
from dp_cmdp.program.linear_program import solve


@pytest.mark.parametrize("epsilon", PUBLISHED)
def test_the_expected_violations_are_the_published_ones(epsilon):
    assert expected_percent(epsilon) == pytest.approx(PUBLISHED[epsilon], abs=0.4)


def test_every_budget_is_spent_even_at_the_top_of_the_envelope():
    program = munoz_program()
    truth = program.at(program.envelope.upper)
    spent = truth.A @ solve(truth, certify=False).x
    np.testing.assert_allclose(spent[:10], program.envelope.upper, rtol=1e-9)


def test_truncated_noise_never_overruns_a_budget_and_costs_next_to_nothing():
    rows = draw_budgets({"epsilon": "0.00003", "truncated": True}, 0, range(10))
    assert all(row["violated_budgets"] == row["violated_supplies"] == 0 for row in rows)
    assert all(1 - 1e-5 <= row["revenue_ratio"] <= 1 for row in rows)


def test_untruncated_noise_overruns_about_one_budget_in_eight():
    """120 budgets, probability 1/8 each: none, or 45 or more, with probability below 1e-6."""
    rows = draw_budgets({"epsilon": "0.00003", "truncated": False}, 0, range(12))
    overrun = 10 * sum(row["violated_budgets"] for row in rows)
    assert 0 < overrun < 45
