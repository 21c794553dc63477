"""No draw exceeds a certain bound and no mean an expectation bound, on random programs."""

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.advice.trials import Trials
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private
from dp_cmdp.theory.accuracy import accuracy_bound, instance_bound
from dp_cmdp.theory.feasible_set import coordinate_ranges
from dp_cmdp.theory.public_interval import public_interval
from dp_cmdp.theory.release_noise import release_noise
from tests.problems import random_parametric_lp

ROUNDING = 1e-7
BUDGETS = ((0.3, 0.1), (1, 0.1), (1, 1e-6), (5, 0.01), (20, 0.3))


def random_database(program: ParametricLP, rng: np.random.Generator) -> Database:
    envelope = program.envelope
    at = rng.choice([0.0, 1.0, np.nan], envelope.num_entries, p=[0.3, 0.1, 0.6])
    at = np.where(np.isnan(at), rng.random(envelope.num_entries), at)
    values = envelope.lower + at * (envelope.upper - envelope.lower)
    return Database(np.clip(values, envelope.lower, envelope.upper), envelope)


def packing_program(rng: np.random.Generator) -> ParametricLP:
    """A packing program with a private row per resource and, half of the time, private prices."""
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    envelope = Envelope(0.0, 1.0, radius=float(rng.uniform(0.02, 0.6)), shape=(m, n))
    entry = envelope.index("values")
    row, col = np.indices((m, n))
    c = Affine(n, at=np.arange(n), entry=entry[0]) if rng.random() < 0.5 else rng.random(n)
    return ParametricLP(
        envelope,
        c=c,
        A=Affine((m, n), at=(row, col), entry=entry),
        b=Affine(m, constant=rng.uniform(0.5, 2.0, m)),
        upper=np.full(n, 2.0),
    )


#: The releases that are checked, as arguments of `accuracy_bound`.
RELEASES = (
    {"mechanism": "database"},
    {"mechanism": "blocks"},
    {"calibration": "optimal"},
    {"calibration": "optimal", "close": "lower"},
)


def release(program, database, budget, rng, *, mechanism="database", **options):
    if mechanism == "database":
        return release_database(database, budget, rng=rng, **options)
    return release_blocks(database, budget, program=program, alphas=program.equal_shares, rng=rng)


def check_one(seed: int, *, draws: int, releases=RELEASES[:3]) -> list[float]:
    """Gaps of one random problem against every bound; ratios bound/actual of the mean bound."""
    rng = np.random.default_rng([7, seed])
    program = packing_program(rng) if seed % 2 else random_parametric_lp(rng)
    database = random_database(program, rng)
    budget = PrivacyBudget(*BUDGETS[seed % len(BUDGETS)])
    interval = public_interval(program)
    truth = program.at(database.values)
    ratios = []
    for how in releases:
        bound = accuracy_bound(program, database, budget, **how, draws=draws, rng=rng)
        room = ROUNDING * (1.0 + abs(bound.optimum))
        assert interval.robust - room <= bound.optimum <= interval.optimistic + room
        gaps = []
        for number in range(draws):
            made = release(program, database, budget, rng, **how)
            x = solve_private(program, made).x
            gaps.append(bound.optimum - truth.c @ x)
            assert gaps[-1] <= bound.certain + room, (seed, how)
            if number < 4:  # seven programs each
                limit = instance_bound(program, made, database=database, x=x)
                assert gaps[-1] <= limit + room, (seed, how)
        top = largest_loss(truth, bound) + room
        assert bound.sampled is not None
        for limit in (bound.mean, bound.sampled.limit):
            assert mean_at_most(gaps, float(limit) + room, top=top), (seed, how)
        if np.mean(gaps) > 0.01 * abs(bound.optimum):
            ratios.append(bound.mean / np.mean(gaps))
    return ratios


