"""The limit of an instance, against the best mechanism of all on tiny programs."""

import itertools
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import CMDP, ParametricCMDP
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import CuratorOnly, refuse_curator_values
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError, PrivacyWarning
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.certainty_limit import certainty_limit, violation_chance, windows
from dp_cmdp.theory.guarded_program import GuardedProgram
from dp_cmdp.theory.neighbours import harmful_neighbour
from dp_cmdp.theory.public_interval import public_interval
from tests.problems import random_parametric_lp

CLOSE = 1e-9


def budget(epsilon, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return PrivacyBudget(epsilon, delta)


def knapsack(k=2, *, radius=0.5, side=1.0, private_objective=False, records=None, rows=1):
    """maximise Σ(1 + j/4)x_j subject to Σθ_j x_j ≤ side per row of entries, 0 ≤ x ≤ 1."""
    envelope = Envelope(0.0, 1.0, radius=radius, shape=k, records=records)
    constant = 1.0 + np.arange(k) / 4
    c = Affine(k, constant=constant, at=[0], entry=[0]) if private_objective else constant
    A = Affine((rows, k), at=(np.arange(k) % rows, np.arange(k)), entry=np.arange(k))
    return ParametricLP(envelope, c=c, A=A, b=np.full(rows, side), upper=1.0)


def best_mechanism(program, start, eps, delta, answers):
    """The best mean value at `start` of any private mechanism with certain answers among those.

    One probability per database of the lattice (radius by radius) and answer; (ε, δ) of adjacent
    databases by Σ_x max(P(x) − e^ε P′(x), 0) ≤ δ.
    """
    envelope = program.envelope
    ends = zip(envelope.lower, envelope.upper, envelope.radius, strict=True)
    lattice = list(itertools.product(*(np.arange(a, b + r / 2, r) for a, b, r in ends)))
    size, count = len(lattice), len(answers)
    feasible = np.array(
        [
            [(program.worst_case_slack(x, lower=t, upper=t) >= 0).all() for x in answers]
            for t in lattice
        ]
    )
    pairs = [
        (i, j)
        for i, j in itertools.permutations(range(size), 2)
        if adjacent(envelope, np.array(lattice[i]), np.array(lattice[j]))
    ]
    first, last = size * count, size * count + len(pairs) * count
    A = sparse.lil_array((len(pairs) * (count + 1), last))
    b = np.zeros(len(pairs) * (count + 1))
    for number, (i, j) in enumerate(pairs):
        for a in range(count):
            row = number * count + a
            A[row, i * count + a] = 1.0
            A[row, j * count + a] = -math.exp(eps)
            A[row, first + row] = -1.0
            A[len(pairs) * count + number, first + row] = 1.0
        b[len(pairs) * count + number] = delta
    one = sparse.hstack(
        [
            sparse.kron(sparse.eye_array(size), np.ones((1, count))),
            sparse.csr_array((size, last - first)),
        ]
    )
    c = np.zeros(last)
    where = next(i for i, theta in enumerate(lattice) if np.array_equal(theta, start))
    c[where * count : (where + 1) * count] = np.array(answers) @ program.c.at(np.array(start))
    upper = np.concatenate([feasible.ravel().astype(float), np.ones(last - first)])
    lp = LinearProgram(c, A.tocsr(), b=b, A_eq=one, b_eq=np.ones(size), upper=upper)
    return solve(lp, certify=False).objective


def adjacent(envelope, one, other):
    moved = one != other
    return (
        np.unique(envelope.records[moved]).size == 1
        and (np.abs(one - other) <= envelope.radius).all()
    )


def grid_of_answers(k, levels):
    return [np.array(x) for x in itertools.product(np.linspace(0.0, 1.0, levels), repeat=k)]


TINY = [
    ("one entry", {"k": 1, "side": 0.5}, [0.0], 3),
    ("one entry in small steps", {"k": 1, "side": 0.5, "radius": 0.25}, [0.25], 5),
    ("two entries", {"k": 2, "side": 0.5}, [0.0, 0.5], 3),
    ("entries that may change to anything", {"k": 2, "side": 0.5, "radius": 1.0}, [0.0, 0.0], 3),
    ("private objective", {"k": 2, "side": 0.5, "private_objective": True}, [0.5, 0.0], 3),
    ("a record of two entries", {"k": 2, "side": 0.5, "records": [0, 0]}, [0.0, 0.0], 3),
    ("two rows", {"k": 2, "side": 0.5, "rows": 2}, [0.0, 0.5], 3),
    (
        "two records of three",
        {"k": 3, "side": 1.0, "records": [0, 0, 1], "radius": 1.0},
        [0] * 3,
        2,
    ),
]


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 0.1), (1.0, 0.01), (2.0, 0.3)])
@pytest.mark.parametrize("case", TINY, ids=[name for name, *_ in TINY])
def test_the_best_mechanism_of_all_does_not_exceed_the_limit(case, eps, delta):
    _, facts, theta, levels = case
    program = knapsack(**facts)
    theta = np.array(theta, dtype=float)
    best = best_mechanism(program, theta, eps, delta, grid_of_answers(theta.size, levels))
    found = certainty_limit(program, Database(theta, program.envelope), budget(eps, delta))
    assert best <= float(found.value) + CLOSE


