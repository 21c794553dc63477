"""Answers of linear programs and constrained MDPs: proved from their files, forged ones refused."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dp_cmdp._src.base.documents import write_document
from dp_cmdp._src.checking.verify import Report, verify
from dp_cmdp._src.checking.verify.known import Known, read_multipliers
from dp_cmdp._src.checking.verify.policies import Chain, Moves, PolicyFile
from dp_cmdp._src.checking.verify.reading import Refused
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.program.parametric import ParametricLP
from tests.checking.made import (
    answer,
    answered,
    changed,
    content,
    edits,
    leaves,
    model,
    policy_answer,
    program,
    release,
)

ANSWERS: dict[str, Callable[[], Answer[Any]]] = {
    "linear program": answer,
    "policy from queries": policy_answer,
    "policy from entries": lambda: policy_answer("entries"),
    "policy at a tight limit": lambda: policy_answer("queries", 1.23),
}
#: Members of an answer's file that say how it was found, which no file can prove.
UNPROVABLE = {"bound", "strategy"}


@pytest.fixture(scope="module", params=list(ANSWERS))
def found(request: pytest.FixtureRequest) -> Answer[Any]:
    return ANSWERS[request.param]()


@pytest.fixture
def folder(found: Answer[Any], tmp_path: Path) -> Path:
    return found.save(tmp_path / "answer")


def rewritten(folder: Path, name: str, said: Any) -> Path:
    """A copy of the folder with other content of one file."""
    target = folder.with_name("forged")
    copytree(folder, target, dirs_exist_ok=True)
    kind = {"answer.npz": "answer", "problem.npz": "problem", "release.npz": "release"}[name]
    write_document(target / name, kind, said)
    return target


def refused(report: Report) -> bool:
    return not report


def test_an_honest_answer_is_proved(found: Answer[Any], folder: Path) -> None:
    report = verify(folder, problem=found.problem)
    assert report, report
    assert verify(folder)
    assert verify(found, problem=found.problem)
    assert verify(folder, problem=folder / "problem.npz")
    assert not verify(folder / "answer.npz")


def test_every_edit_of_one_fact_of_an_answer_is_refused(found: Answer[Any], folder: Path) -> None:
    said, tried = content(folder / "answer.npz"), 0
    for place, leaf in leaves(said):
        if UNPROVABLE & set(place):
            continue
        for value in edits(leaf):
            if place[-1] in ("epsilon", "delta") and value == f"{leaf}1":
                continue  # to state more than was spent is no lie
            if place[-1] == "slack" and (np.asarray(value)[: leaf.size] < leaf).any():
                continue  # to state less than is proved is no lie
            if place[-1] == "multipliers" and value.shape == leaf.shape:
                continue  # any multipliers may prove
            if place[-1] == "estimate" and found.certificate.subject == "cost":
                continue  # the value of a policy does not depend on it
            tried += 1
            try:
                forged = rewritten(folder, "answer.npz", changed(said, place, value))
            except (TypeError, ValueError, KeyError):
                continue  # cannot even be written
            if place[-1] == "estimate" and value.shape == leaf.shape and inside(found, value):
                continue  # another estimate within the bounds
            assert refused(verify(forged, problem=found.problem)), (place, value)
    assert tried > 30


def inside(found: Answer[Any], estimate: Any) -> bool:
    theta = found.problem.envelope
    return bool(((theta.lower <= estimate) & (estimate <= theta.upper)).all())


def test_every_part_of_an_answer_is_needed(found: Answer[Any], folder: Path) -> None:
    said = content(folder / "answer.npz")
    for name in said:
        if name not in UNPROVABLE:
            rest = {key: value for key, value in said.items() if key != name}
            assert refused(verify(rewritten(folder, "answer.npz", rest))), name


def test_a_changed_problem_is_not_yours(found: Answer[Any], folder: Path) -> None:
    said, tried = content(folder / "problem.npz"), 0
    for place, leaf in leaves(said):
        for value in list(edits(leaf))[:4]:
            try:
                forged = rewritten(folder, "problem.npz", changed(said, place, value))
            except (TypeError, ValueError, KeyError):
                continue
            tried += 1
            assert refused(verify(forged, problem=found.problem)), (place, value)
    assert tried > 40


def test_a_missing_file_or_another_release_is_refused(found: Answer[Any], folder: Path) -> None:
    other = program().envelope if found.problem is not program() else model().envelope
    target = folder.with_name("swapped")
    for name in ("answer.npz", "problem.npz"):
        copytree(folder, target, dirs_exist_ok=True)
        (target / name).unlink()
        assert refused(verify(target))
    copytree(folder, target, dirs_exist_ok=True)
    swapped = release() if other is program().envelope else policy_answer().release
    swapped.save(target / "release.npz")
    assert refused(verify(target))
    assert refused(verify(folder, problem=other))


def test_what_lies_beside_an_answer_is_judged_or_named(tmp_path: Path) -> None:
    found = policy_answer("queries", 1.23)
    folder = found.save(tmp_path / "answer")
    (folder / "certificate.json").write_text('{"verified": true}')
    found.policy.save(folder / "policy.npz")
    report = verify(folder, problem=found.problem)
    assert report
    assert [f.outcome for f in report if "certificate.json" in f.why] == ["not judged"]
    assert any("policy.npz" in f.subject and f.holds for f in report)
    replace_policy(found).save(folder / "policy.npz")
    assert refused(verify(folder, problem=found.problem))
    assert refused(verify(folder))
    (folder / "policy.npz").write_bytes(b"no document")
    assert refused(verify(folder))


def test_without_its_release_an_answer_must_hold_over_the_whole_envelope(
    found: Answer[Any], folder: Path
) -> None:
    (folder / "release.npz").unlink()
    assert refused(verify(folder))
    robust = found.problem.answer(found.problem.envelope.uncertainty)
    assert verify(robust, problem=found.problem)
    beside = replace(robust, release=found.release, epsilon=found.epsilon, delta=found.delta)
    assert verify(beside, problem=found.problem)


def test_a_decision_a_hair_beyond_what_is_proved_is_refused(folder: Path, found: Any) -> None:
    """The tight row is exceeded by one rounding; a policy plays a costly action a little more."""
    said = content(folder / "answer.npz")
    if "x" in said["decision"]:
        x = said["decision"]["x"]
        grown = np.nextafter(x * (1 + 1e-12), np.inf)
        assert found.certificate.worst_slack < 1e-9
        forged = changed(said, ("decision", "x"), grown)
        report = verify(rewritten(folder, "answer.npz", forged))
        assert refused(report)
        assert "every row holds" in next(f.claim for f in report.failed)
    else:
        table = said["decision"]["probabilities"]
        costly = found.problem.cost.at(found.problem.envelope.upper).toarray().reshape(table.shape)
        worst = np.zeros_like(table)
        worst[np.arange(len(table)), costly.argmax(axis=1)] = 1.0
        said["decision"]["probabilities"] = worst
        assert refused(verify(rewritten(folder, "answer.npz", said)))


def test_multipliers_prove_what_bounds_alone_do_not(tmp_path: Path) -> None:
    """Without them the same decision is refused: they are the proof."""
    folder = answer().save(tmp_path / "answer")
    said = content(folder / "answer.npz")
    none = said["multipliers"] * 0
    assert answer().multipliers.nnz
    assert refused(verify(rewritten(folder, "answer.npz", said | {"multipliers": none})))
    negative = -said["multipliers"]
    assert refused(verify(rewritten(folder, "answer.npz", said | {"multipliers": negative})))


def test_forged_integers_do_not_prove_rows_that_the_honest_ones_do_not(tmp_path: Path) -> None:
    """A release with lower integers is possible, but its answer is not the one of the folder."""
    folder = answer().save(tmp_path / "answer")
    said = content(folder / "release.npz")
    rest = deepcopy(said)
    rest["outcomes"][1]["integers"] = [
        str(int(each) + 10**6) for each in said["outcomes"][1]["integers"]
    ]
    report = verify(rewritten(folder, "release.npz", rest))
    assert refused(report)


# ------------------------------------------------------------------------------------- policies


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.9, 0.999]))
@settings(max_examples=30)
def test_visits_are_certain_and_nearly_exact(seed: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    T = rng.random((states * actions, states)) * (rng.random((states * actions, states)) < 0.5)
    T[:, -1] += 0.05
    T /= T.sum(axis=1, keepdims=True)
    table = rng.random((states, actions)) * (rng.random((states, actions)) < 0.7)
    table[:, 0] += 0.01
    table /= table.sum(axis=1, keepdims=True)
    start = rng.random(states)
    start /= start.sum()
    model = Moves(sparse.csr_array(T), start, Fraction(gamma), table.shape[1])
    chain = Chain.of(model, PolicyFile.read({"probabilities": table}))
    near, exact = chain.visits(), chain.exact_visits()
    assert sum(exact.visits.values()) == 1 / (1 - Fraction(gamma))
    apart = sum(abs(near.visits[s] - exact.visits[s]) for s in exact.visits)
    assert apart <= near.missed <= Fraction(1, 10**40)
    for state, many in exact.visits.items():  # the flow equations, in fractions
        into = sum(
            other * chain.moves[s].get(state, Fraction(0)) for s, other in exact.visits.items()
        )
        assert many == chain.start.get(state, Fraction(0)) + Fraction(gamma) * into


def test_states_that_a_policy_never_reaches_cost_nothing(tmp_path: Path) -> None:
    """A limit of 0 is kept exactly by a policy that stays away from every hazard."""
    from dp_cmdp._src.cmdp.costs import PrivateCost
    from dp_cmdp._src.cmdp.parametric import ParametricCMDP
    from dp_cmdp._src.data.envelope import Envelope

    T = np.zeros((3, 2, 3))
    T[0, 0, 1] = T[0, 1, 2] = T[1, :, 1] = T[2, :, 2] = 1.0
    costs = PrivateCost(states=[2], cost=Envelope(0, 1, radius=0.1), limit=0.0)
    problem = ParametricCMDP(T, np.ones((3, 2)), gamma=0.9, start=0, costs=costs)
    found = problem.answer(problem.envelope.uncertainty)
    assert found.policy.probabilities[0].tolist() == [1.0, 0.0]
    assert verify(found, problem=problem)
    table = np.array([[1.0 - 2.0**-50, 2.0**-50], [1.0, 0.0], [1.0, 0.0]])
    said = content(found.save(tmp_path / "answer") / "answer.npz")
    said["decision"]["probabilities"] = table
    report = verify(rewritten(tmp_path / "answer", "answer.npz", said))
    assert refused(report)
    assert "keeps every limit" in next(f.claim for f in report.failed)


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-11])
def test_answers_of_long_horizons_are_proved(gap: float, tmp_path: Path) -> None:
    """Floats miss visits by (their distributions' and sums' rounding)/(1 − γ)², and no more."""
    from dp_cmdp._src.cmdp.costs import PrivateCost
    from dp_cmdp._src.cmdp.parametric import ParametricCMDP

    rng = np.random.default_rng(0)
    T = rng.random((30, 3, 30)) ** 8
    T /= T.sum(axis=-1, keepdims=True)
    limit = Envelope(0.3 / gap, 0.5 / gap, radius=0.1 / gap)
    costs = PrivateCost(states=[1, 2, 5], cost=Envelope(0, 1, radius=0.1), limit=limit)
    problem = ParametricCMDP(T, rng.random((30, 3)), gamma=1 - gap, start=0, costs=costs)
    found = problem.answer(problem.envelope.uncertainty)
    folder = found.save(tmp_path / "answer")
    assert verify(folder, problem=problem)
    for name in ("value", "weights"):
        said = content(folder / "answer.npz")
        said[name] = said[name] * (1 + 1e-8 + 1e-12 / gap)
        report = verify(rewritten(folder, "answer.npz", said), problem=problem)
        assert [f"its {name}" in finding.claim for finding in report.failed] == [True]


def test_a_policy_file_needs_its_model_and_perhaps_its_release(tmp_path: Path) -> None:
    found = policy_answer("entries")
    policy = found.policy.save(tmp_path / "policy.npz")
    problem = found.problem.save(tmp_path / "model.npz")
    made = found.release.save(tmp_path / "release.npz")
    assert verify(policy, made, problem), verify(policy, made, problem)
    assert verify(policy, made, problem=found.problem)
    for files, missing in (((policy, made), "model"), ((policy, problem), "release")):
        report = verify(*files)
        assert not report
        text = repr(report)
        assert "missing" in text
        assert missing in text
        assert "FAILED" not in text
    robust = found.problem.answer(found.problem.envelope.uncertainty).policy
    assert verify(robust, problem=found.problem)


def test_a_policy_is_proved_by_queries_without_its_answers_multipliers(tmp_path: Path) -> None:
    for limit in (1.5, 1.23):
        found = policy_answer("queries", limit)
        assert found.release.uncertainty.q.size
        policy = found.policy.save(tmp_path / "policy.npz")
        assert verify(policy, found.release, problem=found.problem)
    greedy = replace_policy(found)
    assert refused(verify(greedy, found.release, problem=found.problem))


def replace_policy(found: Any) -> Any:
    """The policy that always takes the action which the answer takes least."""
    table = found.policy.probabilities
    worst = np.zeros_like(table)
    worst[np.arange(len(table)), table.argmin(axis=1)] = 1.0
    return type(found.policy)(worst)


def test_answers_of_the_same_problem_are_not_mixed_up(tmp_path: Path) -> None:
    """The release of one answer under the decision of another."""
    first = policy_answer().save(tmp_path / "first")
    second = answered(model(), policy_answer("entries").release).save(tmp_path / "second")
    mixed = tmp_path / "mixed"
    copytree(first, mixed)
    (mixed / "release.npz").write_bytes((second / "release.npz").read_bytes())
    assert refused(verify(mixed, problem=model()))


def test_a_negative_multiplier_proves_nothing() -> None:
    """With an inequality that is slack, −1 would prove what is false."""
    known = Known([Fraction(0)], [Fraction(1)], [{0: Fraction(1)}], [Fraction(1)])
    with pytest.raises(Refused, match="negative"):
        read_multipliers(sparse.csr_array([[-1.0]]), 1, known)


@pytest.mark.parametrize("factor", [3.0, 49.0, 0.1])
def test_weights_that_cancel_are_those_of_their_decision(factor: float, tmp_path: Path) -> None:
    """An entry on both sides of a binding row weighs nothing but the rounding of its terms."""
    theta = Envelope(1, 2, radius=0.1, shape=1)
    lp = ParametricLP([1.0], A=[[theta[0] * factor]], b=[theta[0]])
    found = lp.answer(theta.uncertainty)
    assert verify(found.save(tmp_path / "answer"), problem=lp)
