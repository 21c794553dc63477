"""Awkward values: what a caller may hand over by mistake, by bad luck or on purpose.

Each is made anew for every call (iterators are used up, arrays may be frozen). None of them is
random, so a call that fails can be named: callable, parameter, value.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

#: Methods that an awkward object may lack the manners to answer.
RAISED = (
    "__float__", "__int__", "__index__", "__len__", "__iter__", "__getitem__", "__contains__",
    "__array__", "__bool__", "__repr__", "__str__", "__eq__", "__lt__", "__hash__", "__call__",
    "__fspath__", "__format__",
)  # fmt: skip


class AwkwardError(Exception):
    """Raised by the objects below; it must never come out of the package."""


class OwnError(Exception):
    """Raised by a function that a caller hands over: it comes through as it is."""


def raising(*names: str) -> Any:
    """An object whose methods of these names raise."""

    def refusing(name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise (OwnError if name == "__call__" else AwkwardError)("57913579")

        return refuse

    return type("Raising", (), {name: refusing(name) for name in names})()


def returning(make: Callable[[], Any], like: Any = None) -> Callable[..., Any]:
    """A function that returns an awkward value; it says that it takes the arguments of `like`."""
    value = make()

    def function(*_: Any, **__: Any) -> Any:
        return value

    return function if like is None else functools.update_wrapper(function, like)


def own_error(*_: Any, **__: Any) -> Any:
    raise OwnError("57913579")


class Unwilling:
    """A class that makes no instance."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise OwnError("57913579")


class Table:
    """A data frame of some other library: the protocol, the columns, and an array behind them."""

    columns = ("price", "budget")

    def __dataframe__(self, **_: Any) -> Any:
        raise AwkwardError("57913579")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([[0.5, 0.6], [0.7, 0.8]], dtype=dtype)


class Quantity(np.ndarray):
    """An array with a meaning of its own, such as a unit."""


