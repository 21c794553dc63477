"""Accuracy bounds of planned releases, against releases that were made and against exact laws."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.problems.ad_auction import auction_program, growing_auction, random_auction
from dp_cmdp.problems.hazard_grids import random_grid
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import harmful_sides, suited_noise
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_planned
from dp_cmdp.release.solve import solve_private
from dp_cmdp.release.totals import integer_totals
from dp_cmdp.theory.accuracy import accuracy_bound
from dp_cmdp.theory.mean_limit import mean_upper_limit
from dp_cmdp.theory.one_release import instance_bound
from dp_cmdp.theory.planned_bound import PlannedRelease, upper_quantile
from tests.problems import knapsack, same_matrix

BUDGET = PrivacyBudget(2, "1/1000")
#: Probability with which a statistical test below fails although all is right.
FALSE_ALARM = 1e-6
ROUNDING = 1e-6
SHARES = ("0", "0.35", "0.65", "1")


def list_price_auction() -> tuple[ParametricLP, Database]:
    """What is spent is private, what it is worth is public."""
    rng = np.random.default_rng(3)
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=(8, 3), name="prices")
    program = auction_program(
        envelope, private={"A": envelope.index("prices")}, prices=rng.uniform(0.2, 1.0, (8, 3))
    )
    return program, random_auction(program, rng)


def private_auction() -> tuple[ParametricLP, Database]:
    program = growing_auction(5, 2)
    return program, random_auction(program, np.random.default_rng(4))


def shared_rows() -> tuple[ParametricLP, Database]:
    """Three rows that read the same twelve entries, one person's two at a time."""
    rng = np.random.default_rng(5)
    people = np.arange(12) // 2
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=12, records=people)
    row, col = np.indices((3, 12))
    program = ParametricLP(
        envelope,
        c=rng.uniform(0.5, 1.5, 12),
        A=Affine((3, 12), at=(row, col), entry=(col + row) % 12, coefficient=rng.random((3, 12))),
        b=[0.5, 0.6, 0.7],
        upper=1.0,
    )
    return program, Database(np.where(np.arange(12) % 5, 0.2, 1.0) * people / 5, envelope)


def one_record() -> tuple[ParametricLP, Database]:
    """All entries belong to two people."""
    program = knapsack(6, records=[0, 0, 0, 1, 1, 1], radius=0.2, capacity=0.8)
    return program, Database([0.1, 0.4, 0.0, 1.0, 0.3, 0.2], program.envelope)


def grid() -> tuple[ParametricLP, Database]:
    model, database = random_grid(5, np.random.default_rng(6))
    return model.program(), database


CASES = {
    case.__name__: cache(case)
    for case in (list_price_auction, private_auction, shared_rows, one_record, grid)
}


def losses_of(program, database, *, plan, draws) -> np.ndarray:
    """Losses of releases that were made, solved as they are in use."""
    truth = program.at(database.values)
    optimum = solve(truth, certify=False).objective
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 7])
        made, _ = release_planned(database, BUDGET, program=program, plan=plan, rng=rng)
        found.append(optimum - float(truth.c @ solve_private(program, made).x))
    return np.array(found)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("case", CASES)
def test_no_planned_release_breaks_its_bounds(case, share):
    program, database = CASES[case]()
    plan = Plan(share, caution=1.5, lift=1.0)
    bound = accuracy_bound(program, database, BUDGET, mechanism="planned", plan=plan, failure=0.2)
    losses = losses_of(program, database, plan=plan, draws=20)
    room = ROUNDING * abs(bound.optimum)
    assert bound.plan == plan
    assert losses.max() <= bound.certain + room
    assert 0.0 <= bound.mean <= bound.certain
    assert bound.likely <= bound.certain
    exceeded = int((losses > bound.likely + room).sum())
    assert stats.binom.sf(exceeded - 1, losses.size, 0.2) > FALSE_ALARM
    top = float(bound.certain) + room
    spared = mean_upper_limit(np.clip(top - losses, 0.0, top), top=top, failure=FALSE_ALARM)
    assert bound.mean >= top - spared - room  # the mean loss is at least this


