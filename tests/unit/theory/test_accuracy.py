"""Noise of a release, public intervals, extents and the bounds: against hand answers."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.problems.ad_auction import auction_program
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private
from dp_cmdp.theory.accuracy import accuracy_bound, instance_bound
from dp_cmdp.theory.feasible_set import concentration_radius, coordinate_ranges, diameter_bound
from dp_cmdp.theory.laws import LaplaceLaw
from dp_cmdp.theory.price_bound import PricedError
from dp_cmdp.theory.public_interval import harmful_ends, public_interval
from dp_cmdp.theory.release_noise import release_noise
from dp_cmdp.theory.row_tails import RowTerms
from dp_cmdp.theory.worst_answer import WorstAnswer
from tests.problems import knapsack, random_parametric_lp

BUDGET = PrivacyBudget(1, 0.1)


@pytest.mark.parametrize("mechanism", ["database", "blocks"])
def test_the_reach_is_that_of_the_release(mechanism):
    program = knapsack(c=Affine(2, at=[0, 1], entry=[0, 1]))
    database = Database([0.2, 0.7], program.envelope)
    rng = np.random.default_rng(0)
    if mechanism == "database":
        made = release_database(database, BUDGET, rng=rng)
        parts = {"database": slice(None)}
    else:
        made = release_blocks(
            database, BUDGET, program=program, alphas=program.equal_shares, rng=rng
        )
        parts = {"A": slice(0, 2), "c": slice(2, 4)}
    found = release_noise(program, BUDGET, mechanism=mechanism)
    unit = 0.25
    assert isinstance(found.law, LaplaceLaw)
    for noise in made.noise:
        np.testing.assert_allclose(found.law.scale[parts[noise.block]], noise.scale * unit)
        support = np.inf if noise.support is None else noise.support * unit
        np.testing.assert_allclose(found.support[parts[noise.block]], support)


def test_every_released_box_lies_in_the_worst_box():
    program = random_parametric_lp(np.random.default_rng(4))
    envelope = program.envelope
    rng = np.random.default_rng(1)
    database = Database(rng.uniform(envelope.lower, envelope.upper), envelope)
    low, high = release_noise(program, BUDGET).worst_box(database.values)
    for number in range(300):
        made = release_database(database, BUDGET, rng=rng if number % 3 else None)
        assert (made.lower >= low).all()
        assert (made.upper <= high).all()


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
def test_a_harmless_entry_that_may_change_to_anything_saturates_with_probability_one_minus_delta(
    eps, delta
):
    program = knapsack(radius=1.0)
    found = release_noise(program, PrivacyBudget(eps, delta))
    np.testing.assert_allclose(found.saturation(np.ones(2)), 1 - delta, rtol=1e-9)


def test_the_failure_of_a_row_is_bounded_and_nearly_exact():
    envelope = Envelope(0.0, 1.0, radius=0.2, shape=5)
    every = np.arange(5)
    A = Affine((1, 5), at=(np.zeros(5, dtype=int), every), entry=every)
    program = ParametricLP(envelope, c=np.ones(5), A=A, b=[1.0], upper=1.0)
    noise = release_noise(program, BUDGET)
    theta, weight = np.array([0.1, 0.2, 0.0, 0.7, 0.5]), np.array([1.0, 0.5, 2.0, 0.1, 0.7])
    terms = RowTerms(noise.law, weight, 1.0 - theta)
    u = np.random.default_rng(0).random((20_000, 5))
    ends = np.array([noise.box(theta, noise.noise(row))[1] for row in u]) - theta
    total = ends @ weight
    for slack in np.quantile(total, [0.05, 0.5, 0.9, 0.99]):
        seen = (total > slack).mean()
        assert terms.failure(float(slack)) >= seen - 0.018  # five standard errors
        assert terms.failure(float(slack)) <= seen + 0.03
    assert terms.failure(float(total.max()) + 10.0) == 0.0
    assert terms.failure(-1.0) == 1.0


def test_the_public_interval_contains_every_optimum():
    rng = np.random.default_rng(2)
    for seed in range(15):
        program = random_parametric_lp(np.random.default_rng(seed))
        found = public_interval(program)
        for _ in range(5):
            theta = rng.uniform(program.envelope.lower, program.envelope.upper)
            optimum = solve(program.at(theta), certify=False).objective
            assert found.robust - 1e-7 <= optimum <= found.optimistic + 1e-7


def test_the_public_interval_of_a_knapsack_is_known():
    found = public_interval(knapsack())
    assert found.robust == pytest.approx(1.0)  # both weights 1
    assert found.optimistic == pytest.approx(2.0)  # both weights 0
    assert public_interval(knapsack(c=Affine(2, at=[0, 1], entry=[0, 1]))).robust == pytest.approx(
        0.0
    )


def test_the_optimistic_value_is_infinite_when_nothing_bounds_it():
    envelope = Envelope(0.0, 1.0, shape=1)
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(envelope, c=[1.0], A=A, b=[1.0])
    assert public_interval(program).optimistic == math.inf


def test_harmful_ends_follow_the_signs():
    envelope = Envelope(0.0, 1.0, shape=4)
    A = Affine((1, 2), at=([0, 0, 0], [0, 0, 1]), entry=[0, 1, 3], coefficient=[1.0, -2.0, 1.0])
    b = Affine(1, constant=[1.0], at=[0], entry=[2])
    program = ParametricLP(envelope, c=[1.0, 1.0], A=A, b=b, lower=[0.0, -1.0], upper=1.0)
    low, high = harmful_ends(program)
    assert low.tolist() == [False, True, True, True]
    assert high.tolist() == [True, False, False, True]


def test_the_certified_bound_of_a_knapsack_is_known():
    program = knapsack(radius=0.01)
    database = Database([0.5, 0.7], program.envelope)
    s = float(release_noise(program, BUDGET).support[0])
    bound = accuracy_bound(program, database, BUDGET)
    # x₁ = 1 first (smaller weight), then x₂ = (1 − θ₁)/θ₂
    expected = 0.5 / 0.7 - (0.5 - 2 * s) / (0.7 + 2 * s)
    assert bound.certain == pytest.approx(expected, rel=1e-4)
    assert bound.certain >= expected
    assert bound.tightening == bound.certain
    assert bound.mean <= bound.certain


@pytest.mark.parametrize("limit", [0.05, 0.3, 2.0, np.inf])
def test_no_answer_that_some_error_prefers_loses_more_than_the_worst_answer(limit):
    truth = LinearProgram([0.9, 0.6], [[0.8, 0.3]], b=[0.7], upper=1.0)
    corners = np.array([[0.0, 0.0], [0.875, 0.0], [0.5, 1.0], [0.0, 1.0]])
    optimum, y = 1.05, np.array([0.45, 0.9])
    limits = np.array([limit, limit / 2]), np.array([limit / 3, limit])
    span = np.zeros(2), np.array([0.875, 1.0])
    worst = WorstAnswer(truth, optimum, sparse.csr_array(np.eye(2)), span, limits)
    found = worst.loss(y)
    assert found <= optimum - 0.0 + 1e-9  # the range of the objective
    up, down = (np.minimum(part, 1e6) for part in limits)
    each = np.maximum(up * (span[1] - y), down * y)
    assert found <= optimum - truth.c @ y + each.sum() + 1e-6
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 20_000)
    x = np.vstack([corners, shares @ corners])
    reached = x @ truth.c - truth.c @ y + np.maximum(up * (x - y), down * (y - x)).sum(axis=1) >= 0
    assert (optimum - x[reached] @ truth.c).max() <= found + 1e-6


def test_plain_laplace_noise_in_the_objective_costs_at_most_the_range_of_the_objective():
    program = knapsack(c=Affine(2, at=[0, 1], entry=[0, 1]))
    database = Database([0.5, 0.7], program.envelope)
    bound = accuracy_bound(program, database, BUDGET, mechanism="blocks")
    assert bound.certain == pytest.approx(bound.optimum)  # x = 0 is the worst answer


def test_prices_of_released_rows_help_where_rows_and_objective_read_the_same_entries():
    groups, buyers = 6, 3
    price = np.random.default_rng(0).random((groups, buyers))
    found = {}
    for shared in (True, False):  # an auction; or one whose objective has a copy of the prices
        envelope = Envelope(0.0, 1.0, radius=0.1, shape=(2, groups, buyers))
        rows, copy = envelope.index("values")
        private = {"A": rows, "c": rows if shared else copy}
        program = auction_program(envelope, private=private, prices=price)
        database = Database(np.concatenate([price.ravel(), price.ravel()]), envelope)
        found[shared] = float(accuracy_bound(program, database, BUDGET).mean)
    assert found[True] < 0.85 * found[False]


def test_the_instance_bound_is_zero_when_the_optimum_is_safe_anyway():
    program = knapsack(radius=0.01)
    database = Database([0.0, 0.1], program.envelope)
    made = release_database(database, BUDGET, rng=np.random.default_rng(0))
    x = solve_private(program, made).x
    assert instance_bound(program, made, database=database, x=x) == pytest.approx(0.0, abs=1e-9)


def test_bounds_are_curator_only():
    from dp_cmdp.data.curator import CuratorOnly

    program = knapsack()
    bound = accuracy_bound(program, Database([0.5, 0.7], program.envelope), BUDGET)
    assert isinstance(bound.certain, CuratorOnly)
    assert isinstance(bound.mean, CuratorOnly)


def test_a_database_of_another_envelope_is_refused():
    with pytest.raises(InvalidArgumentError, match="Envelope"):
        accuracy_bound(knapsack(), Database([0.5, 0.7], Envelope(0.0, 9.0, shape=2)), BUDGET)


def test_shares_that_do_not_fit_the_blocks_are_refused():
    with pytest.raises(InvalidArgumentError, match="alphas"):
        release_noise(knapsack(), BUDGET, mechanism="blocks", alphas={"A": "1/2", "c": "1/2"})
    with pytest.raises(InvalidArgumentError, match="alphas"):
        release_noise(knapsack(), BUDGET, alphas={"A": 1})


def test_diameters_of_known_sets():
    box = LinearProgram(np.ones(3), upper=[1.0, 2.0, 2.0])
    low, high = coordinate_ranges(box)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [1, 2, 2])
    assert diameter_bound(box) == pytest.approx(3.0)
    simplex = LinearProgram(np.ones(5), A_eq=np.ones((1, 5)), b_eq=[4.0])
    assert diameter_bound(simplex) == pytest.approx(4 * math.sqrt(2))


def test_the_occupancy_measures_of_a_cmdp_have_diameter_at_most_root_two_over_one_minus_gamma():
    from dp_cmdp.cmdp.model import CMDP

    T = np.zeros((2, 2, 2))
    T[:, 0, 0] = T[:, 1, 1] = 1.0
    cmdp = CMDP(T, np.ones((2, 2)), f=np.zeros((2, 2)), f0=[1.0], mu=[1.0, 0.0], gamma=0.9)
    assert diameter_bound(cmdp) == pytest.approx(math.sqrt(2) / 0.1)


def test_the_concentration_radius_is_hoeffdings():
    assert concentration_radius(2.0, failure=1.0) == 0.0
    assert concentration_radius(2.0, failure=math.exp(-2)) == pytest.approx(2.0)


def peak_of(call) -> float:
    """Megabytes that a call holds at once, at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_ranges_of_many_functions_of_many_variables_take_no_dense_matrix():
    lp = LinearProgram(np.ones(20_000), upper=1.0)
    none = sparse.csr_array((3_000, 20_000))
    assert peak_of(lambda: coordinate_ranges(lp, none)) < 20  # dense: 480


def test_the_bound_by_prices_is_as_sparse_as_its_program():
    n = 10_000
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=n)
    own = np.arange(n)
    program = ParametricLP(
        envelope,
        c=Affine(n, at=own, entry=own),
        A=Affine((n, n), at=(own, own), entry=own),
        b=np.full(n, 0.5),
        upper=1.0,
    )
    theta = np.random.default_rng(0).uniform(0.0, 1.0, n)
    noise, truth = release_noise(program, PrivacyBudget(1, 1e-3)), program.at(theta)
    case = PricedError(noise, theta, truth, 0.4 * n, (np.zeros(n), np.ones(n)))
    assert peak_of(lambda: case.best(0.1 * n)) < 50  # one dense array of its rows and entries: 800
