"""The checks at the door: what counts as an array of real numbers."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
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


def test_imaginary_parts_are_refused_also_where_warnings_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in ([1.0, 1.0j], np.array([1.0 + 1.0j]), np.array([1.0 + 0.0j])):
            with pytest.raises(InvalidArgumentError):
                _check.vector("x", value)