@pytest.mark.parametrize("case", ["list_price_auction", "shared_rows", "one_record", "grid"])
def test_with_totals_alone_the_largest_noise_loses_the_certain_bound_and_no_other_more(case):
    program, database = CASES[case]()
    plan = Plan(0)
    bound = accuracy_bound(program, database, BUDGET, mechanism="planned", plan=plan)
    made, _ = release_planned(
        database, BUDGET, program=program, plan=plan, rng=np.random.default_rng(0)
    )
    seen = made.totals
    assert seen is not None
    true = integer_totals(seen.counts, Lattice(seen.grid, 1).index(database.values))
    truth, s = program.at(database.values), seen.support
    signs = list(product((-1, 0, 1), repeat=min(len(seen), 3)))
    for pattern in signs:
        z = np.resize(np.array(pattern, dtype=np.int64) * s, len(seen))
        other = Totals(seen.counts, np.array(true) + z, support=s, step=seen.step, grid=seen.grid)
        x = solve_private(program, replace(made, totals=other)).x
        loss = float(bound.optimum) - float(truth.c @ x)
        room = ROUNDING * abs(bound.optimum)
        assert loss <= bound.certain + room
        if set(pattern) == {1}:
            assert loss == pytest.approx(bound.certain, abs=room)


def test_totals_alone_are_bounded_more_closely_than_by_the_robust_answer():
    program, database = random_grid(6, np.random.default_rng(1), radius=0.1, start="uniform")
    bound = accuracy_bound(program, database, BUDGET, mechanism="planned", plan=Plan(0))
    entries = accuracy_bound(program, database, BUDGET)
    assert bound.certain < 0.5 * entries.certain
    assert bound.mean < 0.2 * bound.certain
    assert bound.likely < 0.2 * bound.certain


@pytest.mark.parametrize("case", ["list_price_auction", "shared_rows", "one_record"])
def test_a_plan_for_entries_alone_is_bounded_as_a_database_release(case):
    program, database = CASES[case]()
    options = {"calibration": suited_noise(program, BUDGET), "close": harmful_sides(program)}
    entries = accuracy_bound(program, database, BUDGET, **options)
    bound = accuracy_bound(program, database, BUDGET, mechanism="planned", plan=Plan(1))
    assert replace(bound, plan=None) == entries


@pytest.mark.parametrize("case", ["private_auction", "list_price_auction"])
def test_the_plan_called_database_is_the_database_release(case):
    program, database = CASES[case]()
    options: dict[str, Any] = {
        "calibration": suited_noise(program, BUDGET),
        "close": harmful_sides(program),
    }
    planned: dict[str, Any] = {"mechanism": "planned", "plan": "database"}
    entries, bound = (
        accuracy_bound(program, database, BUDGET, draws=5, rng=np.random.default_rng(1), **kind)
        for kind in (options, planned)
    )
    assert replace(bound, plan=None) == entries


def test_posterior_means_stay_within_the_errors_that_are_allowed_for():
    program, database = CASES["private_auction"]()
    for share in SHARES:
        release = PlannedRelease.of(
            program, BUDGET, plan=Plan(share), guess=None, calibration=None, close=None
        )
        low, high = release.worst_box(database.values)
        for seed in range(10):
            made, _ = release_planned(
                database,
                BUDGET,
                program=program,
                plan=Plan(share),
                rng=np.random.default_rng(seed) if seed else None,
            )
            assert (made.lower >= low).all()
            assert (made.upper <= high).all()


@pytest.mark.parametrize("share", ["0", "0.35", "1"])
def test_the_bound_of_one_release_is_that_of_the_objective_it_was_solved_for(share):
    program, database = CASES["private_auction"]()
    truth = program.at(database.values)
    optimum = solve(truth, certify=False).objective
    for seed in range(8):
        rng = np.random.default_rng(seed)
        made, _ = release_planned(database, BUDGET, program=program, plan=Plan(share), rng=rng)
        x = solve_private(program, made).x
        bound = instance_bound(program, made, database=database, x=x)
        assert optimum - float(truth.c @ x) <= bound + ROUNDING


@pytest.mark.parametrize("plan", [Plan(0), Plan("0.35")])
def test_the_sampled_limit_is_above_the_mean_loss_and_near_it(plan):
    program, database = CASES["list_price_auction"]()
    bound = accuracy_bound(
        program,
        database,
        BUDGET,
        mechanism="planned",
        plan=plan,
        draws=30,
        rng=np.random.default_rng(2),
    )
    assert bound.sampled is not None
    losses = losses_of(program, database, plan=plan, draws=30)
    assert bound.sampled.estimate == pytest.approx(losses.mean(), rel=0.5)
    assert losses.mean() <= bound.sampled.limit <= bound.certain * (1 + 1e-6) + 1e-6
    assert bound.sampled.limit < losses.mean() + 0.5 * (bound.certain - losses.mean()) + 1e-6