@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_where_one_entry_may_change_to_anything_a_mechanism_attains_the_limit(eps, delta):
    program = knapsack(1, side=0.5, radius=1.0)
    best = best_mechanism(program, [0.0], eps, delta, [np.array([0.5]), np.array([1.0])])
    found = certainty_limit(program, Database([0.0], program.envelope), budget(eps, delta))
    assert best == pytest.approx(0.5 + 0.5 * delta)
    assert float(found.value) == pytest.approx(best, rel=1e-9)
    assert float(found.suboptimality_percent) == pytest.approx(50 * (1 - delta), rel=1e-9)


def test_at_two_changes_a_mechanism_attains_the_limit():
    program = knapsack(1, side=0.5, radius=0.5)
    answers = [np.array([x]) for x in (0.5, 1.0)]
    best = best_mechanism(program, [0.0], 1.0, 0.05, answers)
    case = Database([0.0], program.envelope)
    found = certainty_limit(program, case, budget(1, 0.05), distances=[2])
    assert best == pytest.approx(0.5 + 0.5 * 0.05 * (1 + math.e))
    assert float(found.value) == pytest.approx(best, rel=1e-9)
    assert found.distances == (2.0,)


def random_case(seed):
    rng = np.random.default_rng(seed)
    program = random_parametric_lp(rng)
    envelope = program.envelope
    return program, Database(rng.uniform(envelope.lower, envelope.upper), envelope)


@pytest.mark.parametrize("seed", range(12))
def test_the_limit_lies_between_the_robust_value_and_the_optimum(seed):
    program, database = random_case(seed)
    found = certainty_limit(program, database, budget(1, 1e-3), neighbours=5)
    true = solve(program.at(database.values), certify=False).objective
    assert float(found.value) <= true * (1 + 1e-12) + CLOSE
    assert float(found.guarded) <= float(found.value)
    robust = program.robust(program.envelope.lower, program.envelope.upper)
    c = np.zeros(robust.num_variables)
    c[: program.num_variables] = program.c.at(database.values)
    assert float(found.value) >= solve(replace(robust, c=c), certify=False).objective - CLOSE
    assert float(found.optimum) <= float(found.value) + float(found.loss) + CLOSE


@pytest.mark.parametrize("seed", range(8))
def test_the_union_bound_is_never_better(seed):
    program, database = random_case(seed)
    for eps, n in ((0.5, (2, 3)), (2.0, (1,))):
        found = certainty_limit(program, database, budget(eps, 0.01), distances=n, neighbours=4)
        spent = sum(float(p) for p in found.probabilities)
        gained = float(found.optimum) - float(found.guarded)
        assert float(found.loss) >= (1 - spent) * gained - 2e-3 * gained - CLOSE


@pytest.mark.parametrize("seed", range(4))
def test_the_limit_never_falls_with_epsilon_or_delta(seed):
    program, database = random_case(seed)
    sizes = [(0.1, 1e-3), (1.0, 1e-3), (1.0, 1e-2), (2.0, 1e-2), (2.0, 0.3), (20.0, 0.5)]
    found = [
        float(certainty_limit(program, database, budget(*size), distances=(1, 2)).value)
        for size in sizes
    ]
    assert all(a <= b + 2e-3 * abs(b) for a, b in itertools.pairwise(found))


def test_a_large_delta_leaves_the_optimum():
    program = knapsack(2, side=1.0, radius=0.5, rows=2)
    database = Database([0.75, 0.75], program.envelope)
    found = certainty_limit(program, database, budget(30, 0.5), distances=[2])
    assert float(found.value) == pytest.approx(2.25)
    assert float(found.loss) == 0.0


def test_a_small_delta_leaves_the_robust_value_where_neighbours_cover_the_envelope():
    program = knapsack(3, side=0.5, radius=1.0)
    database = Database([0.0, 0.0, 0.0], program.envelope)
    found = certainty_limit(program, database, budget(1, 1e-12), distances=[3])
    robust = public_interval(program).robust
    assert float(found.value) == pytest.approx(robust, rel=1e-9)


