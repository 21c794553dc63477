"""The door: annotations say what an argument may be, before the body runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.accounting.budget import Number
    from dp_cmdp.accounting.ledger import PrivacyLedger

Rule = Callable[[int], int]


@door
def entrance(
    envelope: Envelope | None = None,
    *,
    flag: bool = False,
    count: int = 0,
    share: float = 0.0,
    name: str = "",
    path: str | Path = "x",
    number: Number = 1,
    table: Mapping[str, float] | None = None,
    parts: Sequence[int] = (),
    stream: Iterable[int] = (),
    pair: tuple[int, int] = (0, 0),
    rule: Rule | None = None,
    x: ArrayLike = 0.0,
    y: FloatArray | None = None,
    rng: np.random.Generator | None = None,
    ledger: PrivacyLedger | None = None,
    free: Any = None,
    **options: int,
) -> str:
    return "inside"


TAKEN = {
    "envelope": [None, Envelope(0.0, 1.0, shape=1)],
    "flag": [True, False],
    "count": [3, -(10**30), np.int8(2)],
    "share": [0.5, 3, np.float32(0.5), Fraction(1, 3)],
    "name": ["", "é", "a\nb"],
    "path": ["x", Path("x")],
    "number": ["1/3", 0.1, Fraction(1, 3), Decimal("0.1"), np.float64(0.5), np.int64(2)],
    "table": [None, {}, {"a": 1.0}],
    "parts": [(), [1], range(3)],
    "stream": [[1], iter([1]), (n for n in [1])],
    "pair": [(1, 2), [1, 2]],
    "rule": [None, abs],
    "x": [0.5, [1, 2], np.ones(2), pd.Series([1.0, 2.0]), np.ma.masked_array([1.0, 2.0])],
    "y": [None, np.ones(2), np.arange(3)],
    "rng": [None, np.random.default_rng(0)],
    "ledger": [None],
    "free": [None, object(), pd.DataFrame()],
}
REFUSED = {
    "envelope": [0, "x", Envelope],
    "flag": [0, 1, "no", None, np.True_, np.array(True)],
    "count": [True, 1.0, "1", None, np.timedelta64(1, "s"), np.array([1])],
    "share": [True, math.nan, math.inf, 10**400, "1", 1j, None, np.timedelta64(1, "s")],
    "name": [b"x", None, 3, "\ud800"],
    "path": [b"x", 3, None],
    "number": [True, 1j, None, [1], np.timedelta64(1, "s")],
    "table": [[("a", 1.0)], "a", sparse.dok_array(np.eye(2))],
    "parts": ["ab", b"ab", {1}, 3, None],
    "stream": ["ab", {"a": 1}, 3],
    "pair": [3, {1, 2}, "ab"],
    "rule": [3, "abs"],
    "x": [pd.DataFrame({"a": [1.0]}), np.ma.masked_array([1.0], mask=[True]), b"12"],
    "y": [[1.0], np.array(["a"]), np.array([1j])],
    "rng": [0, np.random, np.random.RandomState(0)],
    "ledger": [0, object()],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in TAKEN.items() for v in vs])
def test_what_the_annotation_names_is_taken(name, value):
    assert entrance(**{name: value}) == "inside"


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in REFUSED.items() for v in vs])
def test_anything_else_is_refused_by_name_and_nothing_is_under_way(name, value):
    with pytest.raises(InvalidArgumentError, match=f"^{name} must be ") as refusal:
        entrance(**{name: value})
    assert refusal.value.__context__ is None


def test_places_and_names_of_arguments_are_treated_alike():
    with pytest.raises(InvalidArgumentError, match="envelope must be an Envelope or None; got int"):
        entrance(3)  # pyright: ignore[reportArgumentType]


def test_a_missing_or_unknown_argument_is_pythons_own_type_error():
    @door
    def strict(count: int) -> int:
        return count

    with pytest.raises(TypeError, match="strict"):
        strict()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="strict"):
        strict(1, other=2)  # pyright: ignore[reportCallIssue]


def test_the_door_shows_the_name_text_and_signature_behind_it():
    assert entrance.__name__ == "entrance"
    assert entrance.__wrapped__.__annotations__ == entrance.__annotations__  # pyright: ignore
