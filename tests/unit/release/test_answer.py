"""One call: what can be refused is refused before the debit, and after it there is an answer."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    PrivacyLedger,
    release_and_solve,
)
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.cmdp.synthesis import robust_policy
from dp_cmdp.data.affine import Affine
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import (
    AssumptionError,
    BudgetExceededError,
    InvalidArgumentError,
    SolverError,
)
from dp_cmdp.release.solve import PrivateAnswer
from tests.problems import SpyDatabase, two_ways

BUDGET = PrivacyBudget(2, "1/1000")
TRUTH = [1.0, 1.2, 10.0]


def envelope(**changes) -> Envelope:
    facts = {"lower": [0.5, 0.5, 8.0], "upper": [2.0, 2.0, 12.0], "radius": [0.1, 0.1, 0.5]}
    facts |= changes
    return Envelope(facts["lower"], facts["upper"], radius=facts["radius"])


def budgeted(bounds=None, *, c=(3.0, 2.0), **public) -> ParametricLP:
    """maximise c·(x, y) subject to θ₀x + θ₁y ≤ θ₂."""
    return ParametricLP(
        envelope() if bounds is None else bounds,
        c=list(c),
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=Affine(1, at=[0], entry=[2]),
        **public,
    )


@pytest.fixture
def ledger(tmp_path) -> PrivacyLedger:
    made = PrivacyLedger(tmp_path / "ledger.sqlite")
    made.create("site", PrivacyBudget(3, "1/100"), "one person")
    return made


def site(bounds: Envelope, values=TRUTH) -> SpyDatabase:
    database = SpyDatabase(values, bounds, identity="site")
    SpyDatabase.reads = 0
    return database


def test_the_answer_is_certified_for_the_true_database_and_no_worse_than_the_robust_one(ledger):
    program = budgeted()
    answer = release_and_solve(program, site(program.envelope), BUDGET, ledger=ledger)
    assert isinstance(answer, PrivateAnswer)
    x = [Fraction(v) for v in answer.solution.x]
    assert Fraction(TRUTH[0]) * x[0] + Fraction(TRUTH[1]) * x[1] <= Fraction(TRUTH[2])
    assert answer.release.secure
    assert ledger.spent("site").epsilon == 2
    # 3x + 2y with prices up to 2 and a budget of 8 or more: the robust answer is x = 4
    assert answer.robust.objective == pytest.approx(12.0)
    assert answer.solution.objective > answer.robust.objective


def test_both_objectives_are_at_the_released_estimate():
    bounds = Envelope([1.0, 0.5], [4.0, 2.0], radius=[0.1, 0.1])
    program = ParametricLP(
        bounds,
        c=Affine(1, at=[0], entry=[0]),
        A=Affine((1, 1), at=([0], [0]), entry=[1]),
        b=[8.0],
    )
    answer = release_and_solve(
        program, Database([2.0, 1.0], bounds), BUDGET, rng=np.random.default_rng(0)
    )
    assert answer.robust.x == pytest.approx([4.0])
    assert answer.robust.objective == pytest.approx(4.0 * answer.release.estimate[0])


#: Programs that no private answer can exist for, and the assumption that fails.
REFUSED = {
    "robustly infeasible": (budgeted(lower=5.0), "ass:feast"),
    "public rows contradict each other": (
        budgeted(A_ub=[[1.0, 0.0], [-1.0, 0.0]], b_ub=[1.0, -2.0]),
        "ass:feast",
    ),
    "no interior over the envelope": (
        budgeted(A_ub=[[1 / 3, 0.0], [-1 / 3, 0.0]], b_ub=[0.1, -0.1]),
        "ass:feast",
    ),
    "unbounded for some price": (
        budgeted(envelope(lower=[0.0, 0.5, 8.0], upper=[2.0, 2.0, 12.0])),
        "ass:bounded",
    ),
    "unbounded in a public variable": (
        ParametricLP(
            envelope(),
            c=[1.0, 1.0],
            A=Affine((1, 2), at=([0], [0]), entry=[0]),
            b=Affine(1, at=[0], entry=[2]),
        ),
        "ass:bounded",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_refused_before_the_debit(name, ledger):
    program, label = REFUSED[name]
    with pytest.raises(AssumptionError, match="No data was read") as caught:
        release_and_solve(program, site(program.envelope), BUDGET, ledger=ledger)
    assert caught.value.label == label
    assert SpyDatabase.reads == 0
    assert ledger.spent("site").epsilon == 0


@pytest.mark.parametrize(
    "other",
    [
        envelope(upper=[2.0, 2.0, 13.0]),
        envelope(lower=[0.4, 0.5, 8.0]),
        envelope(radius=[0.1, 0.1, 0.4]),
        Envelope([0.5, 0.5, 8.0], [2.0, 2.0, 12.0], radius=[0.1, 0.1, 0.5], records=[0, 0, 1]),
    ],
    ids=["upper", "lower", "radius", "records"],
)
def test_a_database_of_another_program_is_refused_before_the_debit(other, ledger):
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        release_and_solve(budgeted(), site(other), BUDGET, ledger=ledger)
    assert SpyDatabase.reads == 0
    assert ledger.spent("site").epsilon == 0


def test_an_equal_envelope_will_do():
    program = budgeted()
    answer = release_and_solve(program, site(envelope()), BUDGET)
    assert answer.solution.certificate is not None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"budget": (2, 0.1)}, InvalidArgumentError),
        ({"rng": 7}, InvalidArgumentError),
        ({"calibration": "loose"}, InvalidArgumentError),
        ({"program": None}, InvalidArgumentError),
        ({"database": TRUTH}, InvalidArgumentError),
        ({"budget": PrivacyBudget(4, "1/1000")}, BudgetExceededError),
    ],
)
def test_bad_calls_neither_read_nor_spend(arguments, error, ledger):
    program = budgeted()
    good = {"program": program, "database": site(program.envelope), "budget": BUDGET}
    call: dict[str, Any] = {**good, "ledger": ledger, **arguments}
    with pytest.raises(error):
        release_and_solve(**call)
    assert SpyDatabase.reads == 0
    assert ledger.spent("site").epsilon == 0


def test_should_the_engine_fail_after_the_debit_the_robust_answer_is_given(ledger, monkeypatch):
    def give_up(*_):
        raise SolverError("gave up")

    monkeypatch.setattr("dp_cmdp.release.solve.solve_private", give_up)
    program = budgeted()
    answer = release_and_solve(program, site(program.envelope), BUDGET, ledger=ledger)
    assert ledger.spent("site").epsilon == 2
    assert answer.solution.x == pytest.approx([4.0, 0.0])
    low, high = answer.release.lower, answer.release.upper
    assert (program.worst_case_slack(answer.solution.x, lower=low, upper=high) >= 0).all()


def crossing(tolerance: float) -> ParametricCMDP:
    """Two ways from 0, over state 1 or over state 2, and both may cost."""
    return ParametricCMDP.for_states(
        two_ways(),
        [1, 2],
        severity=Envelope([0.4, 0.4], [1.0, 1.0], radius=0.1),
        tolerance=Envelope([tolerance], [tolerance + 1.0], radius=0.1),
    )


def test_a_private_policy_in_one_call_is_safe_and_no_worse_than_the_robust_one():
    curator = HazardGridEnv(access="curator")
    model = curator.model()
    answer = release_and_synthesize(model, curator.database(), BUDGET)
    assert answer.safe.certificate.verified
    assert answer.robust.value == pytest.approx(robust_policy(model).value)
    assert answer.safe.value >= answer.robust.value - 1e-9
    assert answer.release.secure


def test_a_model_that_cannot_be_safe_is_refused_before_the_debit(ledger):
    model = crossing(tolerance=0.1)
    database = site(model.envelope, values=[0.5, 0.5, 1.0])
    with pytest.raises(AssumptionError):
        release_and_synthesize(model, database, BUDGET, ledger=ledger)
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        release_and_synthesize(crossing(tolerance=9.0), database, BUDGET, ledger=ledger)
    assert SpyDatabase.reads == 0
    assert ledger.spent("site").epsilon == 0


def test_should_synthesis_fail_after_the_debit_the_robust_policy_is_given(monkeypatch):
    def give_up(*_, **__):
        raise SolverError("gave up")

    model = crossing(tolerance=9.0)
    monkeypatch.setattr("dp_cmdp.cmdp.private_policy.synthesize", give_up)
    answer = release_and_synthesize(model, site(model.envelope, values=[0.5, 0.5, 9.5]), BUDGET)
    assert answer.safe is answer.robust
    assert answer.safe.certificate.verified