def mean_at_most(samples, limit: float, *, top: float) -> bool:
    """Chernoff's test for variables in [0, top], with false-alarm probability at most 1e-6."""
    seen, claimed = np.mean(samples) / top, limit / top
    if seen <= claimed or claimed >= 1.0:
        return True
    rest = (1 - seen) * np.log((1 - seen) / (1 - claimed)) if seen < 1 else 0.0
    return len(samples) * (seen * np.log(seen / claimed) + rest) <= np.log(1e6)


def largest_loss(truth, bound) -> float:
    """No feasible answer loses more than this."""
    least = -coordinate_ranges(truth, -truth.c[None])[1][0]
    return min(float(bound.certain), float(bound.optimum) - least)


@pytest.mark.parametrize("seed", range(5))
def test_no_draw_exceeds_a_sure_bound_and_no_mean_an_expectation_bound(seed):
    check_one(seed, draws=3, releases=(RELEASES * 2)[seed % 4 : seed % 4 + 2])


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_the_bounds_hold_on_hundreds_of_programs(block, capsys):
    ratios = [r for seed in range(20) for r in check_one(1000 + 20 * block + seed, draws=25)]
    with capsys.disabled():
        print(f" median bound / mean gap {np.median(ratios):.2f} over {len(ratios)} cases")
    assert np.median(ratios) < 2.0


@pytest.mark.parametrize("seed", [1, 8])
def test_the_mean_of_many_draws_stays_below_its_bound(seed):
    rng = np.random.default_rng([9, seed])
    program = packing_program(rng) if seed % 2 else random_parametric_lp(rng)
    database, budget = random_database(program, rng), PrivacyBudget(1, 0.1)
    bound = accuracy_bound(program, database, budget)
    trials = Trials.of(program, np.tile(database.values, (200, 1)), seed=seed)
    gaps = trials.optimum - trials.achieved(release_noise(program, budget))
    pairs = gaps.reshape(-1, 2).mean(axis=1)  # antithetic pairs are independent of one another
    top = largest_loss(program.at(database.values), bound)
    assert mean_at_most(pairs, float(bound.mean), top=top)


def test_the_test_of_means_sees_a_bound_that_is_too_small():
    gaps = np.random.default_rng(0).uniform(0.0, 1.0, 200)
    assert mean_at_most(gaps, 0.5, top=1.0)
    assert not mean_at_most(gaps, 0.3, top=1.0)


def test_the_likely_bound_is_exceeded_no_more_often_than_it_says():
    rng = np.random.default_rng(5)
    program = packing_program(np.random.default_rng([7, 41]))
    database = random_database(program, rng)
    budget = PrivacyBudget(2, 1e-6)
    bound = accuracy_bound(program, database, budget, failure=0.2)
    truth = program.at(database.values)
    above, draws = 0, 60
    for _ in range(draws):
        x = solve_private(program, release_database(database, budget, rng=rng)).x
        above += bound.optimum - truth.c @ x > bound.likely + ROUNDING
    assert bound.likely <= bound.certain
    assert above <= 28  # P(Binomial(60, 0.2) > 28) < 1e-6


def test_a_shorter_reach_makes_the_mean_bound_smaller_when_delta_is_tiny():
    rng = np.random.default_rng(3)
    envelope = Envelope(0.0, 1.0, radius=0.01, shape=12)
    program = ParametricLP(
        envelope,
        c=np.ones(12),
        A=Affine((1, 12), at=(np.zeros(12, dtype=int), np.arange(12)), entry=np.arange(12)),
        b=[1.0],
        upper=np.full(12, 1.0),
    )
    database = Database(rng.uniform(0.3, 0.6, 12), envelope)
    bound = accuracy_bound(program, database, PrivacyBudget(1, 1e-6))
    assert bound.mean < 0.95 * bound.certain


