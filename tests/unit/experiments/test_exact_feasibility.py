"""The experiment of a million solves: its programs, its integer check, its records."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.experiments.exact_feasibility import (
    BATCH,
    EPSILONS,
    METHODS,
    SINGLES,
    feasibility_rows,
    feasibility_sweep,
    random_batch,
    violated,
)
from dp_cmdp.experiments.records import RecordStore
from dp_cmdp.experiments.runner import run_sweep
from dp_cmdp.program.linear_program import solve


def test_the_integer_check_agrees_with_fractions():
    batch = random_batch(np.random.default_rng(0), 20)
    program, theta = batch.program, [Fraction(v) for v in batch.database.values]
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.uniform(0.0, 2.0, program.num_variables)
        left = [Fraction(0)] * program.b.shape[0]
        for i, j, e, g in zip(*_terms(program.A), strict=True):
            left[i] += Fraction(g) * theta[e] * Fraction(float(x[j]))
        right = [Fraction(v) for v in program.b.constant]
        for i, _, e, h in zip(*_terms(program.b), strict=True):
            right[i] += Fraction(h) * theta[e]
        rows = zip(batch.row_owner, left, right, strict=True)
        expected = {int(owner) for owner, a, b in rows if a > b}
        assert expected
        assert violated(batch, x) == expected


def _terms(part):
    return part.row, part.col, part.entry, part.coefficient


def test_the_integer_check_sees_what_a_solver_calls_feasible():
    """The optimum of the true program, as the engine returns it, breaks many rows by a hair."""
    batch = random_batch(np.random.default_rng(2), 200)
    x = solve(batch.program.at(batch.database.values), certify=False).x
    assert len(violated(batch, x)) > 20
    exact = solve(batch.program.at(batch.database.values)).x
    assert violated(batch, exact) == set()


def test_a_variable_outside_its_bounds_is_a_violation():
    batch = random_batch(np.random.default_rng(3), 5)
    x = np.zeros(batch.program.num_variables)
    assert violated(batch, x) == set()
    x[0] = np.nextafter(4.0, 5.0)
    assert 0 in violated(batch, x)


def test_an_interrupted_run_goes_on_from_its_records(tmp_path):
    sweep = feasibility_sweep(solves=1)
    chunks = sweep.chunks()
    assert len(chunks) == len(METHODS) * len(EPSILONS)
    store = RecordStore(tmp_path / "records.sqlite")
    for chunk in chunks[4:]:  # as if an earlier run had finished these
        store.add(chunk, [{"method": "tight", "solves": 1, "violations": 0, "attempts": 1}])
    store.close()
    frame = run_sweep(sweep, store=tmp_path / "records.sqlite", workers=1)
    total = feasibility_rows(frame)[-1]
    assert total["solves"] == 4 * (BATCH + SINGLES) + len(chunks) - 4
    assert total["violations"] == 0


@pytest.mark.parametrize(("solves", "draws"), [(1, 1), (8160, 1), (8161, 2), (1_000_000, 123)])
def test_at_least_as_many_solves_are_planned_as_asked_for(solves, draws):
    sweep = feasibility_sweep(solves=solves)
    assert sweep.draws == draws
    assert draws * (BATCH + SINGLES) * len(sweep.settings) >= solves