@pytest.mark.parametrize("plan", ["totals", Plan(0)])
def test_the_totals_bounded_are_those_that_a_policy_is_made_with(plan):
    model, database = random_grid(6, np.random.default_rng(1), start="uniform")
    known = PlannedRelease.of(model, BUDGET, plan=plan, guess=None, calibration=None, close=None)
    made = release_and_synthesize(
        model, database, BUDGET, plan=plan, rng=np.random.default_rng(0)
    ).release
    assert made.plan is not None
    assert Plan.from_facts(made.plan) == known.plan
    if known.plan.share == 0:
        assert known.totals is not None
        assert made.totals is not None
        assert same_matrix(known.totals.counts, made.totals.counts)
        assert (known.totals.step == made.totals.step).all()


@pytest.mark.parametrize("word", ["auto", "totals"])
def test_the_plan_is_the_one_that_the_release_chooses(word):
    program, database = CASES["one_record"]()
    bound = accuracy_bound(program, database, BUDGET, mechanism="planned", plan=word)
    _, choice = release_planned(
        database, BUDGET, program=program, plan=word, rng=np.random.default_rng(0)
    )
    assert bound.plan == choice.plan


def test_the_tail_of_a_total_is_that_of_its_exact_law():
    law = LatticeTruncatedLaplace.calibrate(1, "1/10", steps=3)
    s = law.support
    weight = {z: law.pmf(z) for z in range(-s, s + 1)}
    for z in range(-s, s):
        tail = sum((p for at, p in weight.items() if at > z), Fraction(0))
        assert upper_quantile(law, tail) == z
        assert upper_quantile(law, tail * (1 - Fraction(1, 10**9))) == z + 1
    assert upper_quantile(law, Fraction(0)) == s


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mechanism": "database", "plan": "auto"}, "plan"),
        ({"mechanism": "blocks", "guess": [0.5] * 6}, "guess"),
        ({"alphas": {"A": 1}}, "alphas"),
        ({"plan": "best"}, "plan"),
        ({"plan": 0.35}, "plan"),
        ({"guess": [0.5]}, "guess"),
        ({"calibration": "loose"}, "calibration"),
        ({"mechanism": "database", "calibration": ""}, "calibration"),
        ({"plan": Plan(1), "calibration": ""}, "calibration"),
        ({"plan": Plan("1/2"), "close": "left"}, "close"),
        ({"plan": Plan(0), "close": {"nothing": "upper"}}, "close"),
        ({"draws": 3}, "rng"),
        ({"mechanism": "totals"}, "mechanism"),
        ({"failure": 2.0}, "failure"),
    ],
)
def test_bad_input_is_named(options, named):
    program, database = CASES["one_record"]()
    with pytest.raises(InvalidArgumentError, match=named):
        accuracy_bound(program, database, BUDGET, **{"mechanism": "planned"} | options)


@pytest.mark.parametrize("share", ["0", "1/2"])
def test_a_budget_that_the_look_at_totals_refuses_has_no_bound(share):
    program, database = CASES["one_record"]()
    tiny = PrivacyBudget(1, Fraction(1, 2**70))
    for call in (
        lambda: accuracy_bound(program, database, tiny, mechanism="planned", plan=Plan(share)),
        lambda: release_planned(database, tiny, program=program, plan=Plan(share)),
    ):
        with pytest.raises(InvalidArgumentError, match="delta"):
            call()


def test_draws_of_an_unbounded_loss_are_refused():
    envelope = Envelope(0.5, 1.0, radius=0.25, shape=2)
    program = ParametricLP(
        envelope,
        c=Affine(2, constant=[-2.0, -2.0], at=[0, 1], entry=[0, 1]),
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1], coefficient=[-1.0, -1.0]),
        b=[-1.0],
    )
    database = Database([0.6, 0.7], envelope)
    options = {"mechanism": "planned", "plan": Plan(0)}
    bound = accuracy_bound(program, database, BUDGET, **options)
    assert bound.certain == np.inf
    with pytest.raises(InvalidArgumentError, match="draws"):
        accuracy_bound(program, database, BUDGET, draws=2, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("share", ["0", "1/2"])
def test_bounds_of_planned_releases_are_as_sparse_as_the_program(share):
    rows, entries = 500, 4_000
    own = np.arange(entries)
    program = ParametricLP(
        Envelope(0.0, 1.0, radius=0.1, shape=entries),
        c=np.ones(entries),
        A=Affine((rows, entries), at=(own % rows, own), entry=own),
        b=np.ones(rows),
        upper=1.0,
    )
    database = Database(np.full(entries, 0.3), program.envelope)
    tracemalloc.start()
    try:
        accuracy_bound(program, database, BUDGET, mechanism="planned", plan=Plan(share))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * rows * entries  # one dense array of rows and entries: 16 MB
