"""The fuzz finds what it is to find: answers that were tampered with are called so, exactly."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.families import FAMILIES, Case
from benchmarks.fuzz.check import check, large_faults, small_faults
from benchmarks.fuzz.exact_model import exact_optimum, exact_worth, float_basis, least_exactly
from benchmarks.fuzz.problem import problem
from benchmarks.fuzz.rational import SingularError, solve_exactly
from benchmarks.fuzz.worker import keys, run
from benchmarks.records import read_lines
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.errors import ConvergenceError, InfeasibleError
from tests.problems import two_ways


@pytest.fixture(scope="module")
def solved():
    model = Case("corridor", 8, 0.9, 2).build()
    return model, solve_cmdp(model, engine="lp")


def test_equations_are_solved_exactly():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        matrix = [[Fraction(int(v), 7) for v in row] for row in rng.integers(-9, 10, (n, n))]
        x = [Fraction(int(v), 3) for v in rng.integers(-9, 10, n)]
        side = [sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0)) for row in matrix]
        assert solve_exactly(matrix, side) == x
    with pytest.raises(SingularError):
        solve_exactly([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]], [Fraction(1)] * 2)


def test_the_exact_optimum_is_the_closed_form():
    model, gamma = two_ways(), Fraction(0.9)
    assert exact_optimum(model) == gamma / (1 - gamma * gamma)


def test_the_exact_optimum_does_not_depend_on_the_basis_it_starts_from(monkeypatch):
    model = Case("ring", 6, 0.9, 2).build()
    best = exact_optimum(model)
    bad = [*range(2, model.r.size, 3), model.r.size, model.r.size + 1]
    assert bad != float_basis(model)
    monkeypatch.setattr("benchmarks.fuzz.exact_model.float_basis", lambda _: bad)
    assert exact_optimum(model) == best


def test_infeasibility_is_decided_exactly():
    model = Case("ring", 8).build()
    least = least_exactly(model, np.ones(1))
    below = float(least) if Fraction(float(least)) < least else np.nextafter(float(least), -np.inf)
    above = np.nextafter(below, np.inf)
    assert exact_optimum(model.with_constraints(model.f, below)) is None
    assert exact_optimum(model.with_constraints(model.f, above)) is not None


def test_an_honest_answer_has_no_fault_and_its_worth_is_exact(solved):
    model, answer = solved
    safe = replace(answer, upper_bound=answer.upper_bound * (1 - 1e-13))  # it is negative
    assert small_faults(model, safe, gap=1e-8) == []
    probs = answer.occupancy / answer.occupancy.sum(axis=1, keepdims=True)
    assert float(exact_worth(model, probs)[0]) == pytest.approx(answer.value, rel=1e-9)


def test_a_bound_one_float_below_the_optimum_is_found(solved):
    model, answer = solved
    optimum = exact_optimum(model)
    assert optimum is not None
    below = float(optimum)
    while Fraction(below) >= optimum:
        below = float(np.nextafter(below, -np.inf))
    faults = small_faults(model, replace(answer, upper_bound=below), gap=1e-8)
    assert any("upper bound below" in fault for fault in faults)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"value": 0.0}, "above the optimum"),
        ({"gap": 1e-3}, "asked for"),
    ],
)
def test_a_false_claim_is_found(solved, change, word):
    model, answer = solved
    false = replace(answer, **change)
    assert any(word in fault for fault in small_faults(model, false, gap=1e-8))
    assert any(word.split()[0] in x for x in large_faults(model, false, answer.value, gap=1e-8))


def test_costs_above_their_tolerances_are_found(solved):
    model, answer = solved
    tighter = model.with_constraints(model.f, model.f0 - 1e-3)
    assert any("exceeds" in fault for fault in small_faults(tighter, answer, gap=1e-8))
    assert any("exceeds" in f for f in large_faults(tighter, answer, answer.value, gap=1e-8))


def test_false_verdicts_and_missing_answers_are_found(solved):
    model, answer = solved
    ray = InfeasibleError("no policy", ray=np.array([0.5, 0.5]), violation=0.1)
    assert any("not prove" in fault for fault in small_faults(model, ray, gap=1e-8))
    assert any("HiGHS finds" in x for x in large_faults(model, ray, answer.value, gap=1e-8))
    late = ConvergenceError("too slow")
    assert any("no answer" in fault for fault in small_faults(model, late, gap=1e-8))
    assert any("no answer" in x for x in large_faults(model, late, answer.value, gap=1e-8))


def test_a_violation_that_is_claimed_too_large_is_found():
    model = Case("corridor", 8, 0.9, 1, "infeasible").build()
    excess = float(least_exactly(model, np.ones(1))) - float(model.f0[0])
    honest = InfeasibleError("", ray=np.ones(1), violation=excess * (1 - 1e-9))
    bold = InfeasibleError("", ray=np.ones(1), violation=excess * (1 + 1e-9))
    assert small_faults(model, honest, gap=1e-8) == []
    assert any("too large" in fault for fault in small_faults(model, bold, gap=1e-8))


def test_keys_cover_every_family_in_both_sizes_and_name_one_problem():
    first = list(keys(10 * len(FAMILIES)))
    assert len(set(first)) == len(first)
    assert {tuple(key.split("/")[:2]) for key in first} == {
        (tier, family) for tier in ("small", "large") for family in FAMILIES
    }
    one, again = problem(first[3]), problem(first[3])
    assert one.words == again.words
    assert np.array_equal(one.model.f0, again.model.f0)


def test_every_kind_of_problem_occurs():
    words = " ".join(problem(f"small/tree/{n}").words for n in range(80))
    for word in ("brink", "redundant", "infeasible", "scaled", "signed", "pool", "auto", "K=5"):
        assert word in words


def test_a_run_that_was_stopped_goes_on(tmp_path):
    path = tmp_path / "fuzz.jsonl"
    run(3, path, quiet=True)
    first = path.read_text(encoding="utf-8")
    path.write_text(first + '{"key": "small/op', encoding="utf-8")  # killed while it wrote
    lines = run(5, path, quiet=True)
    assert [line["key"] for line in lines] == list(keys(5))
    assert path.read_text(encoding="utf-8").startswith(first)
    assert read_lines(path) == lines


def test_a_problem_that_takes_too_long_is_a_fault_and_the_next_is_served(tmp_path):
    lines = run(2, tmp_path / "fuzz.jsonl", limit=0.01, quiet=True)
    assert [line["faults"] for line in lines] == [["more than 0.01 s"]] * 2


def test_a_key_can_be_checked_alone():
    assert check("large/tree/4").key == "large/tree/4"
