"""The checks at the door: what counts as an array of real numbers."""

import itertools
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp.errors import InvalidArgumentError

NO_NUMBERS = [
    np.array([1 + 2j, 0j]),
    [1 + 2j, 0.0],
    np.array([1.0, np.complex128(1 + 1j)], dtype=object),
    ["1", "2"],
    [1.0, "2"],
    np.array(["1", "2"]),
    np.array([b"1", b"2"]),
    np.array(["1", 2.0], dtype=object),
    np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    [[1.0], [1.0, 2.0]],
    sparse.csr_array(np.eye(2)),
    object(),
]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_not_real_is_no_array_and_makes_no_warning(value):
    assert _check.float_array(value) is None
    with pytest.raises(InvalidArgumentError, match="c must be an array of real numbers") as refusal:
        _check.vector("c", value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize(
    "value",
    [
        [True, False],
        [1, 0],
        (1.0, 0.0),
        np.array([1, 0], dtype=np.uint8),
        np.array([1.0, 0.0], dtype=np.longdouble),
        [Fraction(1), Fraction(0)],
        [Fraction(1), 0.0],
        np.array([Decimal(1), np.bool_(False)], dtype=object),
        [np.float32(1.0), 0],
    ],
)
def test_numbers_of_every_kind_become_floats(value):
    array = _check.float_array(value)
    assert array is not None
    assert array.dtype == np.float64
    assert array.tolist() == [1.0, 0.0]


def test_integers_beyond_the_machine_are_numbers():
    assert _check.vector("c", [10**30, 1]).tolist() == [1e30, 1.0]
    assert _check.float_array([10**400, 1]) is None


def test_a_float_array_is_copied_so_that_freezing_it_leaves_the_caller_alone():
    given = np.ones(3)
    array = _check.vector("c", given)
    assert not np.shares_memory(array, given)
    assert given.flags.writeable


def test_without_copy_a_float_array_is_taken_as_it_is():
    given = np.ones((2, 2))
    assert _check.float_array(given, copy=False) is given


@pytest.mark.parametrize(
    "value",
    [
        np.eye(2) * 1j,
        sparse.csr_array(np.eye(2) * 1j),
        [["1", "0"], ["0", "1"]],
        np.array([["1", 0.0]], dtype=object),
        [[1.0], [1.0, 2.0]],
    ],
)
def test_a_matrix_of_no_real_numbers_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="A must be a matrix of real numbers"):
        _check.matrix("A", value)


@pytest.mark.parametrize(
    "value",
    [np.eye(2), sparse.coo_array(np.eye(2, dtype=int)), [[Fraction(1), 0], [0, True]]],
)
def test_a_matrix_is_a_read_only_copy(value):
    made = _check.matrix("A", value)
    assert made.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert made.dtype == np.float64
    assert not made.data.flags.writeable
    if isinstance(value, np.ndarray):
        assert not np.shares_memory(made.data, value)


def test_a_vector_is_no_matrix():
    with pytest.raises(InvalidArgumentError, match="A must be two-dimensional, got 1"):
        _check.matrix("A", [1.0, 2.0])


class Units(np.ndarray):
    """An array whose numbers mean something else than they say."""


class Frame:
    """A table of a library that is not installed."""

    def __dataframe__(self):
        raise AssertionError("a table is recognised, not read")


TWO_COLUMNS = pd.DataFrame({"price": [0.1, 0.2], "budget": [0.3, 0.4]})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (TWO_COLUMNS, "got a table: name its columns"),
        (TWO_COLUMNS[["price"]], "got a table"),
        (Frame(), "got a table"),
        ([TWO_COLUMNS, TWO_COLUMNS], "got a table"),
        (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "got masked entries"),
        ([np.ma.masked, 1.0], "got masked entries"),
        (np.ones(2).view(Units), "got Units: pass plain numbers"),
        (bytearray(b"12"), "got bytes"),
        (range(10**12), "got more than"),
        (range(2**63 + 1), "got more than"),
    ],
)
def test_what_numpy_would_misread_is_refused_with_the_reason(value, reason):
    assert _check.float_array(value) is None
    for check in (_check.vector, _check.matrix, _check.array, _check.integers):
        with pytest.raises(InvalidArgumentError, match=reason):
            check("x", value)


def test_a_series_is_read_by_position_and_an_unmasked_array_as_it_is():
    shuffled = pd.Series([0.1, 0.2, 0.3], index=[2, 0, 1])
    assert _check.vector("x", shuffled).tolist() == [0.1, 0.2, 0.3]
    assert _check.vector("x", np.ma.masked_array([0.1, 0.2])).tolist() == [0.1, 0.2]


@pytest.mark.parametrize("value", [0, 1, "no", "False", None, np.True_, np.array(True), [True]])
def test_a_flag_is_true_or_false(value):
    assert _check.flag("f", True) is True
    with pytest.raises(InvalidArgumentError, match="f must be True or False"):
        _check.flag("f", value)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_too_long_to_write_are_refused_in_words(sign):
    with pytest.raises(InvalidArgumentError, match=r"2\^16609 in size or more"):
        _check.integer("n", sign * 10**5000, high=5)


def test_items_are_not_waited_for_without_end():
    with pytest.raises(InvalidArgumentError, match="at most 10 items"):
        _check.items("n", itertools.count(), most=10)
    assert _check.items("n", iter([1, 2])) == (1, 2)


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 300, "\ud800", b"x", 3, None])
def test_a_path_is_one_that_a_system_can_take(value):
    assert _check.path("p", "a/b") == Path("a/b")
    with pytest.raises(InvalidArgumentError, match="p must be a"):
        _check.path("p", value)


@pytest.mark.parametrize("value", [[True, False], [1.5], [-1], [3], ["1"], [2**63], None])
def test_integers_are_integers_inside_their_range(value):
    assert _check.integers("i", [0, 2], high=3).tolist() == [0, 2]
    with pytest.raises(InvalidArgumentError, match="i must hold integers in"):
        _check.integers("i", value, high=3)


def test_imaginary_parts_are_refused_also_where_warnings_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in ([1.0, 1.0j], np.array([1.0 + 1.0j]), np.array([1.0 + 0.0j])):
            with pytest.raises(InvalidArgumentError):
                _check.vector("x", value)


@pytest.mark.parametrize("value", [True, False])
def test_truth_values_are_no_numbers(value):
    assert not _check.is_real(value)
    assert not _check.is_integer(value)
    with pytest.raises(InvalidArgumentError, match="x must be"):
        _check.real("x", value)
