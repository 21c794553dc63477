"""Nothing that leaves the curator shows a private value: objects, files, pickles, texts, errors.

Marked numbers (`tests.marked`) are the private ones. They are searched for in whatever can be
reached from a result, and put into calls that must fail, in every disguise.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dp_cmdp as dp
from tests.marked import (
    DIGITS,
    MARKS,
    leaks_from_error,
    leaks_from_file,
    leaks_from_object,
    leaks_from_pickle,
)

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}
FAILURES = 2_000


def program(*, upper: float = 1.0) -> dp.ParametricLP:
    price = dp.Envelope(0.05, upper, labels=["north", "south"], radius=0.02)
    parts = {"a": price, "b": dp.Envelope(0.05, 1.0)}
    theta = dp.Envelope.join(parts)
    return dp.ParametricLP(
        maximize=[theta["a"][0] + 1, 1.0],
        A=[[theta["a"][0], theta["a"][1]]],
        b=[theta["b"]],
        upper=4.0,
    )


def model() -> dp.ParametricCMDP:
    cost = dp.PrivateCost(
        dp.Envelope(0.05, 1, radius=0.02), dp.Envelope(0.05, 1), states=[1, 2], on="entering"
    )
    T = [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 1], [1, 0, 0]]]
    return dp.ParametricCMDP(T, [[1, 0], [2, 0], [3, 0]], gamma=0.5, costs=cost)


def curved() -> Any:
    import cvxpy as cp

    cap = dp.cvxpy.PrivateParameter(3, lower=0.05, upper=1, radius=0.02, name="cap")
    flow = cp.Variable(3, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(flow - 2)), [flow <= cap])


PROBLEMS: dict[str, Callable[[], Any]] = {"program": program, "model": model, "cvxpy": curved}


@pytest.fixture(params=PROBLEMS)
def problem(request: Any) -> Any:
    return PROBLEMS[request.param]()


@pytest.mark.parametrize("strategy", ["entries", "queries", "worst row"])
def test_nothing_that_is_reached_from_an_answer_is_private(
    problem: Any, strategy: str, tmp_path: Path
) -> None:
    database = dp.Database(MARKS[:3], problem)
    assert leaks_from_object(database)  # the search finds what is there
    found = dp.solve(problem, database, **BUDGET, strategy=strategy)
    for public in (found, found.release, found.robust, found.certificate, found.strategy):
        assert leaks_from_object(public) == []
    assert DIGITS not in repr(found) + repr(found.release) + found._repr_html_()
    assert not leaks_from_pickle(found.release)
    path = found.release.save(tmp_path / "release.npz")
    assert not leaks_from_file(path)
    assert leaks_from_object(dp.Release.load(path)) == []
    assert leaks_from_object(problem) == []


def test_files_of_an_answer_and_of_a_ledger_hold_no_private_value(tmp_path: Path) -> None:
    ledger = dp.PrivacyLedger.create(tmp_path / "ledger", "x", epsilon=8, delta="1/100")
    for asked in (program(), model()):
        found = dp.solve(asked, dp.Database(MARKS[:3], asked, ledger=ledger), **BUDGET)
        folder = found.save(tmp_path / type(asked).__name__)
        found.plot().savefig(folder / "picture.png")
        assert {path.suffix for path in folder.iterdir()} == {".npz", ".png"}
        assert [path.name for path in folder.iterdir() if leaks_from_file(path)] == []
    assert not leaks_from_file(tmp_path / "ledger")


class Talkative:
    """An object that shows a private number wherever it can."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Talkative({self.value})"

    def __float__(self) -> float:
        raise ValueError(f"cannot use {self.value}")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError(f"cannot use {self.value}")


