"""What the verbs promise: of what they return, of what they say, and of each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dp_cmdp as dp

ASKED: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}
VALUES = [1.1, 1.2, 1.5, 10]
STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "entries", "queries", "worst row"])


def program(*, private_objective: bool = False, minimize: bool = False) -> Any:
    """Two variables, two prices and a limit; their worth is public, or an entry each."""
    theta = dp.Envelope([0.5, 0.5, 0.5, 8], [2, 2, 2, 12], radius=[0.05, 0.05, 0.05, 0.5])
    worth: Any = [theta[1], theta[2]] if private_objective else [3, 2]
    if minimize:
        return dp.ParametricLP(minimize=worth, A=-np.eye(2), b=-theta[:2], upper=6)
    return dp.ParametricLP(maximize=worth, A=[[theta[0], theta[1]]], b=[theta[3]], upper=6)


def grid() -> Any:
    cost = dp.PrivateCost(states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=5.0)
    T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    return dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=cost)


CASES = {
    "program": (program(), VALUES),
    "private objective": (program(private_objective=True), VALUES),
    "minimised": (program(minimize=True), VALUES),
    "model": (grid(), [0.7]),
}


#: Sums of a few products, and a system of two states of condition 1 / (1 - gamma) = 10, in another
#: order: fewer than 1,000 roundings of 1.1e-16 each.
ROUNDING = 1e-12


@pytest.mark.parametrize("case", CASES)
@STRATEGIES
def test_an_answer_is_safe_and_says_what_it_is_worth(case: str, strategy: str) -> None:
    problem, values = CASES[case]
    found = dp.solve(problem, values, **ASKED, strategy=strategy)
    assert found.certificate
    for answer in (found, found.robust):
        stated = pytest.approx(answer.value, rel=ROUNDING)
        assert problem.value(answer.decision, found.estimate) == stated
    sense = -1 if case == "minimised" else 1
    assert sense * found.value >= sense * found.robust.value
    assert sense * found.bound >= sense * found.value
    against = dp.curator.compare(found, values)
    assert against.violated == 0
    assert 0 <= against.loss < 1
    assert (found.epsilon, float(found.delta)) == (1, 0.001)
    kinds = ("entries", "queries", "worst row", "best queries")
    assert found.strategy.name.split("(")[0] in kinds


@STRATEGIES
def test_an_answer_can_be_found_again_from_its_release(strategy: str, tmp_path: Path) -> None:
    problem = program()
    found = dp.solve(problem, VALUES, **ASKED, strategy=strategy)
    release = dp.Release.load(found.release.save(tmp_path / "release.npz"))
    again = dp.answer(problem, release)
    assert again.x == pytest.approx(found.x, abs=1e-9)
    assert (again.epsilon, again.delta) == (release.budget.epsilon, release.budget.delta)
    assert dp.certify(problem, found.x, release)
    assert dp.certify(problem, found, release)
    assert dp.verify(found.save(tmp_path / "answer"), problem=problem)


def test_what_is_safe_for_the_release_need_not_be_safe_for_the_envelope() -> None:
    found = dp.solve(program(), VALUES, **ASKED)
    assert found.value > found.robust.value
    assert not dp.certify(program(), found.x)
    assert dp.certify(program(), found.robust.x)


def test_without_a_release_the_answer_is_robust() -> None:
    found = dp.answer(program())
    assert found.source == "robust"
    assert found.robust is found or found.robust.x == pytest.approx(found.x)
    assert found.release is None
    assert "no data read" in repr(found)
    exact = dp.answer(program().at(VALUES))
    assert exact.value >= found.value
    cmdp = grid().at([0.7])
    assert dp.answer(cmdp).value >= dp.answer(grid()).value


def test_another_question_costs_nothing() -> None:
    found = dp.solve(program(), VALUES, **ASKED)
    other = dp.answer(program().with_objective(maximize=[1, 1]), found.release)
    assert other.certificate
    assert other.release is found.release


# -------------------------------------------------------------------------------- what is said


# ------------------------------------------------------------------------------------ arguments


def test_a_prior_improves_what_is_guessed_and_is_never_trusted() -> None:
    """Prior numbers decide what is measured; the wrong ones cost value, never safety."""
    rng = np.random.default_rng(0)
    theta = dp.Envelope(0, 1, radius=0.1, shape=(1, 60))
    problem = dp.ParametricLP(maximize=np.ones(60), A=theta[:], b=[6.0], upper=1)
    truth = rng.beta(0.5, 1.5, 60).reshape(1, 60)
    right, wrong = truth, 1 - truth
    asked: dict[str, Any] = {**ASKED, "strategy": dp.Strategy.queries(share=0), "draws": 4}
    losses = []
    for prior in (right, wrong):
        runs = dp.simulate(problem, truth, prior=prior, **asked)
        assert all(found.certificate for found in runs)
        losses.append(runs.to_frame()["loss"].mean())
    assert losses[0] < losses[1]


def test_data_come_in_every_form(tmp_path: Path) -> None:
    import pandas as pd

    groups = {
        "price": dp.Envelope(0.5, 2, radius=0.05, shape=3),
        "limit": dp.Envelope(8, 12, radius=0.5),
    }
    theta = dp.Envelope.join(groups)
    problem = dp.ParametricLP(
        maximize=[3, 2], A=[[theta["price"][0], theta["price"][1]]], b=theta["limit"].reshape(1)
    )
    path = tmp_path / "values.csv"
    named = {"price": VALUES[:3], "limit": VALUES[3]}
    rows = [("price", value) for value in VALUES[:3]] + [("limit", VALUES[3])]
    pd.DataFrame(rows, columns=["group", "value"]).to_csv(path, index=False)
    forms: list[Any] = [VALUES, np.array(VALUES), named, lambda: named, str(path), path]
    for data in forms:
        assert dp.solve(problem, data, **ASKED, strategy="entries").certificate


def test_an_envelope_alone_is_published_without_a_question() -> None:
    theta = dp.Envelope(0, 9, radius=1, shape=3)
    for strategy in ("auto", "entries"):
        release = dp.publish(theta, [3, 4, 5], **ASKED, strategy=strategy)
        assert np.array([3.0, 4, 5]) in release.uncertainty
        assert (release.strategy_document or {})["name"] == "entries"
    with pytest.raises(dp.errors.InvalidArgumentError, match="strategy must be 'entries'"):
        dp.publish(theta, lambda: pytest.fail("data were read"), **ASKED, strategy="queries")
    with pytest.raises(dp.errors.InvalidArgumentError, match="ask something"):
        dp.answer(theta, release)  # type: ignore[call-overload]


class Speed:
    """The fastest speed that keeps every private limit."""

    def __init__(self, envelope: Any, *, reckless: bool = False) -> None:
        self.envelope, self.extra = envelope, 1.0 if reckless else 0.0

    def answer(self, known: Any, estimate: Any = None) -> Any:
        return dp.extend.certified(self, float(known.lower.min()) + self.extra, known)

    def value(self, decision: Any, values: Any) -> float:
        return decision

    def slack(self, decision: Any, theta: Any) -> Any:
        return theta - decision


class Plain(Speed):
    """The same, answering with the decision alone."""

    def answer(self, known: Any, estimate: Any = None) -> Any:
        return float(known.lower.min())


@pytest.mark.parametrize("kind", [Speed, Plain])
@STRATEGIES
def test_a_problem_of_ones_own(kind: Any, strategy: str) -> None:
    own = kind(dp.Envelope(30, 120, radius=5, shape=8))
    found = dp.solve(own, [80.0] * 8, **ASKED, strategy=strategy)
    assert found.certificate
    assert 30 <= found.robust.decision <= found.decision <= 80
    assert found.problem is own
    against = dp.curator.compare(found, [80.0] * 8)
    assert against.violated == 0
    assert against.best == 80
    assert dp.certify(own, 30.0)
    assert not dp.certify(own, 30.5)
    assert dp.answer(own, found.release).decision == found.decision


def test_a_problem_of_ones_own_whose_answers_are_unsafe_is_refused_unpaid() -> None:
    own = Speed(dp.Envelope(30, 120, radius=5, shape=8), reckless=True)
    with pytest.raises(dp.errors.RefusedError, match="safe for all of it"):
        dp.solve(own, lambda: pytest.fail("data were read"), **ASKED)  # type: ignore[call-overload]


def test_weights_and_multipliers_of_ones_own_problem_come_from_its_slack() -> None:
    own = Speed(dp.Envelope(30, 120, radius=5, shape=3))
    box = own.envelope.uncertainty
    W = sparse.csr_array(-np.ones((1, 3)))
    known = dp.extend.UncertaintySet(box.lower, box.upper, W, np.array([-300.0]))
    found = dp.extend.certified(own, 59.0, known)  # each is at least 300 − 240 = 60
    assert found.certificate
    assert found.weights.toarray() == pytest.approx(-np.eye(3))
    assert (found.multipliers.toarray() > 0).all()
    assert not dp.extend.certified(own, 61.0, known).certificate


# -------------------------------------------------------------------------------------- curator


def test_a_comparison_counts_what_is_broken() -> None:
    problem = program()
    unsafe = dp.answer(program().at([0.5, 0.5, 0.5, 12.0]))
    pretended = dp.answer(problem)
    vars(pretended)["decision"] = unsafe.x
    against = dp.curator.compare(pretended, VALUES)
    assert against.violated == 1
    assert dp.curator.compare(dp.answer(problem), VALUES).loss == pytest.approx(
        1 - dp.answer(problem).value / dp.answer(problem.at(VALUES)).value
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (VALUES, None),
        ([1.1, 1.2, 1.5, 99], r"entry 3: 99 outside \[8, 12\]"),
        ([1.1, 1.2, 1.5], r"shape \(4,\),\s+got shape \(3,\)"),
        ([1.1, 1.2, 1.5, float("nan")], "entry 3"),
        (lambda: 1 / 0, "division by zero"),
    ],
)
def test_values_are_checked_before_a_budget_is_spent(values: Any, text: str | None) -> None:
    report = dp.curator.check(values, program())
    assert bool(report) == (text is None)
    if text is not None:
        with pytest.raises(dp.errors.RefusedError):
            dp.publish(program(), values, **ASKED)
        assert re.search(text, repr(report))
        assert "do not publish" in repr(report)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (pd.Series([1, 2], index=["a", "b"]), ["missing: 'c'"]),
        (pd.Series([1, 2, 3], index=["a", "b", "x"]), ["missing: 'c'", "not wanted: 'x'"]),
        (pd.Series([1, 2, 3, 4], index=["a", "b", "c", "c"]), ["twice: 'c'"]),
        (pd.DataFrame({"u": [1, 2, 3], "v": 1}, index=["a", "b", "c"]), ["columns"]),
        (pd.Series([1, 2, 30], index=["a", "b", "c"]), ["entry 2 (price c): 30 outside"]),
        ([1, 2, "three"], ["no text"]),
        (np.ones((1, 3)), ["(3,), got shape (1, 3)"]),
    ],
)
def test_the_curator_is_told_which_labels_and_values_are_wrong(part: Any, words: list[str]) -> None:
    price = dp.Envelope(0, 9, radius=1, labels=["a", "b", "c"])
    share = dp.Envelope(0, 1, radius=1, shape=(2, 2))
    both = dp.Envelope.join({"price": price, "share": share})
    values = {"price": part, "share": np.ones((2, 2))}
    text = " ".join(repr(dp.curator.check(values, both)).split())
    assert all(word in text for word in words), text
    assert "share:" not in text