def test_the_certified_bound_of_the_auction_with_list_prices_is_within_twice_the_gap(
    list_price_auction,
):
    program, databases = list_price_auction
    rng = np.random.default_rng(11)
    for eps in (0.25, 4):
        ratios = []
        for database in databases:
            budget = PrivacyBudget(eps, 0.1)
            bound = accuracy_bound(program, database, budget)
            c = program.at(database.values).c
            made = (release_database(database, budget, rng=rng) for _ in range(4))
            gaps = [bound.optimum - c @ solve_private(program, part).x for part in made]
            assert max(gaps) <= bound.certain * (1 + ROUNDING)
            ratios.append(bound.mean / np.mean(gaps))
        assert np.median(ratios) <= 2.0


@pytest.mark.parametrize("eps", ["1/4", "8"])
def test_the_sampled_bound_of_the_auction_with_a_private_objective_is_within_twice_the_gap(eps):
    from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction

    program = ad_auction_program()
    database = random_auction(program, np.random.default_rng(0))
    bound = accuracy_bound(
        program, database, PrivacyBudget(eps, 0.1), draws=120, rng=np.random.default_rng(1)
    )
    assert bound.sampled is not None
    assert bound.sampled.limit <= 2.0 * bound.sampled.estimate
    assert bound.mean <= 3.0 * bound.sampled.estimate  # nothing sampled; it misses 2 at small ε


@pytest.fixture
def list_price_auction():
    """The auction with public list prices as its objective and private prices in its rows."""
    from dp_cmdp.experiments.bounds import problem

    found = [problem("list-price", np.random.default_rng(seed)) for seed in range(3)]
    return found[0][0], [database for _, database in found]


def test_the_bounds_of_a_small_cmdp_hold_surely(small_hazard_cmdp):
    cmdp, database = small_hazard_cmdp
    program = cmdp.program()
    rng = np.random.default_rng(0)
    for eps in (0.5, 4):
        budget = PrivacyBudget(eps, 0.05)
        for mechanism in ("database", "blocks"):
            bound = accuracy_bound(cmdp, database, budget, mechanism=mechanism)
            c = program.at(database.values).c
            for _ in range(3):
                made = release(program, database, budget, rng, mechanism=mechanism)
                gap = bound.optimum - c @ solve(_released(program, made), certify=False).x
                assert gap <= bound.certain + ROUNDING * abs(bound.optimum)


def _released(program, made):
    from dp_cmdp.program.entrywise import entrywise

    target = program if made.method == "database" else entrywise(program)
    return target.robust(made.lower, made.upper, estimate=made.estimate)


@pytest.fixture
def small_hazard_cmdp():
    return hazard_grid(4, np.random.default_rng(2))


def hazard_grid(side: int, rng: np.random.Generator):
    """A slippery grid: reward at one corner, candidates for hazards with private severities."""
    from dp_cmdp.cmdp.parametric import ParametricCMDP

    size = side * side
    T = np.zeros((size, 4, size))
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    for state in range(size):
        y, x = divmod(state, side)
        for action in range(4):
            for other in range(4):
                dy, dx = moves[other]
                to = np.clip(y + dy, 0, side - 1) * side + np.clip(x + dx, 0, side - 1)
                T[state, action, to] += 0.85 if other == action else 0.05
    r = np.zeros((size, 4))
    r[size - 1] = 1.0
    candidates = np.flatnonzero((np.arange(size) % side > 0) & (np.arange(size) % 3 != 0))
    candidates = candidates[candidates != size - 1]
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=candidates.size)
    action = np.arange(4)
    pairs = (candidates[:, None] * 4 + action).ravel()
    entry = np.repeat(np.arange(candidates.size), 4)
    mu = np.zeros(size)
    mu[0] = 1.0
    cmdp = ParametricCMDP(
        envelope,
        T=T,
        r=r,
        mu=mu,
        gamma=0.9,
        cost=Affine((1, size * 4), at=(np.zeros(pairs.size, dtype=int), pairs), entry=entry),
        tolerance=Affine(1, constant=[0.7]),
    )
    values = np.where(rng.random(candidates.size) < 0.5, 0.0, rng.random(candidates.size))
    return cmdp, Database(values, envelope)
