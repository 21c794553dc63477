"""The adviser reads public data only and says plainly when a release is not worth its budget."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.advice.adviser import advise, expected_saturation, forced_changes
from dp_cmdp.advice.block_split import best_split
from dp_cmdp.advice.planning import smallest_epsilon
from dp_cmdp.advice.recovery import pair_means, share_interval, verdict
from dp_cmdp.advice.report import Threshold
from dp_cmdp.advice.trials import Trials, paired_uniforms, reference_databases
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import refuse_curator_values
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.figures.advice import advice_figure
from dp_cmdp.metrics import Interval, mean_interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import release_database
from dp_cmdp.theory.release_noise import release_noise
from tests.problems import knapsack


def six(size=6, *, radius=0.1, capacity=2.0, c: Any = None) -> ParametricLP:
    c = np.linspace(1, 2, size) if c is None else c
    return knapsack(size, radius=radius, capacity=capacity, c=c)


@pytest.fixture(scope="module")
def advice():
    return advise(six(), epsilons=[0.5, 2, 8], deltas=[0.01, 0.1], radii=[1, 0.1], draws=4)


def test_recovery_grows_with_epsilon_and_delta_and_shrinks_with_the_radius(advice):
    frame = advice.to_frame().set_index(["radius", "delta", "epsilon"])["recovered"].sort_index()
    for radius in (1.0, 0.1):
        for delta in (0.01, 0.1):
            assert frame.loc[radius, delta].is_monotonic_increasing
        assert (frame.loc[radius, 0.1] >= frame.loc[radius, 0.01]).all()
    assert (frame.loc[0.1] >= frame.loc[1.0]).all()
    assert frame.max() <= 1.0


def test_the_threshold_is_where_a_release_starts_to_be_worth_it(advice):
    for part in advice.thresholds:
        assert part.epsilon is not None
        program = six()
        trials = Trials.of(
            program,
            reference_databases(program, position="average", draws=4, seed=0),
            seed=0,
        )
        radius = part.radius * program.envelope.radius
        at = trials.recovered(
            release_noise(program, PrivacyBudget(part.epsilon, part.delta), radius=radius)
        )
        assert at >= advice.worth
        if part.epsilon > 0.02:
            below = PrivacyBudget(0.9 * part.epsilon, part.delta)
            assert trials.recovered(release_noise(program, below, radius=radius)) < advice.worth


def test_a_share_that_only_some_trials_reach_is_undecided_and_not_useful():
    # the 16 trials of seed 4 happen to say 10.5 %, which is no verdict for 10 %; 400 say 8 %
    program = six(radius=0.5)
    (row,) = advise(program, epsilons=[1], deltas=[0.1], draws=16, seed=4).rows
    assert row.recovered_low < 0.1 < row.recovered
    assert row.useful is None
    databases = reference_databases(program, position="average", draws=400, seed=0)
    many = Trials.of(program, databases, seed=0).recovery(
        release_noise(program, PrivacyBudget(1, 0.1))
    )
    assert verdict(many, 0.1) is False


def test_the_summary_the_json_and_the_figure_show_the_intervals():
    found = advise(six(radius=0.5), epsilons=[1, 8], deltas=[0.1], draws=16, seed=4)
    facts, text = json.loads(found.to_json()), found.summary()
    row, part = found.rows[0], found.thresholds[0]
    assert facts["confidence"] == 0.95
    assert facts["rows"][0]["recovered_low"] == row.recovered_low
    assert facts["rows"][0]["useful"] is None
    assert facts["thresholds"][0]["limit"]["low"] == part.limit.low
    assert f"[{row.recovered_low:.0%}, {row.recovered_high:.0%}]" in text
    assert "undecided" in text
    assert "0.95 confidence" in text
    lines = [c for c in advice_figure(found).axes[0].collections if isinstance(c, LineCollection)]
    shown = np.array([segment[:, 1] for segment in lines[0].get_segments()])
    expected = [(max(r.recovered_low, -0.5), r.recovered_high) for r in found.rows]
    np.testing.assert_allclose(shown, expected)


@pytest.mark.parametrize(
    ("low", "high", "worthwhile", "words"),
    [
        (0.5, 2.0, True, r"at least 10% .* from epsilon 1 on \[0\.5, 2\]"),
        (0.5, None, None, r"undecided\. .*20% \[5%, 40%\].*more draws"),
        (None, None, False, r"not worth its budget\. .*20% \[5%, 40%\]"),
    ],
)
def test_the_verdict_says_what_the_interval_allows(advice, low, high, worthwhile, words):
    epsilon = None if low is None else 1.0
    part = Threshold(0.01, 1.0, epsilon, low, high, Interval(0.2, 0.05, 0.4, 16))
    found = replace(advice, thresholds=(part,))
    assert found.worthwhile is worthwhile
    assert re.search(words, found.summary())


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_answers_as_students_test_of_the_difference_does(seed):
    rng = np.random.default_rng(seed)
    lost = rng.gamma(4.0, size=24)
    gain = lost * rng.uniform(-0.2, 0.8, 24)
    share = share_interval(gain, lost)
    for worth in np.linspace(-0.2, 0.9, 56):
        difference = mean_interval(pair_means(gain - worth * lost))
        inside = difference.low <= 0.0 <= difference.high
        assert (share.low <= worth <= share.high) == inside
        decided = None if inside else difference.low > 0.0
        assert verdict(share, worth) is decided


def test_intervals_cover_the_share_as_often_as_they_say():
    rng, covered, repetitions = np.random.default_rng(0), 0, 400
    for _ in range(repetitions):
        lost = rng.normal(3.0, 1.0, 16)
        share = share_interval(0.3 * lost + rng.normal(0.0, 0.5, 16), lost)
        covered += share.low <= 0.3 <= share.high
    # Fieller's interval is exact here: P(fewer than 355 or more than 398 of 400) < 1e-6
    assert 355 <= covered <= 398


def test_few_trials_bound_nothing_and_none_that_lose_bound_everything():
    assert share_interval(np.array([0.5, 0.4]), np.ones(2)).low == -np.inf
    wild = share_interval(np.array([5.0, 5.0, -5.0, -5.0]), np.array([9.0, 9.0, -8.0, -8.0]))
    assert (wild.low, wild.high) == (-np.inf, 1.0)
    assert share_interval(np.full(6, 0.25), np.ones(6)) == Interval(0.25, 0.25, 0.25, 6)
    program = six(capacity=100.0)
    databases = reference_databases(program, position="average", draws=4, seed=0)
    trials = Trials.of(program, databases, seed=0)
    assert trials.recovery(release_noise(program, PrivacyBudget(1, 0.1))) == Interval(
        1.0, 1.0, 1.0, 4
    )


@pytest.mark.parametrize("confidence", [0.4, 1.0, "0.95", np.nan])
def test_a_confidence_that_means_nothing_is_refused(confidence):
    with pytest.raises(InvalidArgumentError, match="confidence"):
        advise(six(), epsilons=[1], deltas=[0.1], confidence=confidence)


def test_when_an_entry_may_change_to_anything_the_advice_is_not_to_release():
    found = advise(six(radius=1.0), epsilons=[1, 8], deltas=[0.01], draws=8)
    assert not found.worthwhile
    assert found.thresholds[0].epsilon is None
    text = found.summary()
    assert "not worth its budget" in text
    assert "radius times 0.1" in text
    assert "known to be harmless" in text
    assert "right-hand sides" in text
    for row in found.rows:
        assert row.saturation_harmless == pytest.approx(1 - row.delta)


def test_when_the_robust_answer_is_best_the_advice_is_to_release_nothing():
    found = advise(six(capacity=100.0), epsilons=[1], deltas=[0.1], draws=4)
    assert found.nothing_to_win
    assert not found.worthwhile
    assert "release nothing" in found.summary()


def test_the_advice_is_public_and_valid_json(advice):
    facts = json.loads(advice.to_json())
    refuse_curator_values(advice.facts())
    assert len(facts["rows"]) == 12
    assert facts["public_interval"][0] <= facts["reference"]["optimum"]
    assert "NaN" not in advice.to_json()
    assert "Infinity" not in advice.to_json()


def test_remedies_improve(advice):
    assert {part.measure for part in advice.remedies} == {"recovered", "robust value"}
    for part in advice.remedies:
        assert part.after.mean >= part.before.mean - 1e-9
        for value in (part.before, part.after):
            assert value.low <= value.mean <= value.high


@pytest.mark.parametrize("position", ["harmless", "middle", "average"])
def test_expected_saturation_is_the_share_of_released_ends_at_the_envelope(position):
    program = six(200, radius=0.3)
    envelope, budget = program.envelope, PrivacyBudget(1, 0.1)
    rng = np.random.default_rng(0)
    at = {"harmless": 0.0, "middle": 0.5, "average": rng.random(200)}[position]
    expected = expected_saturation(release_noise(program, budget), position)
    database = Database(np.full(200, 1.0) * at, envelope)
    seen = [
        (release_database(database, budget, rng=rng).upper >= envelope.upper).mean()
        for _ in range(50)
    ]
    # 10,000 independent ends, standard deviation at most 0.005: five of them and the fixed draw
    assert np.mean(seen) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("eps", "delta", "changes"), [(1, 0.1, 2), (0.1, 0.1, 7), (5, 0.01, 1)])
def test_forced_changes_count_how_far_safety_must_reach(eps, delta, changes):
    assert forced_changes(PrivacyBudget(eps, delta)) == changes
    spent = delta * (np.exp(changes * eps) - 1) / (np.exp(eps) - 1)
    assert spent < 1 <= delta * (np.exp((changes + 1) * eps) - 1) / (np.exp(eps) - 1)


def test_the_best_split_beats_equal_shares_and_loses_to_one_release():
    found = best_split(
        six(c=Affine(6, at=np.arange(6), entry=np.arange(6))), PrivacyBudget(2, 0.1), draws=8
    )
    assert sum(found.alphas.values()) == 1
    assert set(found.alphas) == {"A", "c"}
    assert found.recovered.mean >= found.equal.mean
    assert found.database.mean >= found.equal.mean


def test_one_sensitive_block_gets_everything():
    found = best_split(six(), PrivacyBudget(2, 0.1), draws=4)
    assert found.alphas == {"A": 1}


def test_uniforms_come_in_pairs_and_repeat():
    u = paired_uniforms(6, 4, seed=3)
    np.testing.assert_allclose(u[::2] + u[1::2], 1.0)
    np.testing.assert_array_equal(u, paired_uniforms(6, 4, seed=3))


def test_a_program_without_a_robust_point_is_refused_before_anything_else():
    envelope = Envelope(0.0, 1.0, shape=1)
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(envelope, c=[1.0], A=A, b=[0.5], lower=1.0, upper=2.0)
    with pytest.raises(AssumptionError):
        advise(program, epsilons=[1], deltas=[0.1])


def test_empty_ranges_are_refused():
    with pytest.raises(InvalidArgumentError, match="epsilons"):
        advise(six(), epsilons=[], deltas=[0.1])


def test_the_advice_for_a_cmdp_is_that_for_its_program():
    from dp_cmdp.cmdp.parametric import ParametricCMDP

    T = np.zeros((3, 2, 3))
    T[:, 0, 1] = T[:, 1, 2] = 1.0
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=1)
    cmdp = ParametricCMDP(
        envelope,
        T=T,
        r=[[0.0, 0.0], [1.0, 1.0], [0.3, 0.3]],
        mu=[1.0, 0.0, 0.0],
        gamma=0.8,
        cost=Affine((1, 6), at=([0, 0], [2, 3]), entry=0),
        tolerance=Affine(1, constant=[1.0]),
    )
    asked = {"epsilons": [1], "deltas": [0.1], "draws": 4}
    assert advise(cmdp, **asked).facts() == advise(cmdp.program(), **asked).facts()


def test_the_planner_finds_the_epsilon_that_reaches_the_target():
    program = six(radius=0.02)
    rng = np.random.default_rng(1)
    database = Database(rng.uniform(0.3, 0.8, 6), program.envelope)
    plan = smallest_epsilon(
        program, database, delta=0.01, target=0.05, draws=12, epsilons=(0.5, 50)
    )
    assert plan.reachable
    assert plan.low <= plan.epsilon <= plan.high
    assert plan.cost.mean <= 0.05
    easier = smallest_epsilon(
        program, database, delta=0.01, target=0.08, draws=12, epsilons=(0.5, 50)
    )
    assert easier.epsilon < plan.epsilon


def test_the_planner_says_when_no_epsilon_is_enough_or_any_is():
    program = six(radius=1.0)
    database = Database(np.full(6, 0.5), program.envelope)
    asked = {"delta": 0.01, "draws": 6}
    assert smallest_epsilon(program, database, target=0.001, **asked).epsilon == float("inf")
    assert smallest_epsilon(program, database, target=0.99, **asked).epsilon == 0.0


@pytest.mark.parametrize("option", ["--hazards", "--delta"])
def test_options_that_only_a_target_reads_are_refused_without_one(option, capsys, tmp_path):
    from dp_cmdp.cli.main import main

    assert main(["advise", "--layout", "rooms", option, "1", "--out", str(tmp_path / "x")]) != 0
    assert f"{option} needs --target" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
