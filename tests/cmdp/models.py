"""Small models, polytopes of databases, and the truth about both in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import dp_cmdp as dp
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.exact_costs import exact_costs
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import UncertaintySet

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def bounds(cmdp: dp.CMDP, policy: dp.Policy, chain: Any = None) -> np.ndarray:
    """Certain upper bounds on the costs of a policy in a model of known numbers."""
    return (chain or chain_of(cmdp, policy)).cost_bounds(cmdp, policy)


def known_set(lower: Any, upper: Any, W: Any = None, q: Any = ()) -> UncertaintySet:
    lower = np.asarray(lower, dtype=float)
    rows = np.zeros((0, lower.size)) if W is None else np.asarray(W, dtype=float)
    return UncertaintySet(
        lower, np.asarray(upper, float), sparse.csr_array(rows), np.asarray(q, float)
    )


def two_ways() -> tuple[np.ndarray, np.ndarray]:
    """Two ways from state 0 and back: over state 1, which pays 1, or over state 2, which pays ½."""
    T = np.zeros((3, 2, 3))
    T[0, 0, 1] = T[0, 1, 2] = 1.0
    T[1, :, 0] = T[2, :, 0] = 1.0
    return T, np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]])


def private_way(limit: tuple[float, float] = (1.0, 3.0)) -> dp.ParametricCMDP:
    """The two ways, where the first has a private cost."""
    T, r = two_ways()
    cost = dp.PrivateCost(
        states=[1],
        cost=dp.Envelope(0.0, 1.0, radius=0.1),
        limit=dp.Envelope(*limit, radius=0.1),
    )
    return dp.ParametricCMDP(T, r, gamma=0.9, costs=cost)


def line(gamma: float = 0.5, start: Any = 0, arrivals: Any = None) -> dict[str, Any]:
    """0 → 1 → 2 → 2, one action; 3 → 0, but nothing leads to 3."""
    T = np.zeros((4, 1, 4))
    T[0, 0, 1] = T[1, 0, 2] = T[2, 0, 2] = T[3, 0, 0] = 1.0
    return {"T": T, "r": np.zeros((4, 1)), "gamma": gamma, "start": start, "arrivals": arrivals}


def slippery(n: int, *, seed: int = 0, corner: bool = False) -> tuple[Any, ...]:
    """T, r, start of an n×n grid with a goal, candidate states, and hidden costs of these."""
    rng, size, goal = np.random.default_rng(seed), n * n, n * n - 1
    T = np.zeros((size, 4, size))
    for state, action, slip in np.ndindex(size, 4, 4):
        row, col = divmod(state, n)
        there = [min(max(x + d, 0), n - 1) for x, d in zip((row, col), MOVES[slip], strict=True)]
        T[state, action, there[0] * n + there[1]] += 0.05 + 0.8 * (slip == action)
    T[goal] = 0.0
    T[goal, :, goal] = 1.0
    r = np.full((size, 4), -1.0)
    r[goal] = 0.0
    start = np.eye(size)[0] if corner else np.full(size, 1 / size)
    states = np.sort(rng.permutation(np.arange(1, goal))[: size // 3])
    theta = np.where(rng.random(states.size) < 0.3, rng.uniform(0.5, 1, states.size), 0.03)
    return T, r, start, states, theta


def grid(
    n: int, *, radius: float = 0.1, corner: bool = False, seed: int = 0
) -> tuple[dp.ParametricCMDP, np.ndarray]:
    """A slippery grid; every third cell is a candidate; the limit is public and tight."""
    from dp_cmdp._src.cmdp.safest import safest_policy

    T, r, start, states, theta = slippery(n, seed=seed, corner=corner)
    table = np.zeros_like(r)
    table[states] = 1.0
    flat = sparse.csr_array(T.reshape(-1, n * n))
    free = dp.CMDP(flat, r, cost=table, limit=1e9, gamma=0.95, start=start)
    least = float(bounds(free, safest_policy(free))[0])
    cost = dp.PrivateCost(
        states=states, cost=dp.Envelope(0.0, 1.0, radius=radius), limit=1.02 * least
    )
    return dp.ParametricCMDP(flat, r, gamma=0.95, start=start, costs=cost), theta


def sums_around(theta: np.ndarray, rng: np.random.Generator, *, slack: float = 0.5) -> Any:
    """A set that knows, of each third of the entries, that their sum is little above the truth."""
    W = np.zeros((3, theta.size))
    for j in range(3):
        W[j, j::3] = rng.uniform(0.5, 1.5, W[j, j::3].size)
    return known_set(np.zeros(theta.size), np.ones(theta.size), W, W @ theta + slack)


def random_affine(
    rng: np.random.Generator, envelope: dp.Envelope, shape: tuple[int, int], terms: int, free: int
) -> Affine:
    """A constant plus terms of both signs, at random places; 0 in the last `free` states."""
    constant = rng.normal(size=shape)
    constant[shape[0] - free :] = 0.0
    return Affine._of(
        envelope,
        shape,
        rng.integers(0, shape[0] - free, terms),
        rng.integers(0, shape[1], terms),
        rng.integers(0, envelope.size, terms),
        rng.normal(size=terms),
        constant,
    )


def random_model(
    rng: np.random.Generator,
    *,
    crooked: bool = False,
    entries: int = 3,
    rows: int = 2,
    criterion: str = "discounted",
    rewarded: bool = False,
) -> tuple[dp.ParametricCMDP, dp.Policy]:
    """A tiny model: entries in several pairs, in both constraints, in costs and limits.

    Under the criterion "total" the last state is after the end; over a horizon the policy changes.
    """
    num_states, num_actions = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    total = criterion == "total"
    said: dict[str, Any] = {"gamma": float(rng.choice([0.0, 0.5, 0.9, 0.99]))}
    num_states += total
    live = np.arange(num_states) < num_states - total
    T = rng.dirichlet(np.full(num_states, 0.5), size=(num_states, num_actions))
    if total:
        said = {"total": True}
        T = 0.9 * T + 0.1 * (np.arange(num_states) == num_states - 1)
        T[-1] = np.arange(num_states) == num_states - 1
    if criterion == "horizon":
        said = {"horizon": int(rng.integers(1, 5)), "gamma": float(rng.choice([0.0, 0.9, 1.0]))}
    if crooked:
        T *= 1 + 9e-10 * rng.uniform(-1, 1, size=(num_states, num_actions, 1))
    theta = dp.Envelope(-1.0, 1.0, shape=entries)
    costs = {
        f"kind{i}": dp.PrivateCost(
            random_affine(rng, theta, (num_states, num_actions), 3, int(total)),
            theta[int(rng.integers(entries))] * float(rng.normal()) + float(rng.normal()),
        )
        for i in range(rows)
    }
    model = dp.ParametricCMDP(
        T,
        random_affine(rng, theta, (num_states, num_actions), 3, int(total))
        if rewarded
        else rng.normal(size=(num_states, num_actions)) * live[:, None],
        start=rng.dirichlet(np.full(num_states, 0.5)),
        costs=costs,
        **said,
    )
    size = (num_states,) if model.mdp.horizon is None else (model.mdp.horizon, num_states)
    return model, dp.Policy(rng.dirichlet(np.full(num_actions, 0.4), size=size))


def random_set(rng: np.random.Generator, entries: int = 3, rows: int = 2) -> UncertaintySet:
    """A box and inequalities that cut it, around a common point."""
    middle = rng.uniform(-0.8, 0.8, entries)
    lower = np.maximum(middle - rng.uniform(0, 0.5, entries), -1)
    upper = np.minimum(middle + rng.uniform(0, 0.5, entries), 1)
    W = rng.normal(size=(rows, entries)) * (rng.random((rows, entries)) < 0.8)
    return known_set(lower, upper, W, W @ middle + rng.uniform(0, 0.2, rows))


# ------------------------------------------------------------------------------------- in fractions


def solved(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """A system by elimination; None if it is singular."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(len(table)):
            if i != k and table[i][k]:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


