"""Releases and private solves."""

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    PrivacyBudget,
    TruncatedLaplace,
    release_blocks,
    release_database,
    solve,
    solve_private,
    suboptimality,
    violation,
)
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.release import REALISED_MASK
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction

THIRDS = {"A": "1/3", "b": "1/3", "c": "1/3"}


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_database_release_is_theta_plus_radius_times_noise():
    envelope = Envelope(-100.0, 100.0, radius=[1.0, 2.0, 5.0])
    values = np.array([1.0, 2.0, 3.0])
    release = release_database(Database(values, envelope), PrivacyBudget(1, 0.1), rng=rng(3))
    law = TruncatedLaplace.calibrate(1, 1, delta=0.1)
    noise = law.sample(rng(3), 3)
    assert release.estimate == pytest.approx(values + envelope.radius * noise)
    assert release.upper - release.lower == pytest.approx(2 * law.support * envelope.radius)
    assert not release.secure
    assert "(1, 0.1)-differential privacy when one entry" in str(release.guarantee)


def test_records_widen_the_noise_as_their_size_says():
    envelope = Envelope(-100.0, 100.0, radius=1.0, shape=4, records=[0, 0, 0, 1])
    release = release_database(Database(np.zeros(4), envelope), PrivacyBudget(2, 0.1), rng=rng())
    expected = TruncatedLaplace.calibrate(3, 2, delta=0.1, record_size=3)
    assert release.noise[0].scale == pytest.approx(1.5)
    assert release.noise[0].support == pytest.approx(expected.support)
    assert release.guarantee.record_size == 3
    assert "one record (up to 3 entries)" in str(release.guarantee)


def test_algorithm_1_uses_the_papers_scales_and_supports():
    program = ad_auction_program(10, 5)
    release = release_blocks(
        random_auction(program, rng()),
        PrivacyBudget(1, 0.1),
        program=program,
        alphas=THIRDS,
        rng=rng(),
    )
    A, b, c = release.noise
    e = np.exp(1 / 3) - 1
    assert (A.block, b.block, c.block) == ("A", "b", "c")
    # in units of the block's sensitivity: 0.1 for A and c, 1 for b
    assert A.scale == b.scale == c.scale == pytest.approx(3.0)
    assert A.support == pytest.approx(3 * np.log(2 * 15 * 50 * e / 0.1 + 1))
    assert b.support == pytest.approx(3 * np.log(2 * 15 * e / 0.1 + 1))
    assert c.support is None


def test_algorithm_1_tightens_to_the_papers_private_program():
    program = ad_auction_program(3, 2)
    database = random_auction(program, rng(5))
    release = release_blocks(
        database, PrivacyBudget(8, 0.1), program=program, alphas=THIRDS, rng=rng(1)
    )
    true = program.at(database.values)
    A_up = release.group("A")["upper"]
    row, col, _ = program.A.sensitive()
    assert (A_up >= true.A.toarray()[row, col]).all()
    assert (A_up <= 1.0).all()  # Â
    assert (release.group("b")["lower"] <= true.b[:2]).all()
    assert (release.group("b")["lower"] >= 0.9e7).all()  # b_inf


def test_a_sensitive_block_without_budget_is_refused_before_anything_is_read(small_auction):
    database = random_auction(small_auction, rng())
    call = {"program": small_auction, "alphas": {"A": "1/2", "c": "1/2"}, "rng": rng()}
    with pytest.raises(PrivacyLeakError, match="block b reads the database but has no budget"):
        release_blocks(database, PrivacyBudget(1, 0.1), **call)
    release = release_blocks(database, PrivacyBudget(1, 0.1), allow_leak=True, **call)
    assert release.leaks == ("block b unprotected",)
    assert "LEAKS" in repr(release)
    assert release.group("b")["lower"].tolist() == database.values[-3:].tolist()


def test_the_realised_mask_is_recorded_as_a_leak(small_auction):
    database = random_auction(small_auction, rng(2))
    release = release_blocks(
        database,
        PrivacyBudget(1, 0.1),
        program=small_auction,
        alphas=THIRDS,
        rng=rng(),
        realised_mask_NOT_PRIVATE=True,
    )
    assert REALISED_MASK in release.leaks
    zero = database.values[:12] == 0
    assert zero.any()
    assert (release.group("c")["estimate"][zero] == 0).all()
    assert (release.group("c")["estimate"][~zero] != database.values[:12][~zero]).all()


def test_budget_for_a_public_block_is_refused():
    from dp_cmdp import ParametricLP
    from dp_cmdp.data.affine import Affine

    envelope = Envelope([0.5], [1.0])
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(envelope, c=[1.0], A=A, b=[1.0])
    with pytest.raises(InvalidArgumentError, match="block c, which is public"):
        release_blocks(
            Database([0.6], envelope),
            PrivacyBudget(1, 0.1),
            program=program,
            alphas={"A": 0.5, "c": 0.5},
            rng=rng(),
        )


