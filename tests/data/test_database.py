"""Private numbers: read at `read`, refused without a word on which or why, shown nowhere."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp._src.base.errors import (
    Error,
    InvalidArgumentError,
    InvalidTypeError,
    PrivacyLeakError,
    RefusedError,
)
from dp_cmdp._src.data import database as module
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope

SECRET = 0.123456789
MARKS = ("0.1234", "123456", "secret")
TWO = Envelope(0.0, 1.0, shape=2)


def refusal(values: Any, envelope: Envelope = TWO) -> str:
    """The one text, with nothing behind it."""
    with pytest.raises(RefusedError, match="cannot be used") as caught:
        Database(values, envelope).read()
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert not any(mark in repr(caught.value.args) for mark in MARKS)
    return str(caught.value)


def test_a_database_shows_no_value(caplog: pytest.LogCaptureFixture) -> None:
    database = Database(np.full(2, SECRET), TWO)
    database.read()
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("database %s %r", database, database)
    for text in (repr(database), str(database), database._repr_html_(), caplog.text):
        assert not any(mark in text for mark in MARKS)
    assert (
        repr(database) == "Database(<private>, Envelope(values[2], one entry changes, whole range))"
    )


def test_a_database_refuses_to_be_pickled_or_copied() -> None:
    for values in ([SECRET, SECRET], lambda: [SECRET, SECRET]):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(PrivacyLeakError, match="loader"):
                attempt(Database(values, TWO))


def quoting() -> Any:
    raise ValueError(f"bad row: secret {SECRET}")


def quitting() -> Any:
    yield SECRET
    raise KeyError(SECRET)


WRONG: list[Any] = [
    [SECRET, 1 + SECRET], [SECRET, np.nan], [SECRET, np.inf], [1e30, SECRET], [SECRET] * 3,
    [[SECRET, SECRET], [SECRET]], ["secret", SECRET], [SECRET, "0.5"], {"values": [SECRET, 2]},
    {"values": [SECRET] * 3}, SECRET, [10**400, SECRET], [[SECRET], [SECRET]],
    [True, False], np.array([True, False]), [0.5, True], [np.bool_(True), 0.5],
    pd.Series([True, False]), np.array([0.5, True], dtype=object), [1j, SECRET],
    np.ma.masked_array([SECRET, SECRET], mask=[True, False]), np.array(["2024", "2025"], "M8"),
    pd.DataFrame({"a": [SECRET, SECRET], "b": [0.0, 0.0]}), [SECRET, None], [None, object()],
    pd.DataFrame({"a": ["x", "y"]}), np.full((2, 1), SECRET), np.full((1, 2), SECRET),
]  # fmt: skip


def test_whatever_is_wrong_is_refused_in_one_text_when_it_is_read() -> None:
    later: list[Any] = [quoting, quitting, dict, lambda: None, object, lambda: {"other": [0, 0]}]
    later += [lambda values=values: values for values in WRONG]
    later += [lambda: quoting, lambda: Database([0, 0], TWO), lambda: iter([SECRET, SECRET])]
    assert len({refusal(values) for values in (*WRONG, *later)}) == 1


def test_values_are_looked_at_when_they_are_read_and_not_before() -> None:
    looks: list[int] = []

    def look() -> Any:
        looks.append(1)
        return [0.25, 0.75]

    database = Database(look, TWO)
    assert not looks
    assert database.read().tolist() == [0.25, 0.75]
    assert looks == [1]


@pytest.mark.parametrize("values", [None, object(), {0.5, 0.7}, 1j, iter([0.5, 0.5])])
def test_what_can_hold_no_numbers_is_refused_before_anything_is_spent(values: Any) -> None:
    with pytest.raises(InvalidTypeError, match="values must be numbers"):
        Database(values, TWO)


def test_a_problem_or_an_envelope_says_what_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    class Problem:
        envelope = TWO

    assert Database([0, 0], Problem()).envelope is TWO
    for wrong in (None, 3, [0, 1], TWO[:]):
        if wrong is not None and hasattr(wrong, "envelope"):
            continue
        with pytest.raises(InvalidTypeError, match="problem must be"):
            Database([0, 0], wrong)
    foreign = object()
    monkeypatch.setattr(module, "ENVELOPES", [lambda x: TWO if x is foreign else None])
    assert Database([0, 0], foreign).envelope is TWO


def test_groups_are_read_by_name_in_whatever_order() -> None:
    envelope = Envelope.join({"a": Envelope(0, 1, shape=2), "b": Envelope(0, 1, shape=(1, 2))})
    for values in ({"b": [[0.3, 0.4]], "a": [0.1, 0.2]}, [0.1, 0.2, 0.3, 0.4]):
        assert Database(values, envelope).read().tolist() == [0.1, 0.2, 0.3, 0.4]
    for values in ({"a": [0.1, 0.2]}, {"a": [0, 0], "b": [[0, 0]], "c": 1}, {1: [0.0], "a": [0]}):
        with pytest.raises(InvalidArgumentError, match="exactly the groups 'a', 'b'"):
            Database(values, envelope)
    for values in ({"a": [0.1, 0.2], "b": [0.3, 0.4]}, {"a": [[0.1, 0.2]], "b": [[0.3, 0.4]]}):
        refusal(values, envelope)


class Parameter:
    """As cvxpy has them: known by a name."""

    def name(self) -> str:
        return "a"


def test_a_group_may_be_named_by_its_parameter_and_one_number_stand_for_one() -> None:
    envelope = Envelope.join({"a": Envelope(0, 1, shape=2), "limit": Envelope(3, 9)})
    assert Database({Parameter(): [0, 1], "limit": 5}, envelope).read().tolist() == [0, 1, 5]
    assert Database({"a": [0, 1], "limit": [5]}, envelope).read().tolist() == [0, 1, 5]
    assert Database(0.5, Envelope(0, 1)).read().tolist() == [0.5]


def test_the_only_group_may_have_its_own_shape_but_no_other() -> None:
    envelope = Envelope(0.0, 1.0, shape=(2, 3))
    values = np.arange(6).reshape(2, 3) / 6
    for given in (values, values.tolist(), values.ravel(), {"values": values}):
        assert Database(given, envelope).read().tolist() == values.ravel().tolist()
    for given in (values.T, values.reshape(1, 6), values.reshape(6, 1)):
        refusal(given, envelope)


def test_a_database_is_used_with_its_own_envelope_only() -> None:
    database = Database([0, 0], TWO)
    assert Database._of(database, Envelope(0.0, 1.0, shape=2)) is database
    assert Database._of([0, 0], TWO).envelope is TWO
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        Database._of(database, Envelope(0.0, 1.0, shape=2, radius=0.5))


# -------------------------------------------------------------------- values whose own code fails


class Failing(Mapping[Any, Any]):
    """A mapping that quotes its values when one of its methods fails."""

    def __init__(self, where: str, kind: type[BaseException]) -> None:
        self.where, self.kind = where, kind

    def fail(self, method: str) -> None:
        if method == self.where:
            raise self.kind(f"secret {SECRET}")

    def __getitem__(self, name: str) -> Any:
        self.fail("__getitem__")
        return Quoting(self) if self.where.startswith("value") else [SECRET, SECRET]

    def __iter__(self) -> Iterator[Any]:
        self.fail("__iter__")
        return iter(["values"])

    def __len__(self) -> int:
        return 1


class Quoting:
    def __init__(self, owner: Failing) -> None:
        self.owner = owner

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        self.owner.fail("value __array__")
        return np.array([SECRET, SECRET])


@pytest.mark.parametrize("kind", [KeyError, ValueError, InvalidArgumentError, RuntimeError])
@pytest.mark.parametrize("where", ["__getitem__", "__iter__", "value __array__"])
def test_what_the_callers_own_mapping_raises_is_replaced_without_a_trace(
    where: str, kind: type[BaseException]
) -> None:
    assert Database(Failing("", kind), TWO).read().tolist() == [SECRET, SECRET]
    refusal(lambda: Failing(where, kind))
    with pytest.raises(Error) as caught:
        Database(Failing(where, kind), TWO).read()
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert not any(mark in repr(caught.value.args) for mark in MARKS)


# ------------------------------------------------------------------------------------------ files


def test_a_file_is_read_by_the_labels_of_the_envelope(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text("city,value\n007,0.25\nBern,0.75\n")
    envelope = Envelope(0, 1, labels={"city": ["Bern", "007"]})
    for given in (path, str(path)):
        assert Database(given, envelope).read().tolist() == [0.75, 0.25]
    path.write_text("value\n0.5\n0.25\n")
    assert Database(path, TWO).read().tolist() == [0.5, 0.25]
    path.write_text("group,city,year,value\nb,,,5\na,NA,2024,0.1\na,NA,2023,0.2\n")
    axes = {"city": ["NA"], "year": [2023, 2024]}
    both = Envelope.join({"a": Envelope(0, 1, labels=axes), "b": Envelope(0, 9, shape=1)})
    assert Database(path, both).read().tolist() == [0.2, 0.1, 5.0]


FILES = [
    "",
    "value\n",
    "\x00\n",
    "a\n1\n",
    "city,value\nBern,x\n",
    "city,value\nBern,0.5\nBern,0.5\n",
    "city,value\nBern,0.5\nGenf,0.5\n",
    "city,value\nBern,0.5\nBasel,1e30\n",
    "value\n0.5\n0.5\n",
]


@pytest.mark.parametrize("content", FILES)
def test_a_file_that_does_not_fit_is_refused_in_the_same_text(content: str, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text(content)
    envelope = Envelope(0, 1, labels={"city": ["Bern", "Basel"]})
    assert refusal(path, envelope) == refusal(quoting)


def test_a_table_is_no_vector_where_several_groups_have_labels() -> None:
    parts = {"a": Envelope(0, 1, labels=["x", "y"]), "b": Envelope(0, 1, labels=["z"])}
    shuffled = pd.Series([0.3, 0.1, 0.2], index=["z", "x", "y"])
    with pytest.raises(RefusedError):
        Database(shuffled, Envelope.join(parts)).read()


def test_a_warning_that_depends_on_the_numbers_is_not_shown() -> None:
    """Warnings are errors here: one that got out would fail the test."""
    envelope = Envelope(0, 1, radius=0.1, shape=2)
    database = Database(lambda: np.array([0.5, 1.0]) / np.array([1.0, 0.0]), envelope)
    with pytest.raises(RefusedError, match="cannot be used"):
        database.read()
    database = Database(lambda: np.minimum(np.array([0.5, 1.0]) / [1.0, 0.0], 1.0), envelope)
    assert database.read().tolist() == [0.5, 1.0]
