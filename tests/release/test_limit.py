"""The limit of an instance, against the best mechanism of all on tiny programs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import dp_cmdp as dp
from dp_cmdp._src.advice.limit import (
    _Case,
    _Guarded,
    distances,
    harmful_neighbour,
    largest_mean,
    violation_chance,
    windows,
)

CLOSE = 1e-9


def knapsack(
    k: int = 2,
    *,
    side: float = 1.0,
    private_objective: bool = False,
    rows: int = 1,
    **envelope: Any,
) -> Any:
    """maximise Σ(1 + j/4)x_j subject to Σθ_j x_j ≤ side per row of entries, 0 ≤ x ≤ 1."""
    theta = dp.Envelope(0.0, 1.0, shape=k, **{"radius": 0.5, **envelope})
    worth: Any = 1.0 + np.arange(k) / 4
    if private_objective:
        worth = theta[:] * np.eye(1, k).ravel() + worth
    A = dp.Affine.sparse(theta[:], (np.arange(k) % rows, np.arange(k)), (rows, k))
    return dp.ParametricLP(maximize=worth, A=A, b=np.full(rows, side), upper=1.0)


def limit_of(program: Any, theta: Any, eps: float, delta: float, **how: Any) -> float:
    """The bound of the mean value, the least over all windows of distances."""
    budget = dp.PrivacyBudget(eps, delta)
    case = _Case(program, np.asarray(theta, dtype=float), budget)
    menus = how.get("menus") or windows(program.envelope, budget)
    return min(case.limit(menu, 8)[0] for menu in menus)


def limit_of_many(program: Any, theta: Any, eps: float, delta: float) -> float:
    budget = dp.PrivacyBudget(eps, delta)
    case = _Case(program, np.asarray(theta, dtype=float), budget)
    return min(map(case.limit_of_many, distances(program.envelope, budget)))


def adjacent(envelope: Any, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether one record explains the difference."""
    moved = np.abs(one - other)
    for row in envelope.change.toarray():
        within = (moved <= row + 1e-12).all()
        few = (
            envelope.entries_per_record is None or (moved > 0).sum() <= envelope.entries_per_record
        )
        if moved.any() and within and few:
            return True
    return False


def best_mechanism(
    program: Any, start: np.ndarray, eps: float, delta: float, answers: list[np.ndarray]
) -> float:
    """The best mean value at `start` of any private mechanism with certain answers among those.

    One probability per database of the lattice (radius by radius) and answer; (ε, δ) of adjacent
    databases by Σ_x max(P(x) − e^ε P′(x), 0) ≤ δ.
    """
    envelope = program.envelope
    ends = zip(envelope.lower, envelope.upper, envelope.radius, strict=True)
    lattice = list(itertools.product(*(np.arange(a, b + r / 2, r) for a, b, r in ends)))
    size, count = len(lattice), len(answers)
    feasible = [
        [bool((program.A.at(np.array(t)) @ x <= program.b.at(np.array(t))).all()) for x in answers]
        for t in lattice
    ]
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
    ones = sparse.kron(sparse.eye_array(size), np.ones((1, count)))
    one = sparse.hstack([ones, sparse.csr_array((size, last - first))])
    c = np.zeros(last)
    where = next(i for i, theta in enumerate(lattice) if np.array_equal(theta, start))
    worth = program.objective.at(np.array(start))
    c[where * count : (where + 1) * count] = np.array(answers) @ worth
    upper = np.concatenate([np.array(feasible).ravel().astype(float), np.ones(last - first)])
    bounds = np.stack([np.zeros(last), upper], axis=1)
    engine: Any = linprog
    found = engine(-c, A_ub=A.tocsr(), b_ub=b, A_eq=one, b_eq=np.ones(size), bounds=bounds)
    assert found.status == 0
    return -found.fun


def grid_of_answers(k: int, levels: int) -> list[np.ndarray]:
    return [np.array(x) for x in itertools.product(np.linspace(0.0, 1.0, levels), repeat=k)]


