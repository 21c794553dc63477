"""Errors on the private side never contain a private value.

Marked numbers are put into calls that must fail, in every disguise: numbers, texts, nested lists,
objects whose ``repr`` shows them, wrong shapes, values out of bounds. The whole exception is
searched: texts, arguments, attributes, ``__cause__`` and ``__context__``.
"""

import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    PrivacyLedger,
    release_blocks,
    release_database,
    suboptimality,
    violation,
)
from dp_cmdp.baselines import METHODS
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.program.linear_program import solve
from tests.marked import DIGITS, MARKS, leaks_from_error

FAILURES = 4000
BUDGET = PrivacyBudget(1, "1/1000")


class Talkative:
    """An object that shows a private number wherever it can."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Talkative({self.value})"

    def __float__(self) -> float:
        raise ValueError(f"cannot use {self.value}")

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError(f"cannot use {self.value}")


def program(*, upper: float = 1.0) -> ParametricLP:
    envelope = Envelope.join(
        {"a": Envelope(0.05, upper, shape=2), "b": Envelope(0.05, 1.0, shape=1)}
    )
    return ParametricLP(
        envelope,
        c=Affine(2, constant=np.ones(2), at=[0], entry=[0]),
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=Affine(1, at=[0], entry=[2]),
        upper=4.0,
    )


def disguise(value: float, rng: np.random.Generator) -> object:
    """A private number in a form that no database accepts."""
    forms = [
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
        lambda: [np.array([value, value]), value],
        lambda: {"a": {"deeper": value}, "b": value},
        lambda: lambda: value,
        lambda: bytes(f"{value}", "ascii"),
        lambda: [None, value, value],
        lambda: [10**400, value, value],
    ]
    return forms[int(rng.integers(len(forms)))]()


def must_fail_cleanly(call, *arguments, **named) -> None:
    try:
        call(*arguments, **named)
    except Exception as error:
        found = leaks_from_error(error)
        assert found == [], f"{getattr(call, '__qualname__', call)}: {found}"
    else:
        raise AssertionError(f"{call} accepted what it must refuse")


def test_the_search_sees_values_in_errors_that_show_them():
    secret = float(MARKS[0])
    hidden = ValueError("clean")
    hidden.__context__ = KeyError(secret)
    for error in (ValueError(f"bad {secret}"), ValueError(secret), ValueError([secret]), hidden):
        assert leaks_from_error(error)
    attribute = ValueError("clean")
    attribute.value = np.array([secret])  # pyright: ignore[reportAttributeAccessIssue]
    assert leaks_from_error(attribute)
    assert leaks_from_error(ValueError("clean")) == []


def test_thousands_of_refused_databases_show_no_value():
    rng = np.random.default_rng(0)
    target = program()
    model = ParametricCMDP(
        target.envelope,
        T=np.ones((1, 2, 1)),
        r=[[1.0, 1.0]],
        mu=[1.0],
        gamma=0.5,
        cost=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        tolerance=Affine(1, at=[0], entry=[2]),
    )
    lattice = Lattice.of(np.full(3, 0.5), largest=np.ones(3))
    entrances = [
        lambda value: Database(value, target.envelope),
        lambda value: Database(value, target.envelope, identity="x"),
    ]
    flat = [target.at, model.at, lattice.index]
    for _ in range(FAILURES):
        value = disguise(float(rng.choice(MARKS)), rng)
        must_fail_cleanly(entrances[int(rng.integers(2))], value)
        if not _fits_somewhere(value):
            must_fail_cleanly(flat[int(rng.integers(3))], value)


def _fits_somewhere(value: object) -> bool:
    """Three finite numbers, or one for all: legal where no bounds are checked."""
    try:
        array = np.array(value, dtype=np.float64)
    except Exception:
        return False
    return bool(array.shape in ((), (3,)) and np.isfinite(array).all())


def test_refused_uses_of_a_marked_database_show_no_value(tmp_path):
    target = program()
    database = Database(MARKS[:3], target.envelope, identity="clinic")
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("clinic", PrivacyBudget("1/2", "1/1000"), "one person")
    thirds = {"A": "1/3", "b": "1/3", "c": "1/3"}
    other = program(upper=2.0)  # of other public facts
    x = np.zeros(2)
    calls = [
        (pickle.dumps, (database,), {}),
        (copy.copy, (database,), {}),
        (copy.deepcopy, ([database],), {}),
        (json.dumps, (database,), {}),
        (float, (database,), {}),
        (iter, (database,), {}),
        (len, (database,), {}),
        (setattr, (database, "values", 1), {}),
        (delattr, (database, "values"), {}),
        (database.values.__setitem__, (0, 1.0), {}),
        (release_database, (database, BUDGET), {"ledger": ledger}),
        (release_database, (database, BUDGET), {"calibration": "no"}),
        (release_blocks, (database, BUDGET), {"program": target, "alphas": {"A": 1}}),
        (release_blocks, (database, BUDGET), {"program": other, "alphas": thirds}),
        (release_blocks, (database, BUDGET), {"program": target, "alphas": {"A": "x"}}),
        (suboptimality, (target, database), {"x": np.zeros(5)}),
        (suboptimality, (target, database), {"x": x, "optimum": 0.0}),
        (violation, (target, database), {"x": [np.nan, 0.0]}),
        (target.worst_case_slack, (x,), {"lower": database.values, "upper": database.values - 1}),
        (target.robust, (database.values, database.values[:1]), {}),
        *(
            (method.run, (other, database, BUDGET), {"rng": np.random.default_rng(0)})
            for method in METHODS.values()
        ),
    ]
    for call, arguments, named in calls:
        must_fail_cleanly(call, *arguments, **named)


def test_an_infeasible_or_unbounded_true_program_is_refused_without_its_numbers():
    envelope = Envelope(0.05, 1.0, shape=2)
    values = MARKS[:2]
    infeasible = ParametricLP(
        envelope,
        c=[1.0],
        A=Affine((1, 1), constant=[[-1.0]]),
        b=Affine(1, constant=[-9.0], at=[0], entry=[0]),
        upper=1.0,
    )
    unbounded = ParametricLP(envelope, c=Affine(1, at=[0], entry=[0]))
    for target in (infeasible, unbounded):
        must_fail_cleanly(solve, target.at(values))
        must_fail_cleanly(suboptimality, target, Database(values, envelope), x=[0.0])


def test_a_release_of_an_impossible_program_is_refused_from_public_data_alone():
    envelope = Envelope(0.05, 1.0, shape=2)
    target = ParametricLP(
        envelope,
        c=[1.0],
        A=Affine((1, 1), constant=[[-1.0]], at=([0], [0]), entry=[0]),
        b=Affine(1, constant=[-9.0], at=[0], entry=[1]),
        upper=1.0,
    )
    database = Database(MARKS[:2], envelope)
    halves = {"A": "1/2", "b": "1/2"}
    must_fail_cleanly(release_blocks, database, BUDGET, program=target, alphas=halves)


@pytest.mark.parametrize("mark", MARKS[:3])
def test_marks_are_what_the_search_looks_for(mark):
    assert DIGITS in repr(float(mark))
