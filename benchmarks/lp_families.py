"""Four families of linear programs as files: transport, multi-commodity flow, staircase, set cover.

Each generator returns a HiGHS model, whose numbers are public or private as a benchmark says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from scipy import sparse

INF = np.inf


def transport(size: int, seed: int) -> highspy.HighsLp:
    """`size` depots serve 3·`size` customers: supplies ≤, demands ≥, least cost."""
    rng = np.random.default_rng(seed)
    depots, customers = size, 3 * size
    places = rng.random((depots + customers, 2))
    distance = np.linalg.norm(places[:depots, None] - places[None, depots:], axis=2)
    demand = rng.integers(5, 50, customers).astype(float)
    supply = rng.dirichlet(np.full(depots, 5.0)) * 1.3 * demand.sum()
    out = sparse.kron(sparse.eye_array(depots), np.ones((1, customers)))
    into = sparse.kron(np.ones((1, depots)), sparse.eye_array(customers))
    return _model(
        (100 * distance).round(2).ravel(),
        sparse.vstack([out, into]),
        rows=(
            np.concatenate([np.full(depots, -INF), demand]),
            np.concatenate([supply.round(1), np.full(customers, INF)]),
        ),
        names=[f"supply{i}" for i in range(depots)] + [f"demand{j}" for j in range(customers)],
    )


def multicommodity(size: int, seed: int) -> highspy.HighsLp:
    """Six commodities share the arcs of a random network of `size` nodes; overflow costs."""
    rng = np.random.default_rng(seed)
    nodes, kinds = size, 6
    tail = np.concatenate([np.arange(nodes), rng.integers(0, nodes, 3 * nodes)])
    head = np.concatenate([(np.arange(nodes) + 1) % nodes, rng.integers(0, nodes, 3 * nodes)])
    keep = tail != head
    tail, head = tail[keep], head[keep]
    arcs = tail.size
    at = np.arange(arcs)
    network = sparse.csr_array(
        (np.repeat([1.0, -1.0], arcs), (np.concatenate([tail, head]), np.tile(at, 2))),
        shape=(nodes, arcs),
    )
    ends = np.stack([rng.choice(nodes, 2, replace=False) for _ in range(kinds)])
    amount = rng.integers(10, 40, kinds).astype(float)
    balance = np.zeros((kinds, nodes))
    balance[np.arange(kinds), ends[:, 0]] = amount
    balance[np.arange(kinds), ends[:, 1]] = -amount
    overflow = sparse.csr_array(
        np.where(balance > 0, 1.0, np.where(balance < 0, -1.0, 0.0)).reshape(-1, 1)
    )
    escape = sparse.csr_array(
        (
            overflow.toarray().ravel(),
            (np.arange(kinds * nodes), np.repeat(np.arange(kinds), nodes)),
        ),
        shape=(kinds * nodes, kinds),
    )
    flow = sparse.hstack([sparse.kron(sparse.eye_array(kinds), network), escape])
    joint = sparse.hstack(
        [sparse.kron(np.ones((1, kinds)), sparse.eye_array(arcs)), sparse.csr_array((arcs, kinds))]
    )
    capacity = rng.integers(5, 30, arcs).astype(float)
    cost = np.concatenate(
        [np.tile(rng.uniform(1, 10, arcs).round(2), kinds), np.full(kinds, 500.0)]
    )
    return _model(
        cost,
        sparse.vstack([flow, joint]),
        rows=(
            np.concatenate([balance.ravel(), np.full(arcs, -INF)]),
            np.concatenate([balance.ravel(), capacity]),
        ),
        names=[f"flow{k}_{v}" for k in range(kinds) for v in range(nodes)]
        + [f"capacity{a}" for a in range(arcs)],
    )


def staircase(size: int, seed: int) -> highspy.HighsLp:
    """`size` periods of 12 products on 8 machines: stock balances, machine hours, overtime."""
    rng = np.random.default_rng(seed)
    periods, products, machines = size, 12, 8
    hours = rng.uniform(0.5, 2.0, (machines, products)).round(3) * (
        rng.random((machines, products)) < 0.5
    )
    demand = rng.integers(5, 30, (periods, products)).astype(float)
    limit = np.ceil(0.9 * (hours @ demand.mean(axis=0)))
    ones, none = sparse.eye_array(products), sparse.csr_array((products, machines))
    now = sparse.hstack([ones, -ones, none])  # made, stocked, overtime
    before = sparse.hstack([sparse.csr_array((products, products)), ones, none])
    balance = sparse.kron(sparse.eye_array(periods), now) + sparse.kron(
        sparse.eye_array(periods, k=-1), before
    )
    use = sparse.hstack(
        [
            sparse.csr_array(hours),
            sparse.csr_array((machines, products)),
            -sparse.eye_array(machines),
        ]
    )
    cost = np.concatenate(
        [rng.uniform(1, 5, products), rng.uniform(0.1, 0.5, products), np.full(machines, 20.0)]
    ).round(3)
    rising = 1.0 + 0.02 * np.arange(periods)
    return _model(
        (rising[:, None] * cost).round(3).ravel(),
        sparse.vstack([balance, sparse.kron(sparse.eye_array(periods), use)]),
        rows=(
            np.concatenate([demand.ravel(), np.full(periods * machines, -INF)]),
            np.concatenate([demand.ravel(), np.tile(limit, periods)]),
        ),
        names=[f"balance{t}_{p}" for t in range(periods) for p in range(products)]
        + [f"hours{t}_{m}" for t in range(periods) for m in range(machines)],
    )


def set_cover(size: int, seed: int) -> highspy.HighsLp:
    """`size` sets cover 2·`size` elements, each element in some ten of them: relaxed, x ≤ 1."""
    rng = np.random.default_rng(seed)
    sets, elements = size, 2 * size
    number = rng.integers(4, 16, elements)
    member = np.concatenate([rng.choice(sets, k, replace=False) for k in number])
    A = sparse.csr_array(
        (np.ones(member.size), (np.repeat(np.arange(elements), number), member)),
        shape=(elements, sets),
    )
    return _model(
        rng.integers(1, 100, sets).astype(float),
        A,
        rows=(np.ones(elements), np.full(elements, INF)),
        upper=1.0,
        names=[f"element{e}" for e in range(elements)],
    )


FAMILIES: dict[str, Callable[[int, int], highspy.HighsLp]] = {
    "transport": transport,
    "multi-commodity": multicommodity,
    "staircase": staircase,
    "set cover": set_cover,
}


def write_file(model: highspy.HighsLp, path: Path) -> Path:
    """The model as an MPS file."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(model)
    highs.writeModel(str(path))
    return path


def _model(
    cost: np.ndarray,
    matrix: Any,
    *,
    rows: tuple[np.ndarray, np.ndarray],
    names: list[str],
    upper: float = INF,
) -> highspy.HighsLp:
    columns = sparse.csc_array(matrix)
    columns.eliminate_zeros()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.zeros(cost.size), np.full(cost.size, upper)
    model.row_lower_, model.row_upper_ = rows
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr
    model.a_matrix_.index_ = columns.indices
    model.a_matrix_.value_ = columns.data
    model.row_names_ = names
    model.col_names_ = [f"x{j}" for j in range(cost.size)]
    return model