TINY: dict[str, Any] = {
    "one entry": ({"k": 1, "side": 0.5}, [0.0], 3),
    "one entry in small steps": ({"k": 1, "side": 0.5, "radius": 0.25}, [0.25], 5),
    "two entries": ({"k": 2, "side": 0.5}, [0.0, 0.5], 3),
    "entries that may change to anything": ({"k": 2, "side": 0.5, "radius": 1.0}, [0.0, 0.0], 3),
    "private objective": ({"k": 2, "side": 0.5, "private_objective": True}, [0.5, 0.0], 3),
    "a record of two entries": ({"k": 2, "side": 0.5, "records": [0, 0]}, [0.0, 0.0], 3),
    "two rows": ({"k": 2, "side": 0.5, "rows": 2}, [0.0, 0.5], 3),
    "two records of three": (
        {"k": 3, "side": 1.0, "records": [0, 0, 1], "radius": 1.0},
        [0.0, 0.0, 0.0],
        2,
    ),
    "two of three at once": (
        {"k": 3, "side": 1.0, "entries_per_record": 2, "radius": 1.0},
        [0.0, 0.0, 0.0],
        2,
    ),
    "overlapping people": (
        {"k": 3, "side": 1.0, "change": [[1, 1, 0], [0, 1, 1]], "radius": None},
        [0.0, 0.0, 0.0],
        2,
    ),
}


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 0.1), (1.0, 0.01), (2.0, 0.3)])
@pytest.mark.parametrize("case", TINY)
def test_the_best_mechanism_of_all_does_not_exceed_the_limit(
    case: str, eps: float, delta: float
) -> None:
    how, start, levels = TINY[case]
    program, theta = knapsack(**how), np.array(start)
    best = best_mechanism(program, theta, eps, delta, grid_of_answers(theta.size, levels))
    assert best <= limit_of(program, theta, eps, delta) + CLOSE
    assert best <= limit_of_many(program, theta, eps, delta) + CLOSE


@pytest.mark.parametrize(("eps", "delta"), [(1.0, 0.01), (0.5, 0.05)])
@pytest.mark.parametrize(
    ("how", "start", "levels"),
    [
        ({"k": 2}, [0.0, 0.0], 13),
        ({"k": 2, "rows": 2}, [0.0, 0.5], 13),
        ({"k": 2, "records": [0, 0]}, [0.5, 0.5], 13),
        ({"k": 2, "records": [0, 0], "rows": 2}, [0.0, 0.0], 13),
        ({"k": 3, "records": [0, 0, 1]}, [0.5, 0.5, 0.5], 5),
    ],
    ids=str,
)
def test_the_best_mechanism_of_all_loses_no_more_than_a_tenth_more(
    how: dict[str, Any], start: list[float], levels: int, eps: float, delta: float
) -> None:
    program = knapsack(side=0.5, **how)
    answers = grid_of_answers(len(start), levels)
    top = dp.answer(program.at(start)).value
    least = dp.curator.limit(program, start, epsilon=eps, delta=delta) * top
    loss = top - best_mechanism(program, np.array(start), eps, delta, answers)
    assert least - CLOSE <= loss <= 1.1 * least


def test_many_rows_need_many_neighbours() -> None:
    """Twenty shifts, each with a private demand: eight neighbours see half of what is lost."""
    rng = np.random.default_rng(0)
    covers = (rng.random((20, 30)) < 0.3).astype(float)
    covers[np.arange(20), rng.integers(0, 30, 20)] = 1.0
    demand = dp.Envelope(1, 3, radius=0.05, shape=20)
    program = dp.ParametricLP(minimize=rng.uniform(1, 2, 30), A=-covers, b=-demand[:], upper=10)
    theta = rng.uniform(1.2, 2.8, 20)
    best = dp.answer(program.at(theta)).value
    few, many = (-best - bound(program, theta, 1.0, 1e-3) for bound in (limit_of, limit_of_many))
    assert many > 2 * few > 0
    least = dp.curator.limit(program, theta, epsilon=1, delta=1e-3)
    assert least == pytest.approx(many / best, rel=1e-9)


@pytest.mark.parametrize("eps", [0.5, 2.0])
@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_where_one_entry_may_change_to_anything_a_mechanism_attains_the_limit(
    eps: float, delta: float
) -> None:
    program = knapsack(1, side=0.5, radius=1.0)
    best = best_mechanism(program, np.zeros(1), eps, delta, grid_of_answers(1, 3)[1:])
    assert best == pytest.approx(0.5 + 0.5 * delta)
    assert limit_of(program, [0.0], eps, delta) == pytest.approx(best, rel=1e-9)
    lost = dp.curator.limit(program, [0.0], epsilon=eps, delta=delta)
    assert lost == pytest.approx(0.5 * (1 - delta), rel=1e-9)