class LyingLength:
    """Says that it is very long."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, place: int) -> float:
        return 0.5


def deep(depth: int) -> list[Any]:
    inner: list[Any] = [1.0]
    for _ in range(depth):
        inner = [inner]
    return inner


def forever() -> Iterator[float]:
    while True:
        yield 0.5


def _masked() -> np.ndarray:
    return np.ma.masked_array([0.5, 0.6], mask=[False, True])


def _structured() -> np.ndarray:
    return np.array([(0.5, 0.6)], dtype=[("price", "f8"), ("budget", "f8")])


NUMBERS: dict[str, Callable[[], Any]] = {
    "0": lambda: 0,
    "-1": lambda: -1,
    "3": lambda: 3,
    "True": lambda: True,
    "False": lambda: False,
    "2**53+1": lambda: 2**53 + 1,
    "2**63": lambda: 2**63,
    "-2**63-1": lambda: -(2**63) - 1,
    "10**30": lambda: 10**30,
    "4300 digits": lambda: 10**4299,
    "5001 digits": lambda: 10**5000,
    "-5001 digits": lambda: -(10**5000),
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "-0.0": lambda: -0.0,
    "0.5": lambda: 0.5,
    "-1.5": lambda: -1.5,
    "1e30": lambda: 1e30,
    "1.8e308": lambda: 1.7e308,
    "5e-324": lambda: 5e-324,
    "1j": lambda: 1j,
    "1+0j": lambda: complex(1, 0),
    "int8": lambda: np.int8(-1),
    "uint64": lambda: np.uint64(2**64 - 1),
    "bool_": lambda: np.bool_(True),
    "float16": lambda: np.float16(0.1),
    "float32 nan": lambda: np.float32("nan"),
    "longdouble": lambda: np.longdouble("1e4000"),
    "complex64": lambda: np.complex64(1),
    "timedelta": lambda: np.timedelta64(5, "s"),
    "timedelta NaT": lambda: np.timedelta64("NaT"),
    "datetime": lambda: np.datetime64("2020-01-01"),
    "datetime NaT": lambda: np.datetime64("NaT"),
    "Fraction": lambda: Fraction(1, 3),
    "huge Fraction": lambda: Fraction(10**400),
    "Decimal": lambda: Decimal("0.1"),
    "Decimal NaN": lambda: Decimal("NaN"),
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Decimal inf": lambda: Decimal("Infinity"),
    "huge Decimal": lambda: Decimal("1e99999999"),
    "pandas NA": lambda: pd.NA,
    "pandas NaT": lambda: pd.NaT,
    "Timestamp": lambda: pd.Timestamp("2020-01-01"),
}

TEXTS: dict[str, Callable[[], Any]] = {
    "empty text": lambda: "",
    "blank": lambda: "  ",
    "no": lambda: "no",
    "text False": lambda: "False",
    "digits": lambda: "3",
    "1/0": lambda: "1/0",
    "text nan": lambda: "nan",
    "1e999999999": lambda: "1e999999999",
    "surrogate": lambda: "\ud800",
    "NUL": lambda: "a\x00b",
    "lines": lambda: "a\nb",
    "long text": lambda: "x" * 10**6,
    "bytes": lambda: b"1",
    "bytearray": lambda: bytearray(b"12"),
    "memoryview": lambda: memoryview(b"12"),
    "NUL path": lambda: Path("a\x00b"),
    "missing path": lambda: Path("missing/deeper/file"),
    "folder": lambda: Path(),
}

CONTAINERS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "set of floats": lambda: {0.5, 0.6},
    "dict of text": lambda: {"a": 1},
    "dict of int": lambda: {1: 2},
    "dict of None": lambda: {None: None},
    "dict of group": lambda: {"values": "x"},
    "[None]": lambda: [None],
    "[text]": lambda: ["x", "y"],
    "[number, text]": lambda: [1.0, "x"],
    "[surrogate]": lambda: ["\ud800"],
    "[nan]": lambda: [math.nan, 1.0],
    "[inf]": lambda: [math.inf, 1.0],
    "[10**400]": lambda: [10**400, 1],
    "[2**63]": lambda: [2**63],
    "[-1]": lambda: [-1],
    "[True]": lambda: [True, False],
    "[complex]": lambda: [1j, 0.5],
    "[object]": lambda: [object()],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "deep": lambda: deep(40),
    "very deep": lambda: deep(5000),
    "two masked": lambda: [_masked(), _masked()],
    "two tables": lambda: [pd.DataFrame({"a": [0.5]}), pd.DataFrame({"a": [0.6]})],
    "range": lambda: range(10**12),
    "huge range": lambda: range(2**63 + 1),
    "count": itertools.count,
    "forever": forever,
    "no items": lambda: iter(()),
    "slice": lambda: slice(None),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "no entries": lambda: np.empty(0),
    "0-d": lambda: np.array(0.5),
    "0-d text": lambda: np.array("x"),
    "0-d object": lambda: np.array(None, dtype=object),
    "five": lambda: np.full(5, 0.5),
    "2 x 2": lambda: np.full((2, 2), 0.5),
    "2 x 0": lambda: np.empty((2, 0)),
    "3-d": lambda: np.full((2, 2, 2), 0.5),
    "int array": lambda: np.array([7, 2**62]),
    "bool array": lambda: np.array([True, False]),
    "text array": lambda: np.array(["1", "2"]),
    "bytes array": lambda: np.array([b"1", b"2"]),
    "object array": lambda: np.array([object(), 0.5], dtype=object),
    "complex array": lambda: np.array([0.5 + 1j, 0.6]),
    "NaT array": lambda: np.array(["NaT", "NaT"], dtype="M8[s]"),
    "timedelta array": lambda: np.array([1, 2], dtype="m8[s]"),
    "structured": _structured,
    "record array": lambda: _structured().view(np.recarray),
    "masked": _masked,
    "masked constant": lambda: np.ma.masked,
    "matrix": lambda: np.asmatrix(np.full((1, 2), 0.5)),
    "array with a unit": lambda: np.full(2, 0.5).view(Quantity),
    "broadcast": lambda: np.broadcast_to(0.5, (2**45,)),
    "DataFrame": lambda: pd.DataFrame({"price": [0.5, 0.6], "budget": [0.7, 0.8]}),
    "one column": lambda: pd.DataFrame({"price": [0.5, 0.6]}),
    "no rows": pd.DataFrame,
    "Series": lambda: pd.Series([0.5, 0.6], index=[1, 0]),
    "Series of text": lambda: pd.Series(["a", "b"]),
    "Series with NA": lambda: pd.Series([1, None], dtype="Int64"),
    "Categorical": lambda: pd.Categorical(["a", "b"]),
    "table": Table,
    "lying length": LyingLength,
    "csr": lambda: sparse.csr_array(np.eye(2)),
    "csr matrix": lambda: sparse.csr_matrix(np.eye(2)),
    "bsr": lambda: sparse.bsr_array(np.eye(2)),
    "dia": lambda: sparse.dia_array(np.eye(2)),
    "dok": lambda: sparse.dok_array(np.eye(2)),
    "lil": lambda: sparse.lil_array(np.eye(2)),
    "coo vector": lambda: sparse.coo_array(np.ones(2)),
    "complex csr": lambda: sparse.csr_array(np.eye(2) * 1j),
    "csr of nan": lambda: sparse.csr_array(np.full((1, 2), math.nan)),
}

OBJECTS: dict[str, Callable[[], Any]] = {
    "object": object,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "module": lambda: np.random,
    "RandomState": lambda: np.random.RandomState(0),
    "lambda": lambda: lambda *_, **__: 0,
    "function that raises": lambda: own_error,
    "class itself": lambda: Unwilling,
    "raises everywhere": lambda: raising(*RAISED),
    **{f"raises in {name}": lambda name=name: raising(name) for name in RAISED},
    "raises in len and getitem": lambda: raising("__len__", "__getitem__"),
}

CATALOGUE: dict[str, Callable[[], Any]] = {
    **NUMBERS,
    **TEXTS,
    **CONTAINERS,
    **ARRAYS,
    **OBJECTS,
}

#: Prefix of the values that stand for functions which return one of the catalogue.
RETURNS = "returns "
RETURNED = [RETURNS + name for name in CATALOGUE]


def made(value: str, like: Any = None) -> Any:
    """A value by its name; a function is made `like` the one in its place."""
    name = value.removeprefix(RETURNS)
    return CATALOGUE[name]() if name == value else returning(CATALOGUE[name], like)
