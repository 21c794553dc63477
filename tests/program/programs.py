"""Random programs, and what is true of them, worked out in fractions or by scipy alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.parametric import ParametricLP


def affine(
    envelope: Envelope,
    shape: tuple[int, ...],
    *,
    constant: Any = None,
    at: Any = ((), ()),
    entry: Any = (),
    coefficient: Any = 1.0,
) -> Affine:
    """An array from its terms; a vector's places are rows alone."""
    row, col = at if len(shape) == 2 else (at, np.zeros(np.size(at), dtype=np.int64))
    row, col, entry, factor = (
        part.ravel() for part in np.broadcast_arrays(row, col, entry, coefficient)
    )
    table = None if constant is None else np.reshape(constant, (shape[0], -1))
    return Affine._of(envelope, shape, row, col, entry, factor, table)


def knapsack(size: int = 2, *, low: float = 0.0, radius: float = 0.25, capacity: float = 1.0):
    """maximise Σx subject to Σθᵢxᵢ ≤ capacity, 0 ≤ x ≤ 1, θ in [low, 1]."""
    theta = Envelope(low, 1.0, radius=radius, shape=size)
    return ParametricLP(np.ones(size), A=[theta[:]], b=[capacity], upper=1.0)


def random_program(
    rng: np.random.Generator, *, scale: float = 1.0, equalities: bool = False
) -> ParametricLP:
    """A program that some x satisfies for every database, with entries in many places.

    Free variables, entries on both sides of a row, public rows; rows in units of `scale`.
    """
    n, m, k = (int(v) for v in rng.integers((1, 1, 2), (6, 5, 7)))
    lower = rng.uniform(-1.0, 1.0, k)
    theta = Envelope(lower, lower + rng.uniform(0.01, 2.0, k))
    terms = int(rng.integers(1, 2 * n * m + 1))
    at = rng.integers(0, m, terms), rng.integers(0, n, terms)
    A = affine(
        theta,
        (m, n),
        constant=scale * rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5),
        at=at,
        entry=rng.integers(0, k, terms),
        coefficient=scale * rng.uniform(-2.0, 2.0, terms),
    )
    free = rng.random(n) < 0.4
    low, high = np.where(free, -3.0, 0.0), np.where(rng.random(n) < 0.5, np.inf, 4.0)
    inside = rng.uniform(0.1, 1.0, n)
    read = rng.integers(0, k, 2)
    b = affine(
        theta, (m,), at=rng.integers(0, m, 2), entry=read, coefficient=scale * rng.normal(size=2)
    )
    corner = np.maximum(np.abs(theta.lower), np.abs(theta.upper))
    worst = np.abs(A.coefficient) * corner[A.entry] * inside[A.col]
    need = np.bincount(A.row, weights=worst, minlength=m) + np.asarray(A.constant @ inside)
    need += np.bincount(b.row, weights=np.abs(b.coefficient) * corner[b.entry], minlength=m)
    b = b + (need + scale * rng.uniform(0.01, 1.0, m))
    public = np.vstack([np.ones(n), -np.ones(n)]) * scale
    A = stacked(A, public)
    b = stacked(b, scale * np.array([inside.sum() + 3.0, 3.0 * n + 1.0]))
    objective = affine(
        theta, (n,), constant=rng.normal(size=n), at=[0], entry=[0], coefficient=[0.3]
    )
    A_eq = rng.normal(size=(1, n)) if equalities else np.zeros((0, n))
    sense = {"minimize": objective} if rng.random() < 0.3 else {"maximize": objective}
    return ParametricLP(**sense, A=A, b=b, A_eq=A_eq, b_eq=A_eq @ inside, lower=low, upper=high)


def stacked(part: Affine, rows: Any) -> Affine:
    """Public rows below an expression."""
    table = np.reshape(rows, (len(rows), -1))
    return Affine._of(
        part.envelope,
        (part.shape[0] + len(rows), *part.shape[1:]),
        part.row,
        part.col,
        part.entry,
        part.coefficient,
        sparse.vstack([part.constant, sparse.csr_array(table)]),
    )


def random_set(rng: np.random.Generator, theta: Envelope, *, inequalities: int) -> UncertaintySet:
    """A set that holds a random database of the envelope."""
    inside = rng.uniform(theta.lower, theta.upper)
    lower = np.maximum(theta.lower, inside - rng.exponential(0.5, theta.size))
    upper = np.minimum(theta.upper, inside + rng.exponential(0.5, theta.size))
    lower, upper = (np.where(rng.random(theta.size) < 0.1, inside, end) for end in (lower, upper))
    W = rng.normal(size=(inequalities, theta.size))
    W *= rng.random(W.shape) < 0.6
    q = W @ inside + rng.exponential(0.2, inequalities)
    return UncertaintySet(lower, upper, sparse.csr_array(W), q)


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def exact_slack(lp: ParametricLP, theta: Any, x: Any) -> list[Fraction]:
    """b(θ) − A(θ)x, in fractions from beginning to end."""
    values, point = fractions(theta), fractions(x)
    slack = fractions(lp.b.constant.toarray())
    for i, k, h in zip(lp.b.row, lp.b.entry, lp.b.coefficient, strict=True):
        slack[i] += Fraction(h) * values[k]
    for i, row in enumerate(lp.A.constant.toarray().tolist()):
        slack[i] -= sum(Fraction(a) * v for a, v in zip(row, point, strict=True))
    for i, j, k, g in zip(lp.A.row, lp.A.col, lp.A.entry, lp.A.coefficient, strict=True):
        slack[i] -= Fraction(g) * values[k] * point[j]
    return slack


