"""A look step by step: propose, measure, combine."""

import numpy as np
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    ParametricLP,
    Plan,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    release_database,
    solve_private,
    verify,
)
from dp_cmdp.errors import BudgetExceededError, InvalidArgumentError
from dp_cmdp.release.looks import propose_totals, public_release, release_looks
from dp_cmdp.release.measure import combine, measure_totals
from tests.problems import SpyDatabase

SIZE = 8
ENVELOPE = Envelope(0, 1, radius=0.05, shape=SIZE)
PROGRAM = ParametricLP(
    ENVELOPE,
    c=[1] * SIZE,
    A=Affine((1, SIZE), at=([0] * SIZE, range(SIZE)), entry=range(SIZE)),
    b=[2],
    upper=1,
)
VALUES = [0.1, 0.3] * (SIZE // 2)
FIRST, SECOND = PrivacyBudget(1, "1/4000"), PrivacyBudget(3, "3/4000")


def database(envelope: Envelope = ENVELOPE, **options) -> Database:
    return Database(VALUES, envelope, **options)


def proposal(seen: Release):
    found = propose_totals(PROGRAM, seen, SECOND, plan=Plan("1/4"))
    assert found is not None
    return found


def test_the_steps_give_what_the_verb_gives():
    whole = release_looks(
        database(),
        PrivacyBudget(4, "1/1000"),
        program=PROGRAM,
        plan=Plan("1/4"),
        calibration="tight",
        rng=np.random.default_rng(3),
    )
    rng = np.random.default_rng(3)
    seen = release_database(database(), FIRST, rng=rng, calibration="tight", close="upper")
    release = combine(seen, measure_totals(database(), SECOND, proposal=proposal(seen), rng=rng))
    assert whole.totals is not None
    assert release.totals is not None
    np.testing.assert_array_equal(release.totals.index, whole.totals.index)
    np.testing.assert_array_equal(release.lower, whole.lower)
    assert release.guarantee == whole.guarantee
    assert not release.secure


def test_a_combined_release_is_proved_alone_and_answers(tmp_path):
    seen = release_database(database(), FIRST)
    release = combine(seen, measure_totals(database(), SECOND, proposal=proposal(seen)))
    release.save(tmp_path / "release.npz")
    loaded = Release.load(tmp_path / "release.npz")
    assert verify(tmp_path / "release.npz").passed
    assert loaded.polytope.contains(VALUES)
    proof = solve_private(PROGRAM, loaded).certificate
    assert proof is not None
    assert proof.verified


def test_exact_noise_beside_a_simulated_look_is_not_called_secure():
    rng = np.random.default_rng(0)
    exact = release_database(database(), FIRST)
    found = measure_totals(database(), SECOND, proposal=proposal(exact), rng=rng)
    assert not combine(exact, found).secure


def test_totals_alone_need_no_look_at_the_entries(tmp_path):
    seen = public_release(ENVELOPE)
    release = combine(seen, measure_totals(database(), SECOND, proposal=proposal(seen)))
    assert release.guarantee.epsilon == SECOND.epsilon
    release.save(tmp_path / "release.npz")
    assert verify(tmp_path / "release.npz").passed


def test_facts_of_other_envelopes_and_second_totals_are_refused():
    other = Envelope(0, 2, radius=0.05, shape=SIZE)
    seen = release_database(database(), FIRST)
    foreign = measure_totals(database(other), SECOND, proposal=proposal(seen))
    with pytest.raises(InvalidArgumentError, match="same envelope"):
        combine(seen, foreign)
    release = combine(seen, measure_totals(database(), SECOND, proposal=proposal(seen)))
    with pytest.raises(InvalidArgumentError, match="no totals yet"):
        combine(release, measure_totals(database(), SECOND, proposal=proposal(seen)))


def test_the_budget_is_debited_before_a_value_is_read(tmp_path):
    spied = SpyDatabase(VALUES, ENVELOPE, identity="d")
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("d", PrivacyBudget(1, "1/1000"), "one person")
    wanted, before = proposal(public_release(ENVELOPE)), SpyDatabase.reads
    with pytest.raises(BudgetExceededError):
        measure_totals(spied, SECOND, proposal=wanted, ledger=ledger)
    assert SpyDatabase.reads == before


def test_totals_besides_a_planned_look_are_read_back(tmp_path):
    seen = release_looks(database(), FIRST, program=PROGRAM, plan=Plan(1))
    release = combine(seen, measure_totals(database(), SECOND, proposal=proposal(seen)))
    assert seen.plan is not None
    assert release.plan is None  # the budget was not divided by one
    assert Release.load(release.save(tmp_path / "release.npz")).guarantee == release.guarantee
