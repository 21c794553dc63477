"""Annotations say what an argument may be, and what counts as numbers, before anything runs."""

from __future__ import annotations

import math
import pickle
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

from dp_cmdp._src.base import errors
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.envelope import Envelope

if TYPE_CHECKING:
    from dp_cmdp._src.accounting.budget import Number
    from dp_cmdp._src.accounting.ledger import PrivacyLedger

Rule = Callable[[int], int]


@validated
def face(
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
    assert face(**{name: value}) == "inside"


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in REFUSED.items() for v in vs])
def test_anything_else_is_refused_by_name_and_nothing_is_under_way(name, value):
    with pytest.raises(InvalidTypeError, match=f"^{name} must be ") as refusal:
        face(**{name: value})
    assert refusal.value.__context__ is None


# ----------------------------------------------------------------------------- arrays of numbers

NO_NUMBERS = [
    np.array([1 + 2j, 0j]), [1 + 2j, 0.0], ["1", "2"], [1.0, "2"], np.array(["1", "2"]),
    np.array([b"1", b"2"]), np.array(["1", 2.0], dtype=object),
    np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), [[1.0], [1.0, 2.0]],
    sparse.csr_array(np.eye(2)), object(), [10**400],
]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_not_real_is_no_array_and_leaves_no_exception_behind(value: Any) -> None:
    assert check.float_array(value) is None
    with pytest.raises(InvalidArgumentError, match="c must be an array of real numbers") as caught:
        check.vector("c", value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "value",
    [
        [True, False], (1.0, 0.0), np.array([1, 0], dtype=np.uint8), [Fraction(1), 0.0],
        np.array([1.0, 0.0], dtype=np.longdouble), [np.float32(1.0), 0],
        np.array([Decimal(1), np.bool_(False)], dtype=object),
        pd.Series([1.0, 0.0], index=[7, 3]), np.ma.masked_array([1.0, 0.0]),
    ],
)  # fmt: skip
def test_numbers_of_every_kind_become_floats(value: Any) -> None:
    array = check.vector("c", value)
    assert array.dtype == np.float64
    assert array.tolist() == [1.0, 0.0]
    assert not array.flags.writeable
    if isinstance(value, np.ndarray):
        assert not np.shares_memory(array, value)


class Units(np.ndarray):
    """An array whose numbers mean something else than they say."""


TWO_COLUMNS = pd.DataFrame({"price": [0.1, 0.2], "budget": [0.3, 0.4]})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (TWO_COLUMNS, "got a table: name its columns"),
        ([TWO_COLUMNS, TWO_COLUMNS], "got a table"),
        (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "got masked entries"),
        ([np.ma.masked, 1.0], "got masked entries"),
        (np.ones(2).view(Units), "got Units: pass plain numbers"),
        (bytearray(b"12"), "got bytes"),
        (range(10**12), "got more than"),
        (range(2**63 + 1), "got more than"),
    ],
)
def test_what_numpy_would_misread_is_refused_with_the_reason(value: Any, reason: str) -> None:
    for one in (check.vector, check.matrix, check.array, check.integers):
        with pytest.raises(InvalidArgumentError, match=reason):
            one("x", value)


@pytest.mark.parametrize("value", [[True, False], [1.5], [-1], [3], ["1"], [2**63], None])
def test_integers_are_integers_inside_their_range(value: Any) -> None:
    assert check.integers("i", [0, 2], high=3).tolist() == [0, 2]
    with pytest.raises(InvalidArgumentError, match="i must hold integers in"):
        check.integers("i", value, high=3)


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 300, "\ud800", b"x", 3, None])
def test_a_path_is_one_that_a_system_can_take(value: Any) -> None:
    assert check.path("p", "a/b") == Path("a/b")
    with pytest.raises(InvalidArgumentError, match="p must be a"):
        check.path("p", value)


def compressed(kind: str) -> Any:
    source: Any = sparse.random_array(
        (6, 4), density=0.5, format="csr", rng=np.random.default_rng(0)
    )
    return sparse.bsr_array(source, blocksize=(2, 2)) if kind == "bsr" else source.asformat(kind)


SPOILT = [("indices", 0, 10**6), ("indices", -1, -1), ("indptr", 1, 10**6), ("indptr", 1, -3)]
SPOILT += [("indptr", 0, 1), ("indptr", -1, 10**6)]


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_a_sparse_matrix_whose_indices_were_spoilt_is_refused(kind: str) -> None:
    good = check.matrix("A", compressed(kind))
    assert np.array_equal(good.toarray(), compressed(kind).toarray())
    assert not good.data.flags.writeable
    for name, place, value in SPOILT if kind in ("csr", "csc", "bsr") else []:
        bad = compressed(kind)
        getattr(bad, name)[place] = value
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            check.matrix("A", bad)
    bad = compressed(kind)
    if kind == "coo":
        bad.coords[0][0] = 10**6
    elif kind == "lil":
        bad.rows[0], bad.data[0] = [10**6], [1.0]
    elif kind == "dok":
        bad._dict[(10**6, 0)] = 1.0
    elif kind == "dia":
        bad.offsets = np.arange(50)
    else:
        bad.data = bad.data[:2]
    with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
        check.matrix("A", bad)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_entries_of_a_matrix_given_several_times_are_added_exactly_or_refused(form: Any) -> None:
    def row(data: list[float]) -> Any:
        indices = np.zeros(len(data), dtype=np.int32)
        return form((np.array(data), indices, np.array([0, len(data)])), shape=(1, 1))

    assert check.matrix("A", row([1e16, 1.0, -1e16])).toarray().tolist() == [[1.0]]
    for lost in ([0.1, 0.2], [1.7e308, 1.7e308]):
        with pytest.raises(InvalidArgumentError, match="A has several entries at row 0, column 0"):
            check.matrix("A", row(lost))
    thirds = check.matrix("T", row([1 / 3] * 3), round_sums=True)
    assert thirds.toarray()[0, 0] == float(3 * Fraction(1 / 3))


# ----------------------------------------------------------------------------------------- errors


def test_errors_survive_a_way_between_processes_with_what_they_carry() -> None:
    made = [
        errors.RefusedError("no answer", repairs={"row": 1.5}),
        errors.RefusedError("again", repairs=errors.RefusedError("no rows").repairs),
        errors.BudgetExceededError("too much", requested=2, remaining=1),
        errors.LedgerCorruptError("broken", index=3),
        errors.AnswerError("lost", release="paid"),
        errors.InfeasibleError("none", ray=np.ones(2), violation=0.5),
    ]
    for error in made:
        copied = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error)
        assert str(copied) == str(error)
        assert repr(copied.__dict__) == repr(error.__dict__)
    assert issubclass(InvalidTypeError, TypeError)
    assert issubclass(InvalidArgumentError, ValueError)
    assert made[0].repairs == {"row": 1.5}