def test_at_two_changes_a_mechanism_attains_the_limit() -> None:
    program = knapsack(1, side=0.5, radius=0.5)
    best = best_mechanism(program, np.zeros(1), 1.0, 0.05, grid_of_answers(1, 3)[1:])
    assert best == pytest.approx(0.5 + 0.5 * 0.05 * (1 + math.e))
    assert limit_of(program, [0.0], 1.0, 0.05, menus=[(2,)]) == pytest.approx(best, rel=1e-9)


def random_case(seed: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows, n = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    theta = dp.Envelope(0, rng.uniform(0.5, 1, rows * n), radius=rng.uniform(0.05, 0.5, rows * n))
    program = dp.ParametricLP(
        maximize=rng.uniform(0.5, 1, n),
        A=theta[:].reshape(rows, n),
        b=rng.uniform(0.5, 1.5, rows),
        upper=1,
    )
    return program, rng.uniform(0, theta.upper)


@pytest.mark.parametrize("seed", range(6))
def test_the_limit_lies_between_the_robust_value_and_the_optimum(seed: int) -> None:
    program, theta = random_case(seed)
    found = limit_of(program, theta, 1.0, 1e-3)
    best = dp.answer(program.at(theta)).value
    robust = program.value(dp.answer(program).x, theta)
    assert robust - CLOSE <= found <= best * (1 + 1e-12) + CLOSE
    loss = dp.curator.limit(program, theta, epsilon=1, delta=1e-3)
    assert 0 <= loss <= 1 - robust / best + CLOSE


@pytest.mark.parametrize("seed", range(4))
def test_no_strategy_loses_less_on_average(seed: int) -> None:
    program, theta = random_case(seed)
    least = dp.curator.limit(program, theta, epsilon=1, delta=1e-3)
    for strategy in ("entries", "queries"):
        runs = dp.simulate(program, theta, epsilon=1, delta=1e-3, strategy=strategy, draws=20)
        loss: Any = runs.to_frame()["loss"]
        assert least <= loss.mean() + 3 * loss.sem() + CLOSE


@pytest.mark.parametrize("seed", range(3))
def test_the_limit_never_falls_with_epsilon_or_delta(seed: int) -> None:
    program, theta = random_case(seed)
    sizes = [(0.1, 1e-3), (1.0, 1e-3), (1.0, 1e-2), (2.0, 1e-2), (2.0, 0.3)]
    found = [limit_of(program, theta, *size, menus=[(1, 2)]) for size in sizes]
    assert all(a <= b + 2e-3 * abs(b) for a, b in itertools.pairwise(found))


def test_chances_are_rounded_up_and_end_at_one() -> None:
    budget = dp.PrivacyBudget(1, "1/1000")
    exact = [1e-3 * math.expm1(n) / math.expm1(1) for n in range(1, 6)]
    found = [violation_chance(budget, n) for n in range(1, 6)]
    assert found == pytest.approx(exact, rel=1e-9)
    assert all(a <= b for a, b in zip(exact, found, strict=True))
    assert violation_chance(budget, 500) == 1.0


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["records", "people", "two at once"])
def test_a_neighbour_is_no_further_than_it_says_in_exact_arithmetic(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    k, n = 6, int(rng.integers(1, 9))
    low = rng.uniform(-1, 0, k)
    high = low + rng.uniform(0.5, 1, k)
    radius = rng.uniform(0.01, 0.3, k)
    how: dict[str, Any] = {
        "records": {"radius": radius, "records": [0, 0, 1, 2, 2, 3]},
        "people": {"change": rng.uniform(0.01, 0.2, (4, k)) * (rng.random((4, k)) < 0.6) + 1e-3},
        "two at once": {"radius": radius, "entries_per_record": 2},
    }[kind]
    envelope = dp.Envelope(low, high, **how)
    theta = rng.uniform(low, high)
    harm = rng.standard_normal(k)
    moved, changes = harmful_neighbour(envelope, theta, harm, n)
    assert moved in envelope.uncertainty
    assert changes <= n
    change = [[Fraction(c) for c in row] for row in envelope.change.toarray().tolist()]
    most = envelope.entries_per_record or k
    # what `changes` changes allow, spent on the entries in any way
    exact = [abs(Fraction(a) - Fraction(b)) for a, b in zip(moved, theta, strict=True)]
    for entry, far in enumerate(exact):
        assert far <= changes * max(row[entry] for row in change)
    steps = sum(math.ceil(far / max(row[e] for row in change)) for e, far in enumerate(exact))
    owned = max(sum(c > 0 for c in row) for row in change)
    assert steps <= changes * min(most, owned)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_guarded_rows_is_proved_by_the_databases_it_names(seed: int) -> None:
    """No answer that is feasible for them and the truth exceeds it."""
    program, theta = random_case(seed)
    rng = np.random.default_rng(seed)
    others = [rng.uniform(0, program.envelope.upper) for _ in range(3)]
    case = _Guarded(program, theta, others)
    for ignored in ((), (0,), (1, 2)):
        bound, named = case.upper_bound(ignored)
        assert not set(named) & set(ignored)
        kept = [theta, *(others[int(j)] for j in named)]
        A = np.vstack([program.A.at(part).toarray() for part in kept])
        b = np.concatenate([program.b.at(part) for part in kept])
        c = program.objective.at(theta)
        best: Any = linprog(-c, A_ub=A, b_ub=b, bounds=(0, 1))
        assert -best.fun <= bound + CLOSE
        assert bound <= -best.fun + 1e-6


def test_values_of_sets_are_bounded_by_sets_that_prove_them() -> None:
    program, theta = random_case(1)
    upper = program.envelope.upper
    others = [np.clip(theta + part, 0, upper) for part in (0.05, 0.1, 0.2)]
    case = _Guarded(program, theta, others)
    value, guarded = largest_mean(case, np.array([0.001, 0.01, 0.1]))
    assert guarded <= value <= case.upper_bound((0, 1, 2))[0]


def test_models_have_limits_too() -> None:
    cost = dp.PrivateCost(
        states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=dp.Envelope(4, 6, radius=0.1)
    )
    T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    model = dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=cost)
    least = dp.curator.limit(model, [0.6, 5], epsilon=1, delta=1e-3)
    runs = dp.simulate(model, [0.6, 5], epsilon=1, delta=1e-3, draws=6)
    assert 0 < least <= runs.to_frame()["loss"].mean()


