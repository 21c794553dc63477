"""Arrays of a model are read as they are meant, or refused with what to do: never reshaped.

Where there are as many states as actions nothing can be told of the order of axes; the docstring
says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.promises.adapter import errors, model_of_arrays, optimal_value, private_model

S, A, K = 3, 2, 4
RNG = np.random.default_rng(0)
#: T[state, action, next], r[state, action], cost[kind, state, action].
T = RNG.dirichlet(np.ones(S), size=(S, A))
R, COST = RNG.random((S, A)), RNG.random((K, S, A))


def made(*, T: Any = T, r: Any = R, cost: Any = COST, **more: Any) -> Any:
    start = np.eye(1, np.shape(r)[0])[0]
    limit = np.full(np.shape(cost)[0] if np.ndim(cost) == 3 else 1, 9.0)
    return model_of_arrays(T, r, gamma=0.9, start=start, cost=cost, limit=limit, **more)


def test_dense_and_sparse_transitions_are_one_model() -> None:
    dense, flat = made(), made(T=sparse.coo_array(T.reshape(S * A, S)))
    assert optimal_value(dense) == optimal_value(flat)


#: Arrays in another order, and what is to be passed instead.
TRANSPOSED = {
    "action first": (T.transpose(1, 0, 2), "T.transpose(1, 0, 2)"),
    "next state before action": (T.transpose(0, 2, 1), "T.transpose(0, 2, 1)"),
    "flat": (T.reshape(S * A, S), "T.reshape(3, 2, 3)"),
}


@pytest.mark.parametrize(("given", "instead"), TRANSPOSED.values(), ids=TRANSPOSED)
@pytest.mark.parametrize("name", ["T", "T of private costs", "arrivals"])
def test_transposed_transitions_are_refused_with_the_transposition_to_do(
    given: Any, instead: str, name: str
) -> None:
    make = {
        "T": lambda: made(T=given),
        "T of private costs": lambda: private_model(given, R, gamma=0.9, start=[1.0, 0, 0]),
        "arrivals": lambda: made(arrivals=given),
    }[name]
    name = name.split()[0]
    with pytest.raises(errors.InvalidArgumentError) as told:
        make()
    assert f"{name} must have shape (S, A, S) = (3, 2, 3), or sparse (S·A, S)" in str(told.value)
    assert f"pass {instead.replace('T.', f'{name}.', 1)}" in str(told.value)


SHAPES = [(S, A, A), (A, A, S), (S, S, S), (A * S * S,), (S, A * S), (1, S, A, S), ()]


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_other_shapes_are_refused_with_the_right_one(shape: tuple[int, ...]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"T must have shape \(S, A, S\)"):
        made(T=np.ones(shape))


@pytest.mark.parametrize("shape", [(S, S * A), (A * S, A), (S, S), (S * A + 1, S)])
def test_sparse_matrices_of_other_shapes_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"sparse \(S·A, S\) = \(6, 3\)"):
        made(T=sparse.csr_array(np.ones(shape)))


@pytest.mark.parametrize("transitions", [T, sparse.csr_array(T.reshape(S * A, S))])
def test_transposed_rewards_are_refused_with_the_transposition_to_do(transitions: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"pass r\.T"):
        made(T=transitions, r=R.T, cost=COST.transpose(0, 2, 1))
    with pytest.raises(errors.InvalidArgumentError, match=r"pass r\.T"):
        private_model(transitions, R.T, gamma=0.9, start=[1.0, 0])


def test_transposed_transitions_and_rewards_are_refused_together() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"pass T.transpose.* and r\.T"):
        made(T=T.transpose(1, 0, 2), r=R.T, cost=COST.transpose(0, 2, 1))


def test_transposed_costs_are_refused_with_the_transposition_to_do() -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match=r"cost must .*pass cost\.transpose\(0, 2, 1\)"
    ):
        made(cost=COST.transpose(0, 2, 1))
    with pytest.raises(errors.InvalidArgumentError, match=r"cost must .*pass cost\.T"):
        made(cost=COST[0].T)
    with pytest.raises(errors.InvalidArgumentError, match=r"cost must have shape \(K, 3, 2\)"):
        made(cost=COST.transpose(1, 2, 0))


def test_the_docstring_says_what_cannot_be_told() -> None:
    assert "as many states as actions" in " ".join((type(made()).__doc__ or "").split())