def certain_slack(
    lp: ParametricLP, known: UncertaintySet, x: Any, multipliers: Any
) -> list[Fraction]:
    """Lower bounds of every row over a set, by weak duality in fractions."""
    size, point = known.lower.size, fractions(x)
    weights = [[Fraction(0)] * size for _ in range(lp.b.shape[0])]
    for i, j, k, g in zip(lp.A.row, lp.A.col, lp.A.entry, lp.A.coefficient, strict=True):
        weights[i][k] += Fraction(g) * point[j]
    for i, k, h in zip(lp.b.row, lp.b.entry, lp.b.coefficient, strict=True):
        weights[i][k] -= Fraction(h)
    found = exact_slack(lp, np.zeros(size), x)
    W, table = known.W.toarray(), multipliers.toarray()
    for i, weight in enumerate(weights):
        for j, limit in enumerate(fractions(known.q)):
            factor = Fraction(float(table[i, j]))
            assert factor >= 0
            found[i] -= factor * limit
            for k, w in enumerate(fractions(W[j])):
                weight[k] -= factor * w
        for z, low, high in zip(
            weight, fractions(known.lower), fractions(known.upper), strict=True
        ):
            found[i] -= z * (high if z > 0 else low)
    return found


def written_out(lp: ParametricLP, known: UncertaintySet, estimate: Any) -> Any:
    """The robust program as scipy solves it: a multiplier per row and bound or inequality.

    max w·θ over {θ ≤ u, −θ ≤ −l, Wθ ≤ q} is min u·p − l·r + q·λ with p − r + Wᵀλ = w.
    """
    (m, n), k, j = lp.A.shape, known.lower.size, known.q.size
    width = 2 * k + j
    A_ub = np.zeros((m, n + m * width))
    A_ub[:, :n] = lp.A.constant.toarray()
    A_eq = np.zeros((m * k, n + m * width))
    b_eq = np.zeros(m * k)
    for i in range(m):
        own = slice(n + i * width, n + (i + 1) * width)
        A_ub[i, own] = np.concatenate([known.upper, -known.lower, known.q])
        A_eq[i * k : (i + 1) * k, own] = np.hstack([np.eye(k), -np.eye(k), known.W.toarray().T])
    np.subtract.at(A_eq, (lp.A.row * k + lp.A.entry, lp.A.col), lp.A.coefficient)
    np.subtract.at(b_eq, lp.b.row * k + lp.b.entry, lp.b.coefficient)
    unit = np.abs(A_ub[:, :n]).max(axis=1) + np.abs(A_eq[:, :n]).reshape(m, -1).max(axis=1)
    unit = np.where(unit > 0, unit, 1.0)  # scipy's tolerances are absolute
    right = lp.b.constant.toarray().ravel() / unit
    A_ub[:, :n] /= unit[:, None]
    A_eq[:, :n] /= np.repeat(unit, k)[:, None]
    b_eq /= np.repeat(unit, k)
    equal = np.zeros((lp.b_eq.size, A_ub.shape[1]))
    equal[:, :n] = lp.A_eq.toarray()
    c = np.zeros(A_ub.shape[1])
    c[:n] = (1.0 if lp.minimizes else -1.0) * lp.objective.at(np.asarray(estimate))
    bounds = [*zip(lp.lower, lp.upper, strict=True), *[(0, None)] * (m * width)]
    found: Any = linprog(
        c,
        A_ub=A_ub,
        b_ub=right,
        A_eq=np.vstack([A_eq, equal]),
        b_eq=np.concatenate([b_eq, lp.b_eq]),
        bounds=bounds,
    )
    assert found.status == 0, found.message
    return found.fun if lp.minimizes else -found.fun


def linear(c: Any, A: Any = None, b: Any = (), **parts: Any) -> LinearProgram:
    """maximise c·x, A x ≤ b, A_eq x = b_eq, lower ≤ x ≤ upper; x ≥ 0 by default."""
    cost = np.asarray(c, dtype=np.float64)
    n = cost.size
    rows = [
        sparse.csr_array(np.zeros((0, n)) if given is None else np.asarray(given, dtype=np.float64))
        for given in (A, parts.get("A_eq"))
    ]
    ends = [np.full(n, 1.0) * np.asarray(parts.get(name, end), dtype=np.float64)
            for name, end in (("lower", 0.0), ("upper", np.inf))]  # fmt: skip
    right = np.asarray(b, dtype=np.float64), np.asarray(parts.get("b_eq", ()), dtype=np.float64)
    return LinearProgram(cost, rows[0], right[0], rows[1], right[1], *ends)