def test_a_record_moves_with_all_its_entries_in_one_change():
    program = knapsack(3, side=1.0, radius=1.0, records=[0, 0, 1])
    new = harmful_neighbour(program, np.zeros(3), x=np.ones(3), prices=np.ones(1), distance=1)
    assert new is not None
    np.testing.assert_array_equal(new.values, [1.0, 1.0, 0.0])
    assert new.distance == 1


def test_several_changes_may_go_to_one_record():
    program = knapsack(2, side=0.5, radius=0.25)
    x = np.array([1.0, 0.1])
    new = harmful_neighbour(program, np.zeros(2), x=x, prices=np.ones(1), distance=4)
    assert new is not None
    np.testing.assert_array_equal(new.values, [1.0, 0.0])
    assert new.distance == 4


@pytest.mark.parametrize("seed", range(20))
def test_a_neighbour_is_no_further_than_it_says_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    k = 6
    low = rng.uniform(-1, 0, k)
    envelope = Envelope(
        low,
        low + rng.uniform(0.5, 1, k),
        radius=rng.uniform(0.01, 0.3, k),
        records=[0, 0, 1, 2, 2, 3],
    )
    signs = rng.choice([-1.0, 1.0], k)
    A = Affine((1, k), at=(np.zeros(k, int), np.arange(k)), entry=np.arange(k), coefficient=signs)
    program = ParametricLP(envelope, c=np.ones(k), A=A, b=[-50.0], upper=1.0)
    theta = rng.uniform(envelope.lower, envelope.upper)
    x, n = rng.uniform(0, 1, k), int(rng.integers(1, 9))
    new = harmful_neighbour(program, theta, x=x, prices=np.ones(1), distance=n)
    assert new is not None
    assert envelope.contains(new.values)
    steps = np.zeros(4, dtype=int)
    for i in range(k):
        moved = abs(Fraction(new.values[i]) - Fraction(theta[i])) / Fraction(envelope.radius[i])
        steps[envelope.records[i]] = max(steps[envelope.records[i]], math.ceil(moved))
    assert steps.sum() <= new.distance <= n


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_of_a_guarded_program_is_proved_by_the_rows_it_names(seed):
    """In exact arithmetic, no answer feasible for the named databases exceeds it."""
    program, database = random_case(seed)
    rng = np.random.default_rng(seed)
    envelope = program.envelope
    others = [rng.uniform(envelope.lower, envelope.upper) for _ in range(3)]
    case = GuardedProgram(program, database.values, others)
    for ignored in ([], [0], [1, 2], [0, 1, 2]):
        bound, needed = case.upper_bound(ignored)
        assert not set(needed.tolist()) & set(ignored)
        truth = program.at(database.values)
        rows = [truth.A, *(program.A.at(others[j]) for j in needed)]
        sides = [truth.b, *(program.b.at(others[j]) for j in needed)]
        lp = replace(truth, A=sparse.vstack(rows, format="csr"), b=np.concatenate(sides))
        x = solve(lp).x
        value = sum(
            (Fraction(c) * Fraction(v) for c, v in zip(truth.c, x, strict=True)), Fraction(0)
        )
        assert value <= Fraction(bound) + Fraction(1, 2**40)
        assert float(value) == pytest.approx(bound, rel=1e-7)


def small_cmdp():
    """Two states, a hazard in one of them."""
    T = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    r = [[0.0, 0.0], [1.0, 1.0]]
    public = CMDP(T, r, f=np.zeros((1, 2, 2)), f0=[1.0], mu=[1.0, 0.0], gamma=0.5)
    return ParametricCMDP.for_states(
        public, [1], severity=Envelope([0.0], [1.0]), tolerance=Envelope([0.4], [0.6])
    )


def test_a_cmdp_without_bounds_of_its_variables_has_a_limit():
    model = small_cmdp()
    database = Database([0.0, 0.6], model.envelope)
    found = certainty_limit(model, database, budget(1, 0.001))
    assert float(found.optimum) == pytest.approx(1.0)
    assert 0.4 < float(found.value) < 0.61
    assert float(found.loss) > 0.39