def test_the_limit_of_an_episode_is_that_of_the_program_with_a_copy_of_every_step() -> None:
    H, n, A = 4, 3, 2
    rng = np.random.default_rng(0)
    T, r = rng.dirichlet(np.ones(n), (n, A)), rng.uniform(0, 1, (n, A))
    r[1] += 1.0
    theta = dp.Envelope(0, 1, radius=0.05, shape=2)

    def costs(copies: int, states: int) -> Any:
        t, s, a = (part.ravel() for part in np.indices((copies, 2, A)))
        return dp.PrivateCost(dp.Affine.sparse(theta[s], (t * n + s, a), (states, A)), limit=1.2)

    model = dp.ParametricCMDP(T, r, horizon=H, start=np.full(n, 1.0 / n), costs=costs(1, n))
    steps, earned = np.zeros((n * H + 1, A, n * H + 1)), np.zeros((n * H + 1, A))
    for t in range(H):  # state s at step t is t·n + s, and the last one is the end
        here = slice(t * n, (t + 1) * n)
        earned[here] = r
        if t + 1 < H:
            steps[here, :, (t + 1) * n : (t + 2) * n] = T
    steps[(H - 1) * n :, :, -1] = 1.0
    start = np.repeat([1.0 / n, 0.0], [n, n * (H - 1) + 1])
    unrolled = dp.ParametricCMDP(steps, earned, total=True, start=start, costs=costs(H, n * H + 1))
    for budget in ({"epsilon": 1, "delta": 1e-3}, {"epsilon": 4, "delta": 1e-3}):
        asked: dict[str, Any] = budget
        least, same = (dp.curator.limit(case, [0.5, 0.4], **asked) for case in (model, unrolled))
        assert least == pytest.approx(same, rel=1e-3, abs=1e-5)
        assert least > 1e-3
