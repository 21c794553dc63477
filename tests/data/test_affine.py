"""Affine expressions compute as numpy does, exactly where terms meet, and never look."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.data.affine import Affine, common_envelope
from dp_cmdp._src.data.envelope import Envelope

THETA = Envelope(0, 1, radius=0.1, shape=6)
VALUES = np.array([0.25, 0.5, 0.125, 1.0, 0.75, 0.375])  # dyadic: sums and products are exact
SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (6,),
    (2, 3),
    (3, 2),
    (1, 6),
    (6, 1),
    (1, 2, 3),
    (2, 1, 3),
]


def at(x: Any) -> np.ndarray:
    """The values of an expression as a dense array."""
    found: Any = x.at(VALUES) if isinstance(x, Affine) else x
    return found.toarray() if hasattr(found, "tocsr") else np.asarray(found)


def of_shape(shape: tuple[int, ...], seed: int = 0) -> Affine:
    """Entries and public numbers, mixed, in an array of that shape."""
    rng = np.random.default_rng(seed)
    chosen = THETA[rng.integers(0, 6, size=int(np.prod(shape, dtype=int)))].reshape(*shape)
    return chosen * rng.integers(-2, 3, size=shape) + rng.integers(-3, 4, size=shape)


@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), st.integers(0, 99), st.booleans())
def test_sums_and_products_broadcast_as_arrays_do(
    one: tuple[int, ...], other: tuple[int, ...], seed: int, public: bool
) -> None:
    x, y = of_shape(one, seed), of_shape(other, seed + 1)
    number = np.random.default_rng(seed).integers(-3, 4, size=other)
    pairs: list[tuple[Any, Any]] = [(x, number), (number, x)] + ([] if public else [(x, y)])
    for act in (operator.add, operator.sub, *([operator.mul] if public else [])):
        for a, b in pairs:
            try:
                wanted = act(at(a), at(b))
            except ValueError:
                with pytest.raises(InvalidArgumentError, match="broadcast"):
                    act(a, b)
                continue
            found = act(a, b)
            assert found.shape == wanted.shape
            assert np.array_equal(at(found), wanted)
    assert np.array_equal(at(-x), -at(x))
    assert np.array_equal(at(x / 4), at(x) / 4)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 2), (1, 6)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_matrix_products_are_those_of_arrays(shape: tuple[int, ...], form: Any) -> None:
    x, rng = of_shape(shape), np.random.default_rng(1)
    left = rng.integers(-2, 3, size=(4, shape[0]))
    assert np.array_equal(at(form(left) @ x), left @ at(x))
    if form is np.asarray:
        assert np.array_equal(at(left[0] @ x), left[0] @ at(x))
        right = rng.integers(-2, 3, size=(shape[-1], 2))
        assert np.array_equal(at(x @ right), at(x) @ right)
        assert np.array_equal(at(x @ right[:, 0]), at(x) @ right[:, 0])
    with pytest.raises(InvalidArgumentError, match="fit"):
        _ = np.ones((2, 7)) @ x
    if len(shape) == 2:
        table = np.random.default_rng(2).integers(-1, 2, size=shape)
        for act in (operator.add, operator.sub, operator.mul):
            assert np.array_equal(at(act(x, form(table))), act(at(x), table))
        for act in (operator.add, operator.sub):
            assert np.array_equal(at(act(form(table), x)), act(table, at(x)))


KEYS: list[Any] = [0, -1, slice(None), slice(0, 1), (0, 1), (slice(None), [2, 0]), ([0, 1], [2, 0])]
KEYS += [np.array([[True, False, True], [False, True, False]]), (..., 1), (None, 0)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_are_those_of_arrays(key: Any) -> None:
    x = of_shape((2, 3))
    assert np.array_equal(at(x[key]), at(x)[key])
    assert x[key].shape == at(x)[key].shape


def test_shapes_change_as_those_of_arrays() -> None:
    x = of_shape((2, 3))
    for shape in ((6,), (3, 2), (1, 6), (-1,), (2, -1), (1, 2, 3)):
        assert np.array_equal(at(x.reshape(*shape)), at(x).reshape(shape))
        assert np.array_equal(at(x.reshape(shape)), at(x).reshape(shape))
    for axis in (None, 0, 1, -1):
        assert np.array_equal(at(x.sum(axis)), at(x).sum(axis))
    assert at(THETA[:].sum().reshape(1)).shape == (1,)
    assert np.array_equal(at(x.T), at(x).T)
    assert [at(row).tolist() for row in x] == at(x).tolist()
    assert (len(x), x.ndim, x.size) == (2, 2, 6)
    for wrong in ((4,), (2, 2), ("x",)):
        with pytest.raises(InvalidArgumentError, match="shape"):
            x.reshape(*wrong)
    with pytest.raises(InvalidArgumentError, match="axis"):
        x.sum(2)
    with pytest.raises(InvalidArgumentError, match="index must fit"):
        x[7]
    with pytest.raises(InvalidTypeError, match="public"):
        x[THETA[0]]


def test_lists_of_numbers_and_expressions_are_arrays() -> None:
    rows = Affine.of([[THETA[0], 2 * THETA[1]], [3, 1 - THETA[0]]])
    assert np.array_equal(at(rows), [[0.25, 1.0], [3, 0.75]])
    assert at(Affine.of([THETA[2]])).tolist() == [0.125]
    assert Affine.of([1, 2], THETA).is_public
    assert Affine.of(np.eye(2)).envelope.size == 0
    assert np.array_equal(at(Affine.of([np.ones(2), THETA[:2]])), [[1, 1], [0.25, 0.5]])
    with pytest.raises(InvalidArgumentError, match="one shape"):
        Affine.of([[THETA[0]], [THETA[0], THETA[1]]])
    with pytest.raises(InvalidArgumentError, match="finite"):
        Affine.of([np.nan])


def test_joined_groups_have_their_own_shapes() -> None:
    theta = Envelope.join({"pay": Envelope(0, 1, shape=(2, 2)), "limit": Envelope(3, 9)})
    values = np.array([1, 2, 3, 4, 5.0])
    assert theta["pay"].at(values).toarray().tolist() == [[1, 2], [3, 4]]
    assert theta["limit"].shape == ()
    assert theta["limit"].at(values) == 5
    assert theta[4].at(values) == 5
    assert theta[:].shape == (5,)
    one = Envelope(0, 1)
    assert one[0].shape == ()
    assert one[[0, 0]].at(np.array([0.5])).tolist() == [0.5, 0.5]


def test_entries_are_found_by_their_labels() -> None:
    axes = {"group": ["young", "old"], "advertiser": ["Acme", "Bolt"]}
    price, budget = Envelope(0, 1, labels=axes), Envelope(0, 1, labels=["Acme ", "Bolt"])
    theta = Envelope.join({"price": price, "budget": budget})
    assert price.loc["old", "Acme"].entry.tolist() == [2]
    assert price.loc["old"].entry.tolist() == [2, 3]
    assert price.loc[:, "Bolt"].entry.tolist() == [1, 3]
    assert theta.loc["budget", "Bolt"].entry.tolist() == [5]
    assert theta.loc["budget", [" Bolt", "Acme"]].entry.tolist() == [5, 4]
    assert theta.loc["price", "young", ["Bolt"]].shape == (1,)
    for key in (("budget", "Cone"), ("price", "old", "Acme", 3), ("nothing", "Bolt")):
        with pytest.raises(InvalidArgumentError):
            theta.loc[key]
    with pytest.raises(InvalidArgumentError, match="no labels"):
        THETA.loc[0]


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "look",
    [float, int, bool, complex, list, abs, lambda x: x == 1, lambda x: x != 1,
     lambda x: x < 1, lambda x: x in [1], lambda x: x**2, lambda x: 1 / x,
     lambda x: np.ones(2) == x, lambda x: np.sum(x), lambda x: range(5)[x], hash,
     lambda x: x * x, lambda x: x * THETA[1], lambda x: x @ x],
)  # fmt: skip
def test_whatever_would_look_at_private_numbers_is_a_type_error(look: Any) -> None:
    with pytest.raises(TypeError):
        look(THETA[0])


def test_envelopes_do_not_mix_and_equal_ones_do() -> None:
    same = Envelope(0, 1, radius=0.1, shape=6)
    other = Envelope(0, 2, radius=0.1, shape=6)
    assert np.array_equal(at(THETA[0] + same[1]), at(THETA[0]) + at(THETA[1]))
    for mix in (lambda: THETA[0] + other[0], lambda: Affine.of([THETA[0], other[0]])):
        with pytest.raises(InvalidArgumentError, match=r"one envelope.*join"):
            mix()
    assert common_envelope(3, [[THETA[0]]], np.ones(2)) is THETA
    assert common_envelope([1], np.ones(2)).size == 0
    public = Affine.of([1.0, 2.0])
    assert np.array_equal(at(public + THETA[:2]), at(THETA[:2] + public))


# ----------------------------------------------------------------------- exact sums, sparse arrays


LOST = [1e16, 1.0, -1e16]  # 1 in exact arithmetic, 0 in floats


@pytest.mark.parametrize(
    "terms", [LOST, [0.1, 0.2], [0.1, 0.7, -0.3], [1e308, 1.0], [5e-324, 1.0, -1.0]]
)
@pytest.mark.parametrize("order", [1, -1])
def test_terms_that_meet_keep_their_exact_sum_in_pieces_of_one_sign(
    terms: list[float], order: int
) -> None:
    parts = [factor * THETA[0] for factor in terms[::order]]
    at_once = Affine.sparse(
        THETA[[0] * len(terms)] * np.array(terms[::order]),
        ([0] * len(terms), [1] * len(terms)),
        (1, 2),
    )
    one_by_one = parts[0]
    for part in parts[1:-1]:
        one_by_one = one_by_one + part
    for found in (at_once, one_by_one + parts[-1]):
        assert sum(map(Fraction, found.coefficient.tolist())) == sum(map(Fraction, terms))
        assert np.unique(np.sign(found.coefficient)).size == 1


def test_terms_that_cancel_leave_nothing_to_read() -> None:
    assert (THETA[0] - THETA[0]).is_public
    assert (0.0 * THETA[0]).is_public
    with pytest.raises(InvalidArgumentError, match="coefficients"):
        _ = 1.7e308 * THETA[0] + 1.7e308 * THETA[0]
    with pytest.raises(InvalidArgumentError, match="finite"):
        _ = 1e308 * (1e308 * THETA[0])
    with pytest.raises(InvalidArgumentError, match="finite"):
        _ = 1e308 * (1e308 + THETA[0])


def test_sparse_arrays_are_those_of_scipy() -> None:
    row, col = [0, 0, 1, 0], [1, 2, 0, 1]
    constant = np.arange(6).reshape(2, 3)
    found = Affine.sparse(1 + THETA[:4], (row, col), (2, 3), constant=constant)
    table = sparse.coo_array((1 + VALUES[:4], (row, col)), shape=(2, 3)).toarray()
    assert np.array_equal(at(found), table + constant)
    for wrong in (
        lambda: Affine.sparse(THETA[:2], ([0, 2], [0, 0]), (2, 3)),
        lambda: Affine.sparse(THETA[:2], ([0], [0]), (2, 3)),
        lambda: Affine.sparse(THETA[:2], ([0, 1],), (2, 3)),  # type: ignore[arg-type]
        lambda: Affine.sparse(THETA[:2].reshape(1, 2), ([0, 1], [0, 1]), (2, 3)),
        lambda: Affine.sparse(THETA[:2], ([0, 1], [0, 0.5]), (2, 3)),
    ):
        with pytest.raises(InvalidArgumentError):
            wrong()