@pytest.mark.parametrize("seed", range(3))
def test_rounding_in_the_flow_rows_of_a_cmdp_is_proved_away(seed):
    """Reduced costs that floats leave above 0 meet variables without upper bounds."""
    rng = np.random.default_rng(seed)
    states, actions = 7, 3
    T = rng.dirichlet(np.ones(states), (states, actions))
    public = CMDP(
        T,
        rng.uniform(0, 1, (states, actions)),
        f=np.zeros((1, states, actions)),
        f0=[1.0],
        mu=rng.dirichlet(np.ones(states)),
        gamma=0.93,
    )
    model = ParametricCMDP.for_states(
        public, [1, 4, 5], severity=Envelope(0, 1, shape=3), tolerance=Envelope([9.0], [10.0])
    )
    database = Database([0.2, 0.9, 0.1, 9.7], model.envelope)
    found = certainty_limit(model, database, budget(1, 1e-3))
    true = solve(model.program().at(database.values), certify=False).objective
    assert float(found.optimum) == pytest.approx(true, rel=1e-9)
    assert float(found.guarded) <= float(found.value) <= true * (1 + 1e-9)


def test_a_database_that_no_neighbour_harms_has_its_optimum_as_limit():
    program = knapsack(2, side=1.0)
    found = certainty_limit(program, Database([1.0, 1.0], program.envelope), budget(1, 0.01))
    assert found.distances == found.probabilities == ()
    assert float(found.value) == pytest.approx(float(found.optimum))
    assert float(found.loss) == 0.0


def test_a_program_without_sensitive_rows_has_its_optimum_as_limit():
    envelope = Envelope(0.0, 1.0, shape=1)
    program = ParametricLP(envelope, c=Affine(1, at=[0], entry=[0]), upper=1.0)
    found = certainty_limit(program, Database([0.5], envelope), budget(1, 0.01))
    assert float(found.loss) == 0.0


def test_a_value_that_nothing_bounds_is_refused_in_words():
    envelope = Envelope(0.5, 1.0, shape=1)
    A = Affine((1, 2), at=([0], [0]), entry=[0])
    program = ParametricLP(
        envelope, c=[1 / 3, 0.0], A=A, b=[1.0], lower=-np.inf, A_ub=[[0.0, 1.0]], b_ub=[1.0]
    )
    with pytest.raises(InvalidArgumentError, match="lower, upper"):
        certainty_limit(program, Database([0.7], envelope), budget(1, 0.01))


def test_an_optimum_of_zero_has_no_relative_limit():
    envelope = Envelope(0.0, 1.0, shape=1)
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(envelope, c=[0.0], A=A, b=[0.5], upper=1.0)
    found = certainty_limit(program, Database([0.0], envelope), budget(1, 0.01))
    with pytest.raises(InvalidArgumentError, match="optimum is 0"):
        _ = found.suboptimality_percent


@pytest.mark.parametrize(
    "bad", [{"neighbours": 0}, {"neighbours": 13}, {"distances": []}, {"distances": [0]}]
)
def test_what_cannot_be_looked_for_is_refused(bad):
    program = knapsack()
    with pytest.raises(InvalidArgumentError, match=next(iter(bad))):
        certainty_limit(program, Database([0.5, 0.5], program.envelope), budget(1, 0.01), **bad)


def test_the_limit_cannot_be_published():
    program = knapsack(2, side=0.5)
    found = certainty_limit(program, Database([0.0, 0.5], program.envelope), budget(1, 0.01))
    with pytest.raises(PrivacyLeakError):
        refuse_curator_values(found)
    parts = [*found.distances, *found.probabilities, found.loss, found.suboptimality_percent]
    assert len(parts) > 2
    assert all(isinstance(part, CuratorOnly) for part in parts)


@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.01, 0.5])
@pytest.mark.parametrize("eps", [1e-300, 1e-6, 0.3, 1.0, 40.0, 1e6])
def test_the_chance_of_a_violation_is_the_geometric_sum_rounded_up(eps, delta):
    size = budget(eps, delta)
    found = [violation_chance(size, n) for n in range(6)]
    assert found[0] == 0.0
    assert delta <= found[1] <= delta * (1 + 1e-11)
    for n in range(1, 6):
        powers = [j * eps for j in range(n)]
        if max(powers) < 700:
            total = delta * math.fsum(math.exp(power) for power in powers)
            assert min(total * (1 - 1e-12), 1.0) <= found[n] <= min(total * (1 + 1e-11), 1.0)
        else:
            assert found[n] == 1.0
    assert found == sorted(found)


def test_windows_end_below_the_first_distance_that_promises_nothing():
    envelope = Envelope(0.0, 1.0, radius=1.0, shape=50)
    size = budget(1, 1e-3)
    menus = windows(envelope, size)
    last = max(max(menu) for menu in menus)
    assert violation_chance(size, last) < 1.0 <= violation_chance(size, last + 1)
    assert all(1 <= len(menu) <= 3 for menu in menus)
    few = windows(Envelope(0.0, 1.0, shape=2), size)
    assert max(max(menu) for menu in few) == 2
