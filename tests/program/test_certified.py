"""Certificates: what can be satisfied exactly is, equalities to rounding, and refusals are true."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp._src.base.errors import InfeasibleError, SolverError
from dp_cmdp._src.program.certified import (
    EQUALITY_TOLERANCE,
    equality_residuals,
    solve_certified,
)
from tests.program.programs import linear

ROUNDING_LEVEL = 1e-15


def exact_rows(matrix, x):
    """Products of a matrix and a point, as fractions."""
    point = [Fraction(v) for v in x]
    return [
        sum((Fraction(a) * v for a, v in zip(row, point, strict=True)), Fraction(0))
        for row in matrix.toarray().tolist()
    ]


def holds_exactly(lp, x):
    rows = exact_rows(lp.A, x)
    inside = all(lo <= v <= hi for lo, v, hi in zip(lp.lower, x, lp.upper, strict=True))
    return inside and all(s <= Fraction(b) for s, b in zip(rows, lp.b.tolist(), strict=True))


def residual(lp, x):
    """The largest residual of the equality rows relative to their own terms, in fractions."""
    worst, point = Fraction(0), [Fraction(v) for v in x]
    for row, b in zip(lp.A_eq.toarray().tolist(), lp.b_eq.tolist(), strict=True):
        terms = [Fraction(a) * v for a, v in zip(row, point, strict=True)] + [-Fraction(b)]
        worst = max(worst, abs(sum(terms)) / (sum(map(abs, terms)) or 1))
    return float(worst)


def chain(length, start, *, step=1 / 3):
    """x_0 ≤ start, x_i ≤ step · x_{i−1}: right-hand sides 0, values that fall to nothing."""
    A = np.eye(length) - step * np.eye(length, k=-1)
    return linear(np.ones(length), A, b=np.append(start, np.zeros(length - 1)))


def tiny_mixture(seed, size):
    """Rows with b = 0 that tie variables near 1e-9 to variables near 1."""
    rng = np.random.default_rng(seed)
    n = size // 2
    ties = np.hstack([np.eye(n) * rng.uniform(0.5, 2.0, n), -1e-9 * rng.uniform(0.1, 1.0, (n, n))])
    limits = np.hstack([np.zeros((n, n)), rng.uniform(0.1, 1.0, (n, n))])
    return linear(
        np.concatenate([1e9 * np.ones(n), rng.uniform(0.5, 1.0, n)]),
        np.vstack([ties, limits]),
        b=np.concatenate([np.zeros(n), rng.uniform(1.0, 2.0, n)]),
    )


def units(seed, spread):
    """A program with interior in awkward units: variables of sizes 10^±spread."""
    rng = np.random.default_rng(seed)
    n, m = 8, 14
    rows, columns = 10.0 ** rng.uniform(-6, 6, m), 10.0 ** rng.uniform(-spread, spread, n)
    inside = rng.uniform(0.1, 1.0, n) / columns
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5) * rows[:, None] * columns
    A_eq = rng.normal(size=(3, n)) * columns
    size = np.abs(A) @ inside
    return linear(
        rng.normal(size=n) * columns,
        A,
        b=A @ inside + size * 10.0 ** rng.uniform(-8, 0, m),
        A_eq=A_eq,
        b_eq=A_eq @ inside,
        upper=10.0 * inside,
    )


def balance(size, scale):
    """Flow around a ring with losses, fed at one place: equality rows and free variables."""
    ring = np.eye(size) - np.diag(np.full(size - 1, 1 / 3), k=-1)
    ring[0, -1] = -0.1
    feed = np.zeros(size)
    feed[0] = scale
    return linear(
        np.ones(size + 1),
        np.append(np.full(size, 1 / 7), 1.0)[None],
        b=[scale],
        A_eq=np.hstack([ring, np.zeros((size, 1))]),
        b_eq=feed,
        lower=np.append(np.full(size, -np.inf), 0.0),
    )


STRUCTURES = {
    **{f"chain {n} from {start:g}": chain(n, start) for n in (5, 40) for start in (1e-9, 1.0)},
    **{f"tiny mixture {seed}": tiny_mixture(seed, 20) for seed in range(4)},
    **{f"units {spread}, {seed}": units(seed, spread) for spread in (1, 3, 5) for seed in range(6)},
    **{f"balance of {scale:g}": balance(12, scale) for scale in (1e-9, 1.0, 1e6)},
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_programs_with_interior_are_certified_and_their_equalities_hold_to_rounding(name):
    lp = STRUCTURES[name]
    solution = solve_certified(lp)
    assert holds_exactly(lp, solution.x)
    assert residual(lp, solution.x) <= ROUNDING_LEVEL
    assert solution.worst_eq == pytest.approx(residual(lp, solution.x), rel=1e-9)


def test_one_representable_point_is_found_though_nothing_surrounds_it():
    # x = 1 and y = 0 are forced by pairs of inequalities; z has an interior
    lp = linear(
        [1.0, 1.0, 1.0],
        [[3.0, 0, 0], [-3.0, 0, 0], [0, 1 / 3, 0], [0, -0.1, 0], [0.1, 0.2, 1 / 3]],
        b=[3.0, -3.0, 0.0, 0.0, 0.7],
        lower=-np.inf,
    )
    solution = solve_certified(lp)
    assert solution.x[:2].tolist() == [1.0, 0.0]
    assert holds_exactly(lp, solution.x)


def test_rows_without_interior_are_called_so_and_no_others():
    lp = linear([1.0], [[1 / 3], [-1 / 3]], b=[0.1, -0.1])
    with pytest.raises(SolverError, match="no interior") as caught:
        solve_certified(lp)
    assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("gap", [1e-10, 1e-12])
def test_rows_that_contradict_each_other_below_the_solvers_tolerance_are_infeasible(gap):
    lp = linear([1.0], [[1 / 3], [-1 / 3]], b=[0.1, -0.1 - gap])
    with pytest.raises(InfeasibleError, match="contradict each other"):
        solve_certified(lp)


def test_representable_equalities_hold_exactly_and_others_are_reported():
    whole = solve_certified(linear([1.0, 2.0], A_eq=[[1.0, 3.0]], b_eq=[7.0], upper=4.0))
    assert whole.worst_eq == 0.0
    third = solve_certified(linear([1.0], A_eq=[[3.0]], b_eq=[1.0]))
    assert 0.0 < third.worst_eq <= ROUNDING_LEVEL


#: Below the solver's tolerance at any of these sizes: an equality row against …
SIZES = [1e-6, 1e-9, 1e-10, 1e-12, 1e-15, 1e-30, 1e-200]


def against_an_inequality(size):
    return linear([1.0], [[1.0]], b=[0.0], A_eq=[[1.0]], b_eq=[size])


def against_a_bound(size):
    return linear([1.0, 0.0], A_eq=[[1e-9, 1.0]], b_eq=[size], upper=0.0)


def against_an_equality(size):
    return linear([1.0], A_eq=[[1.0], [3.0]], b_eq=[size, 2.0 * size])


def against_a_small_equality(size):
    """x = y and y = size · z, both with right-hand side 0, while z ≥ 1 and x ≤ size/2."""
    A_eq = [[1.0, -1.0, 0.0], [0.0, 1.0, -size]]
    upper = [size / 2, np.inf, np.inf]
    return linear([0, 0, -1], A_eq=A_eq, b_eq=[0, 0], lower=[0, 0, 1], upper=upper)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "program",
    [against_an_inequality, against_a_bound, against_an_equality, against_a_small_equality],
)
def test_equality_rows_in_contradiction_are_infeasible_however_small_they_are(program, size):
    with pytest.raises(InfeasibleError):
        solve_certified(program(size))


@pytest.mark.parametrize("size", SIZES)
def test_small_equality_rows_hold_to_their_own_rounding(size):
    """Rows and values that are small beside everything else are not excused for it."""
    for lp in (
        linear([1.0, 0.0], A_eq=[[1e-9, 1e-9 / 3]], b_eq=[size]),
        linear([-1.0, 0], A_eq=[[1, -1 / 3]], b_eq=[0], lower=[0, size], upper=1.0),
        linear([1.0, 1.0], A_eq=[[3, 0], [1 / 3, 0.1]], b_eq=[size, 1], lower=-np.inf),
    ):
        solution = solve_certified(lp)
        assert residual(lp, solution.x) <= ROUNDING_LEVEL
        assert solution.worst_eq <= EQUALITY_TOLERANCE


def test_a_residual_above_the_tolerance_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr("dp_cmdp._src.program.certified.MAX_ATTEMPTS", 1)
    monkeypatch.setattr("dp_cmdp._src.program.certified.EQUALITY_TOLERANCE", 1e-20)
    lp = linear([1.0], A_eq=[[3.0]], b_eq=[1.0])
    with pytest.raises(SolverError, match="misses") as caught:
        solve_certified(lp)
    assert not isinstance(caught.value, InfeasibleError)


def test_the_relative_residual_is_that_of_the_exact_rows():
    lp = linear(
        np.zeros(2),
        A_eq=[[1e-9, 0], [1, -1], [0, 0], [1e300, 0], [5e-324, 0], [1, 1], [1e300, 1e300]],
        b_eq=[1e-9, 0, 0, 0, 0, 1.0, -1e300],
        lower=-np.inf,
    )
    for x in ((1.0, 1.0), (0.0, 50.0), (1e-300, 0.1), (1e300, 1e300)):
        gap, share = equality_residuals(lp.A_eq, lp.b_eq, np.array(x))
        assert share.max() == pytest.approx(residual(lp, x), rel=1e-12)
        exact = exact_rows(lp.A_eq, x)
        held = [a == Fraction(b) for a, b in zip(exact, lp.b_eq.tolist(), strict=True)]
        assert (share == 0.0).tolist() == held
        assert (gap == 0.0).tolist() == held


def awkward_programs():
    """Programs of several shapes: tight rows, slack rows, equalities that floats do not meet."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m, q = rng.integers(3, 12), rng.integers(3, 30), rng.integers(0, 3)
        A, A_eq, x = rng.normal(size=(m, n)), rng.normal(size=(q, n)), rng.uniform(1, 2, n)
        unit = 10.0 ** rng.integers(-4, 5, m)
        yield linear(
            rng.normal(size=n),
            A * unit[:, None],
            b=(A @ x + rng.uniform(0.01, 1.0, m)) * unit,
            A_eq=A_eq,
            b_eq=A_eq @ x,
            upper=1e6,
        )
    yield tiny_mixture(1, 12)
    yield chain(9, 1 / 3)


@pytest.mark.parametrize("number", range(14))
def test_what_floats_decided_in_a_certificate_is_what_fractions_say(number):
    lp = list(awkward_programs())[number]
    answer = solve_certified(lp)
    rows = exact_rows(lp.A, answer.x.tolist())
    least = min(Fraction(b) - row for b, row in zip(lp.b.tolist(), rows, strict=True))
    assert answer.slack.min() == float(least)
    assert least >= 0
    assert answer.worst_eq == equality_residuals(lp.A_eq, lp.b_eq, answer.x)[1].max(initial=0.0)
    assert answer.worst_eq == pytest.approx(residual(lp, answer.x.tolist()), rel=1e-15)
