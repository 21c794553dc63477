"""Whatever is wrong with the kind of an argument is said first: by name, and before anything is
spent, read or written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp


class Odd:
    """No kind of argument at all."""


def lp() -> Any:
    theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    return dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])


def model() -> Any:
    cost = dp.PrivateCost(states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=5.0)
    T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    return dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=cost)


def speed() -> Any:
    class Speed:
        envelope = dp.Envelope(30, 120, radius=5, shape=2)

        def answer(self, known: Any, estimate: Any = None) -> Any:
            return known.lower.min()

        def value(self, decision: Any, values: Any) -> float:
            return decision

        def slack(self, decision: Any, theta: Any) -> Any:
            return theta - decision

    return Speed()


DATA = [1, 1.2, 10]
ASKED: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}


def never(*given: Any) -> Any:
    pytest.fail("data were read")


def calls() -> dict[str, tuple[Any, dict[str, Any]]]:
    """A good call of every verb, by keyword."""
    problem, mdp = lp(), model()
    data = dp.Database(never, problem)
    policy, cmdp = dp.Policy([[0.5, 0.5], [0.5, 0.5]]), mdp.at([0.5])
    entries = dp.Strategy.entries()
    return {
        "solve": (dp.solve, {"problem": problem, "data": data, "strategy": entries, **ASKED}),
        "publish": (dp.publish, {"problem": problem, "data": data, "strategy": entries, **ASKED}),
        "answer": (dp.answer, {"problem": problem}),
        "certify": (dp.certify, {"problem": problem, "decision": [4, 0]}),
        "advise": (dp.advise, {"problem": problem, "draws": 4, **ASKED}),
        "simulate": (dp.simulate, {"problem": problem, "values": DATA, "draws": 1, **ASKED}),
        "evaluate": (dp.evaluate, {"cmdp": cmdp, "policy": policy}),
        "rollout": (dp.rollout, {"env": "dp_cmdp/HazardGrid-v0", "policy": policy, "gamma": 0.9}),
        "compare": (dp.curator.compare, {"found": dp.answer(problem), "data": DATA}),
        "check": (dp.curator.check, {"values": DATA, "problem": problem}),
        "limit": (dp.curator.limit, {"problem": problem, "data": DATA, **ASKED}),
        "Envelope": (dp.Envelope, {"lower": 0, "upper": 1, "radius": 0.1, "shape": 2}),
        "PrivacyBudget": (dp.PrivacyBudget, ASKED),
        "ParametricLP": (dp.ParametricLP, {"maximize": [1], "A": [[1.0]], "b": [1.0]}),
        "Database": (dp.Database, {"values": DATA, "problem": problem}),
        "entries": (dp.Strategy.entries, {}),
        "queries": (dp.Strategy.queries, {}),
        "worst_row": (dp.Strategy.worst_row, {}),
        "Step": (dp.extend.Step, {"propose": never}),
        "lpfile": (dp.lpfile.load, {"path": "absent.mps", "private": "absent.toml"}),
        "gymnasium": (dp.gymnasium.load, {"env": "FrozenLake-v1", "gamma": 0.9}),
        "ledger": (dp.PrivacyLedger, {"path": "absent.sqlite", "account": "a"}),
        "create": (
            dp.PrivacyLedger.create,
            {"path": "absent/ledger.sqlite", "account": "a", **ASKED},
        ),
        "certified": (
            dp.extend.certified,
            {"problem": speed(), "decision": 40.0, "known": speed().envelope.uncertainty},
        ),
        "PrivateCost": (dp.PrivateCost, {"cost": 1.0, "limit": 1.0, "states": [1]}),
        "Policy": (dp.Policy, {"probabilities": [[1.0]]}),
        "CMDP": (dp.CMDP, {"T": [[[1.0]]], "r": [[1.0]], "cost": [[1.0]], "limit": 20.0,
                           "gamma": 0.5}),
    }  # fmt: skip


def cases() -> list[Any]:
    found = []
    for name, (function, good) in calls().items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                found.append(
                    pytest.param(function, good, parameter.name, id=f"{name}-{parameter.name}")
                )
    return found


#: A class can be called, which is what these ask.
CALLABLE = {"Database-values", "Step-propose", "rollout-cost", "load-cell"}
#: What the problem's own methods judge.
FREE = {"certified-decision"}


@pytest.mark.parametrize(("function", "good", "name"), cases())
@pytest.mark.parametrize("bad", [Odd(), Odd], ids=["object", "class"])
def test_an_argument_of_no_kind_is_refused_by_name(
    function: Any, good: dict[str, Any], name: str, bad: Any
) -> None:
    call = f"{function.__name__}-{name}"
    if call in FREE or (bad is Odd and call in CALLABLE):
        pytest.skip("it may be anything, or a class that can be called")
    with pytest.raises(dp.errors.InvalidArgumentError) as raised:
        function(**{**good, name: bad})
    assert isinstance(raised.value, TypeError | ValueError)
    words = {name, name.rstrip("s"), "objective", "data" if name == "values" else "values"}
    assert any(word in str(raised.value) for word in words)


@pytest.mark.parametrize("verb", [dp.solve, dp.publish])
@pytest.mark.parametrize(
    "data", [None, dp.PrivacyBudget(1, "1/1000"), lp(), Odd(), True, "absent.csv", Path("absent")]
)
def test_what_is_no_data_is_refused_unpaid(verb: Any, data: Any, tmp_path: Path) -> None:
    ledger = dp.PrivacyLedger.create(tmp_path / "ledger", "a", epsilon=1, delta="1/1000")
    with pytest.raises(dp.errors.InvalidArgumentError):
        verb(lp(), data, **ASKED)
    assert ledger.spent.epsilon == 0


def test_solving_without_a_budget_names_what_is_free() -> None:
    for call in (lambda: dp.solve(lp()), lambda: dp.solve(lp(), DATA)):  # type: ignore
        with pytest.raises(dp.errors.InvalidTypeError, match=r"answer\(problem\)"):
            call()
    with pytest.raises(dp.errors.InvalidTypeError, match="verbs take epsilon= and delta="):
        dp.solve(lp(), DATA, epsilon=dp.PrivacyBudget(1, "1/1000"), delta="1/1000")  # type: ignore


@pytest.mark.parametrize(
    ("what", "match"),
    [
        (lambda: dp.solve(DATA, lp(), **ASKED), r"problem, data"),  # type: ignore
        (lambda: dp.answer(lp(), DATA), "solve or publish, which spend"),  # type: ignore
        (lambda: dp.certify(lp(), dp.publish(lp(), DATA, **ASKED)), "decision, release"),
        (lambda: dp.answer(dp.Envelope(0, 1)), "strategy='entries'"),  # type: ignore
        (lambda: dp.answer(dp.ParametricLP), "got the class ParametricLP"),  # type: ignore
        (lambda: dp.simulate(lp(), DATA, **ASKED, workers=0), "workers"),
        (lambda: dp.simulate(lp(), DATA, **ASKED, draws=0), "draws"),
        (lambda: dp.simulate(lp(), DATA, **ASKED, seed=-1), "seed"),
        (lambda: dp.advise(lp(), epsilon=[], delta="1/1000"), "epsilon must hold"),
        (lambda: dp.advise(lp(), **ASKED, draws=2), "draws"),
        (lambda: dp.solve(lp(), DATA, **ASKED, prior=[1, 1, 99]), "entry 2, whose bounds are"),
        (lambda: dp.solve(lp(), DATA, **ASKED, strategy="database"), "'worst row'"),
    ],
)
def test_texts_say_what_to_do(what: Any, match: str) -> None:
    with pytest.raises(dp.errors.InvalidArgumentError, match=match):
        what()


def test_no_text_quotes_what_is_private() -> None:
    secret = 7.123456789
    envelope = lp().envelope
    bad = [[secret, 1, 10], np.array([secret]), {"values": [secret]}, [[secret, secret, secret]]]
    for values in bad:
        for call in (
            lambda v=values: dp.solve(lp(), v, **ASKED),
            lambda v=values: dp.publish(envelope, v, **ASKED, strategy="entries"),
            lambda v=values: dp.curator.compare(dp.answer(lp()), v),
            lambda v=values: lp().at(v),
        ):
            try:
                call()
            except dp.errors.Error as error:
                chain = [error, error.__cause__, error.__context__]
                assert not any("7.12" in str(part) for part in chain)
