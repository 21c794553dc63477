"""CMDPs in rational numbers: the worth of a policy, and the largest Lagrangian value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from benchmarks.families.planning import Dynamics
from benchmarks.families.structure import Structure
from dp_cmdp import CMDP

Row = list[Fraction]
#: States up to which policies are improved in fractions until none is better.
SMALL = 40


def solve_exactly(matrix: Sequence[Sequence[Fraction]], side: Sequence[Fraction]) -> Row:
    """x with M x = side, for a regular matrix, by elimination without fractions (Bareiss)."""
    n = len(side)
    rows = [_integers([*row, b]) for row, b in zip(matrix, side, strict=True)]
    last = 1
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        top, lead = rows[k], rows[k][k]
        for i in range(k + 1, n):
            row, factor = rows[i], rows[i][k]
            rows[i] = [0] * (k + 1) + [
                (lead * row[j] - factor * top[j]) // last for j in range(k + 1, n + 1)
            ]
        last = lead
    whole, x = rows[-1][n - 1], [0] * n
    for k in reversed(range(n)):
        rest = rows[k][n] * whole - sum(rows[k][j] * x[j] for j in range(k + 1, n))
        x[k] = rest // rows[k][k]
    return [Fraction(value, whole) for value in x]


def _integers(row: Sequence[Fraction]) -> list[int]:
    scale = lcm(*(value.denominator for value in row))
    return [value.numerator * (scale // value.denominator) for value in row]


def fractions(values: np.ndarray) -> Row:
    return [Fraction(float(value)) for value in values.ravel()]


def product(left: Row, right: Row) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def exact_worth(model: CMDP, weights: np.ndarray) -> Row:
    """Value and costs of a stationary policy whose weights are normalised exactly."""
    S, A = model.r.shape
    policy = [[Fraction(float(w)) for w in row] for row in weights]
    policy = [[w / sum(row) for w in row] for row in policy]
    gamma, T = Fraction(model.gamma), model.T.toarray().reshape(S, A, S)
    chain = [[sum((policy[s][a] * Fraction(float(T[s, a, t])) for a in range(A) if policy[s][a]),
                  Fraction(0)) for t in range(S)] for s in range(S)]  # fmt: skip
    transposed = [[int(s == t) - gamma * chain[s][t] for s in range(S)] for t in range(S)]
    visits = solve_exactly(transposed, fractions(model.start))
    return [
        sum((visits[s] * policy[s][a] * Fraction(float(table[s, a]))
             for s in range(S) for a in range(A) if policy[s][a]), Fraction(0))
        for table in (model.r, *model.cost)
    ]  # fmt: skip


def lagrangian_bound(model: CMDP, dual: np.ndarray, *, reward: bool) -> Fraction:
    """The largest of r − dual·(cost − limit) over all policies: exact of small models.

    start·v + dual·limit + max δ/(1 − γ), with δ = net + γTv − v, is a bound whatever v is. It
    begins with the values of a policy that floats call best.
    """
    weights, tables = fractions(dual), model.cost.reshape(dual.size, -1).T
    gains = fractions(model.r if reward else np.zeros(model.r.shape))
    net = [r - product(weights, fractions(f)) for r, f in zip(gains, tables, strict=True)]
    rounded = np.array([float(value) for value in net]).reshape(model.r.shape)
    structure = Structure(model.T, model.r, model.cost)
    dynamics = Dynamics(structure, model.gamma, model.start)
    actions = dynamics.best(rounded)[0].tolist()
    if model.num_states > SMALL:
        v = fractions(dynamics.values(np.array(actions), rounded[None])[0])
        ahead = _ahead(model, net, v)
    else:
        v, ahead = _improved(model, net, actions)
    limits = product(weights, fractions(model.limit))
    return product(fractions(model.start), v) + limits + max(ahead) / (1 - Fraction(model.gamma))


def _improved(model: CMDP, net: Row, actions: list[int]) -> tuple[Row, Row]:
    """Policy iteration in fractions: the best values, and by how much each pair falls short."""
    S, A = model.r.shape
    gamma, T = Fraction(model.gamma), model.T.toarray().reshape(S, A, S)
    while True:
        matrix = [[int(s == t) - gamma * Fraction(float(T[s, actions[s], t])) for t in range(S)]
                  for s in range(S)]  # fmt: skip
        v = solve_exactly(matrix, [net[s * A + actions[s]] for s in range(S)])
        ahead = _ahead(model, net, v)
        if max(ahead) <= 0:
            return v, ahead
        for s in range(S):
            own = ahead[s * A : (s + 1) * A]
            actions[s] = own.index(max(own)) if max(own) > 0 else actions[s]


def _ahead(model: CMDP, net: Row, v: Row) -> Row:
    """net + γTv − v of every pair."""
    gamma, T, found = Fraction(model.gamma), model.T, []
    for pair, gain in enumerate(net):
        own = slice(T.indptr[pair], T.indptr[pair + 1])
        moves = zip(T.indices[own].tolist(), T.data[own].tolist(), strict=True)
        after = sum((Fraction(chance) * v[to] for to, chance in moves), Fraction(0))
        found.append(gain + gamma * after - v[pair // model.num_actions])
    return found


def scaled(model: CMDP) -> CMDP:
    """The model with rewards and costs on one scale, as HiGHS wants them."""
    unit = np.abs(model.cost).max(axis=(1, 2))
    unit = np.where(unit > 0.0, unit, 1.0)
    largest = float(np.abs(model.r).max()) or 1.0
    cost, limit = model.cost / unit[:, None, None], model.limit / unit
    return CMDP(
        model.T, model.r / largest, cost=cost, limit=limit, start=model.start, gamma=model.gamma
    )
