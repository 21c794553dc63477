"""What a solution's file proves: every field edited, alone, is found out or is called unproved."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    LinearProgram,
    ParametricLP,
    PrivacyBudget,
    Solution,
    release_blocks,
    release_database,
    solve,
    solve_private,
)
from dp_cmdp._documents import Document, Origin
from dp_cmdp.data.affine import Affine
from dp_cmdp.program.solution_file import SolutionFile
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.verification.files import Report, verify

BUDGET = PrivacyBudget(2, "1/1000")
KINDS = ["database", "blocks", "no release", "totals"]
#: Fields that neither program nor release determine; the report says so, each by its name.
UNPROVED = {"engine": "engine", "margin": "margin", "attempts": "attempts", "dual": "better"}
UNPROVED |= {"dual_eq": "better"}


def mixture(A_eq=((3.0, 1.0, 0.0), (0.1, 0.2, 0.7)), b_eq=(1.0, 1 / 3)) -> ParametricLP:
    envelope = Envelope([0.5, 8.0], [2.0, 12.0], radius=[0.01, 0.05])
    return ParametricLP(
        envelope,
        c=[1.0, 1.0, 0.3],
        A=Affine((1, 3), at=([0, 0], [0, 1]), entry=[0, 0]),
        b=Affine(1, at=[0], entry=[1]),
        A_ub=[[0.3, 0.0, 1.0]],
        b_ub=[50.0],
        A_eq=np.array(A_eq),
        b_eq=np.array(b_eq),
    )


class Case:
    """Files of a program, its release and its solution, of which the last can be rewritten."""

    def __init__(self, folder: Path, kind: str = "database", program: ParametricLP | None = None):
        self.program = program or mixture()
        database = Database([1.0, 10.0], self.program.envelope)
        self.files = [self.program.save(folder / "program.npz")]
        if kind == "no release":
            from dp_cmdp.release.solve import robust_solution

            self.release, self.solution = None, robust_solution(self.program)
        else:
            whole: dict[str, Any] = {"program": self.program}
            self.release = {
                "database": lambda: release_database(database, BUDGET),
                "blocks": lambda: release_blocks(
                    database, BUDGET, alphas={"A": "1/2", "b": "1/2"}, **whole
                ),
                "totals": lambda: release_looks(database, BUDGET, plan=Plan(0), **whole),
            }[kind]()
            self.solution = solve_private(self.program, self.release)
            self.files.append(self.release.save(folder / "release.npz"))
        self.path = folder / "solution.npz"
        origin = Origin.of(self.release, self.program, "mixture")
        self.made = SolutionFile(self.solution, origin).document()
        self.facts: dict[str, Any] = json.loads(json.dumps(self.made.facts))

    def judged(self, facts: Any = None, **arrays: np.ndarray) -> Report:
        content = self.facts if facts is None else facts
        made = Document(self.made.format, content, {**self.made.arrays, **arrays})
        return verify(*self.files, made.write(self.path))

    def changed(self, place: tuple[str, ...], value: Any) -> Report:
        facts = copy.deepcopy(self.facts)
        inner = facts
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        return self.judged(facts)

    def answer(self, made: Solution) -> Report:
        origin = Origin.of(self.release, self.program, "")
        return verify(*self.files, SolutionFile(made, origin).document().write(self.path))


def others(value: Any) -> list[Any]:
    """Other values of a fact: by a hair, by a little, by a lot, of another kind."""
    if isinstance(value, bool):
        return [not value, None, 1, "true"]
    if isinstance(value, int):
        return [value + 1, value - 1, -1, 10**6, str(value), None, True]
    if isinstance(value, float):
        hair = [float(np.nextafter(value, side)) for side in (-np.inf, np.inf)]
        return [*hair, value + 1e-12, 2 * value + 1, -5.0, 1e9, None, str(value), True]
    return [f"{value}x", "", None, 1]


def leaves(content: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(content, dict):
        return [leaf for key, part in content.items() for leaf in leaves(part, (*path, key))]
    return [(path, content)]


def fields(case: Case) -> list[tuple[tuple[str, ...], Any]]:
    return [leaf for leaf in leaves(case.facts) if leaf[0] != ("origin", "name")]


def calls_unproved(report: Report, field: str) -> bool:
    """Nothing that names the field is called proved, and something that does, not provable."""
    named = [found for found in report.findings if UNPROVED[field] in found.claim]
    return bool(named) and all(found.outcome == "not provable" for found in named)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_any_fact_of_a_solution_is_found_out_or_called_unproved(tmp_path, kind):
    case = Case(tmp_path, kind)
    assert case.judged().passed
    seen = set()
    for place, value in fields(case):
        for other in others(value):
            if other is value:
                continue
            report = case.changed(place, other)
            if place == ("objective",) and isinstance(other, float):
                room = 3 * 2.0**-52 * abs(value)
                assert report.passed is (abs(other - value) <= room)
            elif place[-1] not in UNPROVED:
                assert not report.passed, (place, other)
            elif report.passed:
                assert calls_unproved(report, place[-1]), (place, other)
            seen.add(place[-1])
    certificate = {"verified", "worst_slack", "equality_residual", "equality_tolerance"}
    assert seen == certificate | {"margin", "attempts", "objective", "engine", "release", "program"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_moved_number_of_a_point_is_found_out_and_multipliers_prove_nothing(tmp_path, kind):
    case = Case(tmp_path, kind)
    for name in ("x", "dual", "dual_eq"):
        array = np.asarray(case.made.arrays[name])
        for place in range(array.size):
            for other in (array[place] + 1e-8, 2 * array[place] + 7, -array[place] - 1, np.nan):
                moved = np.array(array)
                moved[place] = other
                report = case.judged(**{name: moved})
                if name == "x" or np.isnan(other) or (name == "dual" and other < 0):
                    assert not report.passed, (name, place, other)
                else:
                    assert report.passed
                    assert calls_unproved(report, name)
        for wrong in (array[:-1], np.append(array, 0.0), array[None]):
            assert not case.judged(**{name: wrong}).passed


def test_facts_left_out_of_a_solution_or_added_to_it_are_refused(tmp_path):
    case = Case(tmp_path)
    for inside in (None, "certificate", "origin"):
        content = case.facts if inside is None else case.facts[inside]
        for key in [*content, None]:
            facts = copy.deepcopy(case.facts)
            part = facts if inside is None else facts[inside]
            if key is None:
                part["more"] = 1
            else:
                del part[key]
            assert not case.judged(facts).passed, (inside, key)
    assert not case.changed(("certificate",), None).passed


def test_a_forged_point_with_numbers_to_match_is_found_out(tmp_path):
    """The certificate is made to say what its forger would have it say."""
    case = Case(tmp_path)
    proof = case.solution.certificate
    assert proof is not None
    x = case.solution.x + np.array([0.0, 0.0, 5e-8])
    objective = float(np.array([1.0, 1.0, 0.3]) @ x)
    for residual in (0.0, proof.equality_residual, 1e-9):
        told = replace(proof, equality_residual=residual)
        forged = replace(case.solution, x=x, objective=objective, certificate=told)
        failed = [found.claim for found in case.answer(forged).findings if found.holds is False]
        assert any(claim.startswith("equality rows") for claim in failed)
        assert "its certificate states what is found" in failed


@pytest.mark.parametrize("unit", [1e-9, 1e-30, 1.0])
def test_a_row_with_small_coefficients_cannot_be_missed(tmp_path, unit):
    A_eq = unit * np.array([[1.0, 0.0, 0.0]])
    case = Case(tmp_path, program=mixture(A_eq, 0.25 * unit * np.ones(1)))
    assert case.judged().passed
    for first in (0.0, 2.0, np.nextafter(0.25, 1) + 1e-9):
        x = np.array([first, 0.0, 0.1])
        forged = replace(case.solution, x=x, objective=float(np.array([1.0, 1.0, 0.3]) @ x))
        claims = {found.claim: found.holds for found in case.answer(forged).findings}
        assert [held for claim, held in claims.items() if claim.startswith("equality")] == [False]


def test_the_multipliers_of_either_engine_are_not_negative():
    lp = LinearProgram([1.0, 1.0], [[1.0, 2.0], [5.0, 1.0]], b=[1.0, 9.0], upper=3.0)
    for engine in ("highs", "cvxpy"):
        assert (solve(lp, engine=engine).dual >= 0).all()
