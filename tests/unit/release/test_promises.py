"""Small promises of releases and budgets, one by one."""

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    release_blocks,
    release_database,
    solve_private,
)
from dp_cmdp.accounting.budget import allocate, shown_up
from dp_cmdp.audit.layers.certificates import certificates_of, certify
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import AssumptionError, InfeasibleError, InvalidArgumentError
from dp_cmdp.noise.optimal import OptimalNoise
from tests.problems import random_parametric_lp

BUDGET = PrivacyBudget("1/2", "1/1000")


def program() -> ParametricLP:
    return ParametricLP(
        Envelope(0.1, 1.0, radius=0.3, shape=2),
        c=[1.0],
        A=Affine((1, 1), at=(0, 0), entry=[0]),
        b=Affine(1, constant=[1.0], at=[0], entry=[1]),
        upper=1.0,
    )


def release_of(target: ParametricLP, *, method: str, **options):
    database = Database([0.2, 0.3], target.envelope, identity="site")
    if method == "database":
        return release_database(database, BUDGET, **options)
    alphas = {"A": "1/2", "b": "1/2"}
    return release_blocks(database, BUDGET, program=target, alphas=alphas, **options)


@pytest.mark.parametrize("method", ["database", "blocks"])
def test_only_noise_of_the_operating_system_is_called_secure(method):
    assert release_of(program(), method=method).secure is True
    rng = np.random.default_rng(0)
    assert release_of(program(), method=method, rng=rng).secure is False