def test_a_release_of_another_database_does_not_fit(small_auction):
    other = Database([0.5], Envelope([0.0], [1.0]))
    release = release_database(other, PrivacyBudget(1, 0.1), rng=rng())
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        solve_private(small_auction, release)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"database": [1.0]}, "database must be a Database"),
        ({"budget": (1, 0.1)}, "budget must be a PrivacyBudget"),
        ({"rng": 7}, "rng must be"),
        ({"calibration": "x"}, "calibration"),
    ],
)
def test_bad_calls_are_refused_by_name(wrong, named):
    sound = {"database": Database([0.5], Envelope([0.0], [1.0])), "budget": PrivacyBudget(1, 0.1)}
    with pytest.raises(InvalidArgumentError, match=named):
        release_database(**sound | wrong)


def test_a_private_answer_is_close_for_weak_privacy_and_feasible_for_strong():
    program = ad_auction_program(4, 3)
    database = random_auction(program, rng(7))
    losses = []
    for epsilon in (0.05, 1, 1000):
        release = release_database(database, PrivacyBudget(epsilon, 0.1), rng=rng(1))
        x = solve_private(program, release).x
        assert violation(program, database, x=x).violated_rows == 0
        losses.append(suboptimality(program, database, x=x))
    assert all(isinstance(loss, CuratorOnly) for loss in losses)
    assert losses[0] > losses[1] > losses[2] > 0.0


def test_the_robust_solution_is_what_infinite_privacy_gives():
    program = ad_auction_program(4, 3)
    database = random_auction(program, rng(7))
    release = release_database(database, PrivacyBudget("1/1000000", "1e-9"), rng=rng(1))
    envelope = program.envelope
    assert release.lower == pytest.approx(envelope.lower)
    robust = solve(program.robust(envelope.lower, envelope.upper, estimate=release.estimate))
    assert solve_private(program, release).objective == pytest.approx(robust.objective)


def test_algorithm_1_encloses_entries_that_are_cancelling_sums():
    from fractions import Fraction

    from dp_cmdp import ParametricLP
    from dp_cmdp.data.affine import Affine

    envelope = Envelope([1e12], [1e12 + 1], radius=[1.23e-4])
    A = Affine((1, 1), constant=[[-3e12 + 1]], at=([0], [0]), entry=[0], coefficient=3.0)
    program = ParametricLP(envelope, c=[1.0], A=A, b=[5.0], upper=[10.0])
    for seed in range(60):
        theta = 1e12 + rng(seed).uniform(0.0, 0.9)
        truth = Fraction(-3e12 + 1) + 3 * Fraction(theta)
        release = release_blocks(
            Database([theta], envelope),
            PrivacyBudget("1/10", "1/2"),
            program=program,
            alphas={"A": 1},
            calibration="tight",
        )
        low, high = (Fraction(release.group("A")[end][0]) for end in ("lower", "upper"))
        assert low <= truth <= high
        x = solve_private(program, release).x
        assert truth * Fraction(x[0]) <= 5


def test_a_block_moves_by_no_more_than_its_certified_steps_even_when_terms_cancel():
    from dp_cmdp import ParametricLP
    from dp_cmdp.data.affine import Affine
    from dp_cmdp.program.entrywise import entry_values
    from dp_cmdp.release.block_plans import _block_query

    envelope = Envelope([1e12], [1e12 + 1], radius=[1.23e-4])
    A = Affine((1, 1), constant=[[-3e12 + 1]], at=([0], [0]), entry=[0], coefficient=3.0)
    program = ParametricLP(envelope, c=[1.0], A=A, b=[5.0], upper=[10.0])
    lattice = _block_query(program, "A").lattice()
    for seed in range(200):
        theta = 1e12 + rng(seed).uniform(0.0, 0.9)
        pair = (theta, np.nextafter(theta, 2e12))
        here, there = (
            lattice.index(entry_values(program, np.array([value]))["A"])[0] for value in pair
        )
        assert abs(here - there) <= lattice.steps


def test_a_release_whose_intervals_leave_the_envelope_is_refused():
    from dp_cmdp import ParametricLP
    from dp_cmdp.data.affine import Affine

    other = release_database(
        Database([0.7], Envelope([0.5], [1.0])), PrivacyBudget(1, "1e-4"), rng=rng()
    )
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(Envelope([5.0], [10.0]), c=[1.0], A=A, b=[1.0])
    with pytest.raises(InvalidArgumentError, match="leave the public bounds"):
        solve_private(program, other)


def test_noise_too_wide_for_exact_arithmetic_is_refused_before_the_debit(tmp_path):
    from dp_cmdp import PrivacyLedger

    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("site", PrivacyBudget(1, "1/1000"), "one person")
    database = Database([0.5], Envelope([0.0], [1.0]), identity="site")
    with pytest.raises(InvalidArgumentError, match="too wide"):
        release_database(database, PrivacyBudget("1e-12", "1e-12"), ledger=ledger)
    assert ledger.spent("site").epsilon == 0


def test_records_may_have_any_labels():
    from dp_cmdp.data.affine import Affine

    envelope = Envelope(0.0, 1.0, shape=3, records=[10**15, 10**15, 5])
    assert envelope.records.tolist() == [1, 1, 0]
    assert envelope.record_size == 2
    A = Affine((1, 3), at=(0, np.arange(3)), entry=np.arange(3))
    assert A.sensitivity(envelope.radius, envelope.records) == pytest.approx(2.0)