def vertices(known: UncertaintySet) -> Iterator[list[Fraction]]:
    """Every vertex of a set."""
    n = known.lower.size
    unit = [[Fraction(int(i == k)) for i in range(n)] for k in range(n)]
    faces = [(row, Fraction(high)) for row, high in zip(unit, known.upper, strict=True)]
    faces += [
        ([-a for a in row], -Fraction(low)) for row, low in zip(unit, known.lower, strict=True)
    ]
    faces += [
        ([Fraction(a) for a in row], Fraction(q))
        for row, q in zip(known.W.toarray(), known.q, strict=True)
    ]
    for chosen in itertools.combinations(faces, n):
        point = solved(*zip(*chosen, strict=True))
        if point is not None and all(
            sum(a * b for a, b in zip(row, point, strict=True)) <= q for row, q in faces
        ):
            yield point


def exact_occupancy(model: Any, policy: dp.Policy) -> tuple[Fraction, ...]:
    """x(s, a): the cost of a table that is 1 in one pair."""
    mdp = model.mdp
    each = np.eye(mdp.r.size).reshape(mdp.r.size, *mdp.r.shape)
    return exact_costs(mdp._with_costs(each, np.zeros(mdp.r.size)), policy)


def exact_excess(
    model: dp.ParametricCMDP, x: Sequence[Fraction], theta: Sequence[Fraction], i: int
) -> Fraction:
    """cost_i(θ)ᵀx − limit_i(θ)."""
    table = model.cost.constant.toarray()[i]
    total = sum((Fraction(c) * y for c, y in zip(table, x, strict=True)), Fraction(0))
    total -= Fraction(model.limit.constant.toarray()[i, 0])
    for part, sign in ((model.cost, 1), (model.limit, -1)):
        for k in np.flatnonzero(part.row == i):
            visits = x[part.col[k]] if sign > 0 else Fraction(1)
            total += sign * Fraction(part.coefficient[k]) * theta[part.entry[k]] * visits
    return total


