"""The theorems, on random programs: feasibility is certain, tightening is one-sided."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import Database, PrivacyBudget, TruncatedLaplace, release_blocks, release_database
from dp_cmdp.errors import AssumptionError
from dp_cmdp.program.entrywise import entrywise
from dp_cmdp.release.solve import solve_private
from tests.problems import random_parametric_lp

EPSILONS = ("1/20", "1/2", "1", "4", "20")


def violates(program, values, x) -> bool:
    """Fractions from beginning to end, independent of the package's exact arithmetic."""
    theta = [Fraction(v) for v in values]
    rows = [[Fraction(v) for v in row] for row in program.A.constant.toarray()]
    A = program.A
    for i, j, k, g in zip(A.row, A.col, A.entry, A.coefficient, strict=True):
        rows[i][j] += Fraction(g) * theta[k]
    b = [Fraction(v) for v in program.b.constant]
    for i, k, h in zip(program.b.row, program.b.entry, program.b.coefficient, strict=True):
        b[i] += Fraction(h) * theta[k]
    rows += [[Fraction(v) for v in row] for row in program.A_ub.toarray()]
    b += [Fraction(v) for v in program.b_ub]
    point = [Fraction(v) for v in x]
    inside = all(lo <= v <= hi for lo, v, hi in zip(program.lower, x, program.upper, strict=True))
    sums = [sum((a * v for a, v in zip(row, point, strict=True)), Fraction(0)) for row in rows]
    return not inside or any(s > t for s, t in zip(sums, b, strict=True))


def random_database(program, rng):
    envelope = program.envelope
    share = rng.choice([0.0, 1.0, rng.random()], size=envelope.num_entries)
    values = envelope.lower + share * (envelope.upper - envelope.lower)
    return Database(np.clip(values, envelope.lower, envelope.upper), envelope)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_private_solution_satisfies_the_true_constraints_exactly(epsilon):
    solved = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        program = random_parametric_lp(rng)
        try:
            program.check_robust_feasibility()
        except AssumptionError:
            continue
        database = random_database(program, rng)
        release = release_database(database, PrivacyBudget(epsilon, "1/100"), rng=rng)
        x = solve_private(program, release).x
        assert not violates(program, database.values, x)
        solved += 1
    assert solved > 30


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_algorithm_1_satisfies_the_true_constraints_exactly(epsilon, calibration):
    solved = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 2])
        program = random_parametric_lp(rng)
        try:
            entrywise(program).check_robust_feasibility()
        except AssumptionError:
            continue
        database = random_database(program, rng)
        blocks = [block for block in "Abc" if not getattr(program, block).is_public]
        release = release_blocks(
            database,
            PrivacyBudget(epsilon, "1/100"),
            program=program,
            alphas={block: Fraction(1, len(blocks)) for block in blocks},
            calibration=calibration,
            rng=rng,
        )
        x = solve_private(program, release).x
        assert not violates(program, database.values, x)
        solved += 1
    assert solved > 15


def test_released_intervals_always_contain_the_truth_and_stay_in_the_envelope():
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        program = random_parametric_lp(rng)
        database = random_database(program, rng)
        epsilon = Fraction(EPSILONS[seed % len(EPSILONS)])
        release = release_database(database, PrivacyBudget(epsilon, "1/1000"), rng=rng)
        assert (release.lower <= database.values).all()
        assert (database.values <= release.upper).all()
        assert (release.lower >= program.envelope.lower).all()
        assert (release.upper <= program.envelope.upper).all()


def test_the_superadditivity_bound_of_the_tight_support():
    rng = np.random.default_rng(4)
    for _ in range(300):
        epsilon, delta = rng.uniform(0.05, 20), 10 ** rng.uniform(-8, np.log10(0.5))
        law = TruncatedLaplace.calibrate(1.0, epsilon, delta=delta)
        parts = rng.dirichlet(np.full(int(rng.integers(1, 20)), 0.3))
        assert law.outside_mass(parts).sum() <= delta * (1 + 1e-9)


def test_the_refined_support_keeps_the_mass_of_bounded_moves_below_delta():
    rng = np.random.default_rng(5)
    for _ in range(300):
        epsilon, delta = rng.uniform(0.05, 20), 10 ** rng.uniform(-8, np.log10(0.5))
        m = int(rng.integers(1, 12))
        law = TruncatedLaplace.calibrate(float(m), epsilon, delta=delta, record_size=m)
        moves = rng.random(m) if rng.random() < 0.5 else np.ones(m)
        assert law.outside_mass(moves).sum() <= delta * (1 + 1e-9)
