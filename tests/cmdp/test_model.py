"""Models of known numbers: arrays are read as they are meant, or refused with what to do."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dp_cmdp as dp
from tests.cmdp.models import line

InvalidArgumentError = dp.errors.InvalidArgumentError
S, A, K = 3, 2, 4
RNG = np.random.default_rng(0)
#: T[state, action, next], r[state, action], cost[kind, state, action].
T = RNG.dirichlet(np.ones(S), size=(S, A))
R, COST = RNG.random((S, A)), RNG.random((K, S, A))


def made(*, T: Any = T, r: Any = R, cost: Any = COST, gamma: float = 0.9, **more: Any) -> dp.CMDP:
    limit = np.full(np.shape(cost)[0] if np.ndim(cost) == 3 else 1, 9.0)
    return dp.CMDP(T, r, gamma=gamma, cost=cost, limit=limit, **more)


def private(T: Any, r: Any) -> dp.ParametricCMDP:
    cost = dp.PrivateCost(states=[0], actions=[0], cost=dp.Envelope(0, 1), limit=dp.Envelope(1, 2))
    return dp.ParametricCMDP(T, r, gamma=0.9, costs=cost)


@pytest.mark.parametrize("row", [[0.9, 0.0, 0.0], [1.2, -0.2, 0.0], [1.0, 1e-6, 0.0]])
def test_transitions_that_are_no_distributions_are_refused(row):
    broken = T.copy()
    broken[1, 1] = row
    with pytest.raises(InvalidArgumentError, match="T must"):
        made(T=broken)


@pytest.mark.parametrize("gamma", [1.0, 1.5, -0.1, np.nan, "0.9"])
def test_a_discount_of_one_or_outside_the_unit_interval_is_refused(gamma):
    with pytest.raises(InvalidArgumentError, match="gamma must"):
        made(gamma=gamma)


@pytest.mark.parametrize("start", [3, -1, 0.5, [1.0, 0.0], [0.5, 0.2, 0.2], [2.0, -1.0, 0.0], "a"])
def test_a_start_that_is_no_state_and_no_distribution_is_refused(start):
    with pytest.raises(InvalidArgumentError, match="start must"):
        made(start=start)


def test_a_start_is_a_state_or_a_distribution():
    assert made(start=2).start.tolist() == [0, 0, 1]
    assert made(start=[0.25, 0.5, 0.25]).start.tolist() == [0.25, 0.5, 0.25]
    assert made().start.tolist() == [1, 0, 0]


def test_visits_that_would_be_infinite_are_refused():
    stay = np.array([[[1.0]]]) * (1 + 9e-10)  # within the tolerance of row sums
    facts = {"r": [[1.0]], "cost": [[1.0]]}
    with pytest.raises(InvalidArgumentError, match="gamma times every row sum of T"):
        made(T=stay, gamma=1 - 1e-10, **facts)
    assert made(T=stay, gamma=1 - 1e-8, **facts).gamma == 1 - 1e-8


@pytest.mark.parametrize(("size", "gamma"), [(1e308, 0.5), (2e305, 0.999), (2e301, 0.9999999)])
def test_rewards_and_costs_whose_discounted_sums_overflow_are_refused(size, gamma):
    with pytest.raises(InvalidArgumentError, match=r"^cost must be at most .* rescale"):
        made(cost=size * np.ones((S, A)), gamma=gamma)
    with pytest.raises(InvalidArgumentError, match=r"^r must be at most .* rescale"):
        made(r=size * np.ones((S, A)), gamma=gamma)
    theta = dp.Envelope(0.0, size)
    model = dp.ParametricCMDP(
        T, R, gamma=gamma, costs=dp.PrivateCost(states=[0], cost=theta, limit=1.0)
    )
    with pytest.raises(InvalidArgumentError, match=r"^cost must be at most .* rescale"):
        model.answer(model.envelope.uncertainty)


@pytest.mark.parametrize("limit", [[1.0, 2.0], [np.nan], "x"])
def test_limits_must_be_one_number_per_cost(limit):
    with pytest.raises(InvalidArgumentError, match="limit"):
        dp.CMDP(T, R, cost=COST[0], limit=limit, gamma=0.9)


@pytest.mark.parametrize(
    ("arrivals", "rule"),
    [
        (-np.eye(4)[:, None], "negative"),
        (np.eye(4), r"pass arrivals.reshape\(4, 1, 4\)"),
        ("x", "real"),
    ],
)
def test_arrivals_must_be_counts_of_every_pair(arrivals, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        dp.CMDP(**line(arrivals=arrivals), cost=np.zeros((4, 1)), limit=1.0)


# -------------------------------------------------- arrays in another order are never reshaped


def test_dense_and_sparse_transitions_are_one_model() -> None:
    dense, flat = made(), made(T=sparse.coo_array(T.reshape(S * A, S)))
    assert dp.answer(dense).value == dp.answer(flat).value


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
        "T of private costs": lambda: private(given, R),
        "arrivals": lambda: made(arrivals=given),
    }[name]
    name = name.split()[0]
    with pytest.raises(InvalidArgumentError) as told:
        make()
    assert f"{name} must have shape (S, A, S) = (3, 2, 3), or sparse (S·A, S)" in str(told.value)
    assert f"pass {instead.replace('T.', f'{name}.', 1)}" in str(told.value)


SHAPES = [(S, A, A), (A, A, S), (S, S, S), (A * S * S,), (S, A * S), (1, S, A, S), ()]


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_other_shapes_are_refused_with_the_right_one(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"T must have shape \(S, A, S\)"):
        made(T=np.ones(shape))


@pytest.mark.parametrize("shape", [(S, S * A), (A * S, A), (S, S), (S * A + 1, S)])
def test_sparse_matrices_of_other_shapes_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"sparse \(S·A, S\) = \(6, 3\)"):
        made(T=sparse.csr_array(np.ones(shape)))


@pytest.mark.parametrize("transitions", [T, sparse.csr_array(T.reshape(S * A, S))])
def test_transposed_rewards_are_refused_with_the_transposition_to_do(transitions: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"pass r\.T"):
        made(T=transitions, r=R.T, cost=COST.transpose(0, 2, 1))
    with pytest.raises(InvalidArgumentError, match=r"pass r\.T"):
        private(transitions, R.T)


def test_transposed_transitions_and_rewards_are_refused_together() -> None:
    with pytest.raises(InvalidArgumentError, match=r"pass T.transpose.* and r\.T"):
        made(T=T.transpose(1, 0, 2), r=R.T, cost=COST.transpose(0, 2, 1))


def test_transposed_costs_are_refused_with_the_transposition_to_do() -> None:
    with pytest.raises(InvalidArgumentError, match=r"cost must .*pass cost\.transpose\(0, 2, 1\)"):
        made(cost=COST.transpose(0, 2, 1))
    with pytest.raises(InvalidArgumentError, match=r"cost must .*pass cost\.T"):
        made(cost=COST[0].T)
    with pytest.raises(InvalidArgumentError, match=r"cost must have shape \(K, 3, 2\)"):
        made(cost=COST.transpose(1, 2, 0))


def test_the_docstring_says_what_cannot_be_told() -> None:
    assert "as many states as actions" in " ".join((type(made()).__doc__ or "").split())
