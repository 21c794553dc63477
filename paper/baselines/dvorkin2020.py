"""Dvorkin, Fioretto, Van Hentenryck, Kazempour and Pinson 2020: noise inside the decision rule.

The answer is a linear decision rule x(ζ) = x̄ + Xζ with ζ i.i.d. Laplace(Δ/ε), Δ the ℓ1-sensitivity
of the released part of x̄. X is the identity on the released part and A_eq X = 0, so equalities hold
for every ζ. Inequalities g·x ≤ h become chance constraints, P(g·x(ζ) ≤ h) ≥ 1 − η each, through

    g·x̄ + √(2/(9η)) ‖Σ^½ Xᵀg‖₂ ≤ h,   Σ = 2(Δ/ε)² I

which holds for every symmetric unimodal ζ when η ≤ 1/6: a second-order cone. Rows A x ≤ b(D) are
equalities A x + s = b(D) whose slack s follows the noise and is not released.

Protected: b. A and c are read as they are and leak what they read. Adjacency: one record of b
changes, each entry by at most its radius. Guaranteed: ε-differential privacy of the released part,
*provided* Δ bounds the change of x̄; each row holds with probability 1 − η, none with certainty.

Differences from the publication
1. Any linear program instead of optimal power flow; the cost is linear.
2. Everything in x is released by default. With equalities the noise then lives in an orthonormal
   basis N of their null space (x = x_p + N w, and w is what is released). The option ``released``
   names a part of x; the cone program then chooses the reaction X of the rest.
3. Δ is an option (``sensitivity``). Its default is an *estimate*: the largest change of the optimum
   over a few databases of the envelope and one-record changes of b. As in the publication's own
   experiments, that is not a proof.
4. Clarabel solves the cone program; theirs used a commercial solver.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# (cvxpy types its functions in part)

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

import dp_cmdp as dp
from paper.baselines.method import Answer, Method, Task, unprotected
from paper.blocks import Form
from paper.linear import Floats, LinearProgram, solve

#: Databases at which the sensitivity is estimated; each costs one solve per record.
PROBES = 8


def answer(
    task: Task,
    *,
    violation_probability: float = 0.05,
    sensitivity: float | None = None,
    released: ArrayLike | None = None,
) -> Answer:
    """One draw of the private decision rule.

    Parameters
    ----------
    violation_probability : float
        η in (0, 1/6], per row.
    sensitivity : float, optional
        Δ: public bound on the ℓ1 change of the released part when one record of b changes.
    released : int array, optional
        Variables that are published; all by default. The others are not private.
    """
    part = task.part
    fixed = None if released is None else np.asarray(released)
    truth = part.at(task.values)
    query = _query(truth, fixed)
    if part.b.is_public:
        movement = 0.0
    elif sensitivity is None:
        movement = _estimated_sensitivity(part, task.values, query)
    else:
        movement = float(sensitivity)
    sigma = movement / float(task.budget.epsilon)
    mean, reaction = _decision_rule(
        truth, query, fixed, math.sqrt(2 / (9 * violation_probability)) * sigma
    )
    x = mean
    if sigma > 0:
        x = mean + reaction @ task.rng.laplace(scale=sigma, size=(reaction.shape[1],))
    leaks = [unprotected(block) for block in METHOD.leaks(task.program)]
    if movement > 0 and sensitivity is None:
        leaks.append("sensitivity estimated, not proven")
    return Answer(x, converged=True, note="; ".join(leaks))


def _query(truth: LinearProgram, released: NDArray[np.int64] | None) -> Floats:
    """Q (n, k): the released numbers are Qᵀx."""
    n = truth.c.size
    if released is None:
        return linalg.null_space(truth.A_eq.toarray()) if truth.b_eq.size else np.eye(n)
    return np.eye(n)[:, released]


def _estimated_sensitivity(part: Form, values: Floats, query: Floats) -> float:
    """Largest ℓ1 change of the released optimum over a few one-record changes of b."""
    envelope, truth = part.envelope, part.at(values)
    public = np.random.default_rng(0)  # where to look is public and always the same
    entries = np.unique(part.b.entry)
    records = np.flatnonzero(part.change[:, entries].sum(axis=1))

    def released(theta: Floats) -> Floats:
        return query.T @ solve(replace(truth, b=part.b.at(theta).toarray().ravel())).x

    largest = 0.0
    for _ in range(PROBES):
        theta = np.array(values, dtype=float)
        theta[entries] = public.uniform(envelope.lower[entries], envelope.upper[entries])
        start = released(theta)
        for record in records:
            move = part.change[[record]].toarray().ravel()
            move[np.setdiff1d(np.arange(move.size), entries)] = 0.0
            near = theta + np.where(theta + move <= envelope.upper, move, -move)
            largest = max(largest, float(np.abs(released(near) - start).sum()))
    return largest


def _decision_rule(
    truth: LinearProgram, query: Floats, released: Any, margin: float
) -> tuple[Floats, Floats]:
    """x̄ and X of the chance-constrained program; x is scaled to numbers near 1."""
    import cvxpy as cp

    n, k = query.shape
    rows, rhs = _inequalities(truth)
    size = max(float(np.abs(rhs).max(initial=0.0)), float(np.abs(truth.b_eq).max(initial=0.0)), 1.0)
    mean = cp.Variable(n)
    constraints: list[Any] = []
    if released is None:
        reaction: Any = cp.Constant(query)
    else:
        reaction = cp.Variable((n, k))
        constraints.append(reaction[released] == np.eye(k))
        if truth.b_eq.size:
            constraints.append(truth.A_eq @ reaction == 0)
    spread = cp.norm(rows @ reaction, 2, axis=1) if margin > 0 else np.zeros(rhs.size)
    # Σ^½ = √2 (Δ/ε) I; `margin` holds the rest of the factor
    constraints.append(rows @ mean + math.sqrt(2) * margin / size * spread <= rhs / size)
    if truth.b_eq.size:
        constraints.append(truth.A_eq @ mean == truth.b_eq / size)
    problem = cp.Problem(cp.Maximize(truth.c @ mean), constraints)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise dp.errors.SolverError(f"Clarabel failed ({error}); rescale the program") from None
    if mean.value is None:
        raise dp.errors.InfeasibleError(
            f"no decision rule meets the chance constraints (Clarabel: {problem.status}); the "
            "noise is too wide for the rows: spend more ε or allow more violation"
        )
    return size * np.asarray(mean.value), np.asarray(reaction.value)


def _inequalities(truth: LinearProgram) -> tuple[sparse.csr_array, Floats]:
    """All rows and finite bounds as G x ≤ h."""
    eye = sparse.eye_array(truth.c.size, format="csr")
    low, high = np.isfinite(truth.lower), np.isfinite(truth.upper)
    return (
        sparse.vstack(
            [truth.A, -eye[np.flatnonzero(low)], eye[np.flatnonzero(high)]], format="csr"
        ),
        np.concatenate([truth.b, -truth.lower[low], truth.upper[high]]),
    )


METHOD = Method("dvorkin2020", private="b", promises_feasibility=False, solver=answer)