@pytest.mark.parametrize("method", ["database", "blocks"])
def test_the_ledger_is_debited_by_exactly_the_budget_of_the_release(method, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("site", PrivacyBudget(1, "1/100"), "one person")
    release = release_of(program(), method=method, ledger=ledger)
    spent = ledger.spent("site")
    assert (spent.epsilon, spent.delta) == (BUDGET.epsilon, BUDGET.delta)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (BUDGET.epsilon, BUDGET.delta)


def test_every_estimate_of_a_database_lies_in_the_public_bounds():
    envelope = Envelope([0.0, -5.0], [1.0, -4.0], radius=0.5)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        release = release_database(Database([0.0, -4.0], envelope), BUDGET, rng=rng)
        assert envelope.contains(release.estimate)


@pytest.mark.parametrize("values", [[-1e-9, 0.5], [0.5, 1.0 + 1e-9], [-2.0, 0.5], [0.5, 2.0]])
def test_values_on_either_side_of_the_bounds_are_refused(values):
    with pytest.raises(InvalidArgumentError, match="within their public bounds"):
        Database(values, Envelope(0.0, 1.0, shape=2))


@pytest.mark.parametrize("record", [0, 1])
def test_the_record_size_is_that_of_the_largest_record(record):
    labels = np.full(5, record)
    labels[-1] = 1 - record
    assert Envelope(0.0, 1.0, shape=5, records=labels).record_size == 4


@pytest.mark.parametrize("alphas", [{"A": 1, "b": "1/2"}, {"A": "1/2", "b": "1/4"}])
def test_shares_that_do_not_sum_to_one_are_refused(alphas):
    with pytest.raises(InvalidArgumentError, match="sum to 1"):
        allocate(BUDGET, alphas)


def test_shares_that_sum_to_one_but_for_rounding_are_rescaled_exactly():
    shares = allocate(BUDGET, {"A": 0.3333333333333333, "b": 0.3333333333333333, "c": 1 / 3})
    assert sum(share.epsilon for share in shares.values()) == BUDGET.epsilon


@pytest.mark.parametrize("power", range(-5, 6))
def test_a_loss_just_above_a_power_of_ten_is_not_shown_as_that_power(power):
    for digits in range(40, 300, 3):
        loss = Fraction(10) ** power + Fraction(1, 3**digits)
        assert Fraction(shown_up(loss)) >= loss


@pytest.mark.parametrize("size", [2, 3])
def test_optimal_noise_is_refused_where_a_record_holds_several_entries(size):
    envelope = Envelope(0.0, 1.0, shape=4, records=np.arange(4) // size)
    with pytest.raises(InvalidArgumentError, match="records hold one entry each"):
        release_database(Database(np.full(4, 0.5), envelope), BUDGET, calibration="optimal")


def test_optimal_noise_keeps_the_end_close_that_was_chosen(monkeypatch):
    envelope = Envelope.join({end: Envelope(-8, 8, radius=1, shape=50) for end in ("high", "low")})
    law = OptimalNoise.calibrate(2, "1/10", steps=2**20)
    shift = law.sample_shift(100, source=np.random.default_rng(0).bytes) / 2**20
    monkeypatch.setattr(os, "urandom", np.random.default_rng(0).bytes)
    release = release_database(
        Database(np.zeros(100), envelope),
        PrivacyBudget(2, "1/10"),
        calibration="optimal",
        close={"high": "upper", "low": "lower"},
    )
    assert release.upper[:50] == pytest.approx(shift[:50] + 2.0**-20)
    assert release.lower[50:] == pytest.approx(-shift[50:])


def test_what_was_left_bare_or_simulated_is_still_said_when_a_release_is_read_back(tmp_path):
    target = program()
    leaky = release_blocks(
        Database([0.2, 0.3], target.envelope),
        BUDGET,
        program=target,
        alphas={"A": 1},
        allow_leak=True,
        rng=np.random.default_rng(0),
    )
    read = Release.load(leaky.save(tmp_path / "release.npz"))
    assert read.leaks == leaky.leaks == ("block b unprotected",)
    assert read.secure is leaky.secure is False
    exact = release_of(target, method="database")
    assert Release.load(exact.save(tmp_path / "exact.npz")).secure is True


@pytest.mark.parametrize("crossed", [[0], [1], [0, 1]])
def test_a_release_with_any_empty_interval_is_refused(crossed):
    release = release_of(program(), method="database")
    lower = np.array(release.lower)
    lower[crossed] = release.upper[crossed] + 0.5
    with pytest.raises(InvalidArgumentError, match="lower must not exceed upper"):
        replace(release, lower=lower)


def test_a_private_answer_is_certified_over_the_whole_released_box():
    solved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        target = random_parametric_lp(rng)
        envelope = target.envelope
        middle = Database((envelope.lower + envelope.upper) / 2, envelope)
        release = release_database(middle, PrivacyBudget(4, "1/100"), rng=rng)
        try:
            solution = solve_private(target, release)
        except InfeasibleError:
            continue
        slack = target.worst_case_slack(solution.x, lower=release.lower, upper=release.upper)
        assert slack.min() >= 0.0
        assert solution.certificate is not None
        assert solution.certificate.worst_slack == slack.min()
        solved += 1
    assert solved > 20


@pytest.mark.parametrize("calibration", ["tight", "paper", "optimal"])
def test_a_release_of_the_database_carries_the_proof_of_its_guarantee(calibration):
    database = Database([0.2, 0.3], program().envelope)
    release = release_database(database, BUDGET, calibration=calibration)
    (proof,) = certificates_of(release)
    assert certify((proof,), epsilon=BUDGET.epsilon, delta=BUDGET.delta).passed
    assert proof.epsilon == BUDGET.epsilon


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_a_release_of_blocks_carries_a_proof_per_block(calibration):
    proofs = certificates_of(release_of(program(), method="blocks", calibration=calibration))
    assert len(proofs) == 2
    assert certify(proofs, epsilon=BUDGET.epsilon, delta=BUDGET.delta).passed
    assert sum(proof.epsilon for proof in proofs) == BUDGET.epsilon


def test_a_noisy_objective_that_nothing_limits_is_refused_before_the_debit(tmp_path):
    target = ParametricLP(Envelope(0.1, 1.0, shape=2), c=Affine(1, at=[0], entry=[0]))
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("site", PrivacyBudget(1, "1/100"), "one person")
    database = Database([0.2, 0.3], target.envelope, identity="site")
    with pytest.raises(AssumptionError, match="unbounded"):
        release_blocks(database, BUDGET, program=target, alphas={"c": 1}, ledger=ledger)
    assert ledger.spent("site").epsilon == 0