def disguise(value: float, rng: np.random.Generator) -> Any:
    """A private number in a form that no database accepts."""
    forms: list[Callable[[], Any]] = [
        lambda: value + 7,
        lambda: [value, value, value + 3],
        lambda: [value] * 5,
        lambda: [[value, value], [value, value]],
        lambda: [[value], [value, value]],
        lambda: [f"{value}x", value, value],
        lambda: f"secret {value}",
        lambda: {"a": [value, value], "b": [f"{value}!"]},
        lambda: {"a": [value, value], "b": [value + 2]},
        lambda: {"a": [value], "b": [value]},
        lambda: {f"name {value}": [value]},
        lambda: [complex(value, 1), value, value],
        lambda: [Talkative(value), value, value],
        lambda: Talkative(value),
        lambda: [Decimal(str(value)), Decimal("NaN"), Fraction(1, 3)],
        lambda: np.array([value, np.nan, value]),
        lambda: np.array([value, value, np.inf]),
        lambda: np.array([value, value], dtype=object)[:, None],
        lambda: np.array([f"{value}"] * 2),
        lambda: {"a": {"deeper": value}, "b": value},
        lambda: lambda: value,
        lambda: lambda: 1 / (value - value),
        lambda: bytes(f"{value}", "ascii"),
        lambda: [None, value, value],
        lambda: [10**400, value, value],
        lambda: pd.DataFrame({"value": [value]}, index=[f"row {value}"]),
        lambda: pd.Series([value] * 3, index=[value, 2 * value, 3 * value]),
    ]
    return forms[int(rng.integers(len(forms)))]()


def must_fail_cleanly(call: Any, *given: Any, **named: Any) -> None:
    try:
        call(*given, **named)
    except Exception as error:
        found = leaks_from_error(error)
        assert found == [], f"{getattr(call, '__qualname__', call)}: {found}"
    else:
        raise AssertionError(f"{call} accepted what it must refuse")


def test_the_search_sees_values_in_errors_that_show_them() -> None:
    secret = float(MARKS[0])
    hidden = ValueError("clean")
    hidden.__context__ = KeyError(secret)
    for error in (ValueError(f"bad {secret}"), ValueError(secret), ValueError([secret]), hidden):
        assert leaks_from_error(error)
    assert leaks_from_error(ValueError("clean")) == []


def test_thousands_of_refused_databases_show_no_value() -> None:
    rng, lp = np.random.default_rng(0), program()

    def publish(value: Any) -> Any:
        return dp.publish(lp, value, **BUDGET, strategy="entries")

    def wrapped(value: Any) -> Any:
        return publish(dp.Database(value, lp))

    for _ in range(FAILURES):
        value = disguise(float(rng.choice(MARKS)), rng)
        if isinstance(value, str):
            continue  # the path of a file, which is public
        must_fail_cleanly((publish, wrapped)[int(rng.integers(2))], value)


def test_refused_uses_of_a_marked_database_show_no_value(tmp_path: Path) -> None:
    lp, other = program(), program(upper=2.0)
    ledger = dp.PrivacyLedger.create(tmp_path / "ledger", "x", epsilon="1/2", delta="1/1000")
    database = dp.Database(MARKS[:3], lp, ledger=ledger)
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (pickle.dumps, (database,), {}),
        (copy.copy, (database,), {}),
        (copy.deepcopy, ([database],), {}),
        (json.dumps, (database,), {}),
        (float, (database,), {}),
        (iter, (database,), {}),
        (len, (database,), {}),
        (np.asarray([1.0]).__add__, (database,), {}),
        (setattr, (database, "values", 1), {}),
        (dp.publish, (lp, database), BUDGET),  # more than the ledger has
        (dp.solve, (other, database), BUDGET),
        (dp.solve, (lp, database), {"epsilon": -1, "delta": "1/1000"}),
        (dp.solve, (lp, database), BUDGET | {"strategy": "none"}),
        (dp.solve, (lp, database), BUDGET | {"prior": database}),
        (dp.simulate, (lp, database), BUDGET),
        (dp.advise, (lp,), BUDGET | {"prior": database}),
        (dp.certify, (lp, database), {}),
        (dp.answer, (lp, database), {}),
        (dp.curator.compare, (database, database), {}),
    ]
    for call, given, named in calls:
        must_fail_cleanly(call, *given, **named)
    assert ledger.spent.epsilon == 0