def worst_excess(
    model: dp.ParametricCMDP, policy: dp.Policy, known: UncertaintySet
) -> list[Fraction]:
    """The largest cost − limit over a set, per constraint: at one of its vertices."""
    x, corners = exact_occupancy(model, policy), list(vertices(known))
    assert corners
    rows = range(len(model.names))
    return [max(exact_excess(model, x, theta, i) for theta in corners) for i in rows]


# ------------------------------------------------------------------------------- by other solvers


def occupancy_lp(mdp: Any, objective: Any, **rows: Any) -> float:
    """scipy's own optimum of an objective over occupancies, without the package's solvers."""
    gain = np.asarray(objective).ravel()
    flow: Any = flow_matrix(mdp)
    found: Any = linprog(-gain, A_eq=flow, b_eq=mdp.start, **rows)
    assert found.status == 0
    return -float(found.fun)


def best_of(cmdp: dp.CMDP) -> float:
    rows = cmdp.cost.reshape(cmdp.num_constraints, -1)
    return occupancy_lp(cmdp, cmdp.r, A_ub=rows, b_ub=cmdp.limit)


def deterministic_points(cmdp: dp.CMDP) -> list[tuple[Fraction, ...]]:
    """(value, costs…) of each deterministic policy, in fractions."""
    both = cmdp._with_costs(np.concatenate([cmdp.r[None], cmdp.cost]), np.zeros(len(cmdp.cost) + 1))
    choices = itertools.product(range(cmdp.num_actions), repeat=cmdp.num_states)
    return [
        exact_costs(both, dp.Policy.deterministic(list(choice), cmdp.num_actions))
        for choice in choices
    ]


def best_mixture(points: Sequence[tuple[Fraction, ...]], limit: Fraction) -> Fraction:
    """The best value of a mixture of two (value, cost) within one limit."""
    found = [value for value, cost in points if cost <= limit]
    for (value, cost), (more, dear) in itertools.product(points, repeat=2):
        if cost <= limit < dear:
            found.append(value + (limit - cost) / (dear - cost) * (more - value))
    return max(found)


def highest_costs(model: ParametricCMDP, policy: dp.Policy, known: UncertaintySet) -> np.ndarray:
    """Certain upper bounds on the costs over a set, whatever the limits."""
    limit = Affine.of(np.zeros(len(model.names)), model.envelope)
    kinds = replace(model.constraints, limit=limit)
    return -ParametricCMDP._made(model.mdp, kinds).certify(policy, known).slack
