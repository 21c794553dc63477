"""Which plan is taken where trials cannot tell plans apart, and where totals cannot be measured."""

import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.plan import DATABASE
from dp_cmdp.release.planner import choose_plan, planned


def slack() -> ParametricLP:
    """A program whose private row never binds: nothing is lost, whatever is released."""
    entry = [0, 1, 2]
    return ParametricLP(
        Envelope(0.0, 1.0, radius=0.1, shape=3),
        c=[1.0, 1.0, 1.0],
        A=Affine((1, 3), at=(0, entry), entry=entry),
        b=[10.0],
        upper=1.0,
    )


def test_totals_are_not_measured_where_entries_lose_nothing():
    choice = choose_plan(slack(), PrivacyBudget(1, "1/1000"))
    assert choice.plan == DATABASE
    assert all(score.mean == pytest.approx(0.0) for score in choice.scores)


def test_totals_on_request_are_measured_even_where_they_promise_nothing():
    assert planned("totals", slack(), PrivacyBudget(1, "1/1000")).plan.measures_totals


def test_only_the_database_release_is_tried_with_a_budget_beyond_exact_noise():
    choice = planned("auto", slack(), PrivacyBudget(1000, "1/1000"))
    assert choice.plan == DATABASE
    assert [score.plan for score in choice.scores] == [DATABASE]
