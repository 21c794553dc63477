"""Dvorkin, Fioretto, Van Hentenryck, Kazempour and Pinson 2020: noise inside the decision rule.

The answer is a linear decision rule x(ζ) = x̄ + Xζ with ζ i.i.d. Laplace(Δ/ε), Δ the ℓ1-sensitivity
of the released part of x̄. X is the identity, or a basis of A_eq X = 0, so equalities hold for every
ζ. Inequalities g·x ≤ h become chance constraints, P(g·x(ζ) ≤ h) ≥ 1 − η each, through

    g·x̄ + √(2/(9η)) ‖Σ^½ Xᵀg‖₂ ≤ h,   Σ = 2(Δ/ε)² I

which holds for every symmetric unimodal ζ when η ≤ 1/6. Rows A x ≤ b(D) are equalities
A x + s = b(D) whose slack s follows the noise and is not released.

Protected: b. A and c are read as they are and leak what they read. Adjacency: one record of b
changes, each entry by at most its radius. Guaranteed: ε-differential privacy of the released part,
*provided* Δ bounds the change of x̄; each row holds with probability 1 − η, none with certainty.

Differences from the publication
1. Any linear program instead of optimal power flow; the cost is linear.
2. Everything in x is released. With equalities the noise lives in an orthonormal basis N of their
   null space: X = N, x = x_p + N w, and w is what is released. X is then fixed, and their second-
   order cone program is linear.
3. Δ is an option (``sensitivity``). Its default is an *estimate*: the largest change of the optimum
   over a few databases of the envelope and one-record changes of b. As in the publication's own
   experiments, that is not a proof.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

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
) -> Answer:
    """One draw of the private decision rule.

    Parameters
    ----------
    violation_probability : float
        η in (0, 1/6], per row.
    sensitivity : float, optional
        Δ: public bound on the ℓ1 change of what is released when one record of b changes.
    """
    part = task.part
    truth = part.at(task.values)
    reaction = _reaction(truth)
    if part.b.is_public:
        movement = 0.0
    elif sensitivity is None:
        movement = _estimated_sensitivity(part, task.values, reaction)
    else:
        movement = float(sensitivity)
    sigma = movement / float(task.budget.epsilon)
    x = _decision_rule(truth, reaction, math.sqrt(2 / (9 * violation_probability)) * sigma)
    if sigma > 0:
        x = x + reaction @ task.rng.laplace(scale=sigma, size=(reaction.shape[1],))
    leaks = [unprotected(block) for block in METHOD.leaks(task.program)]
    if movement > 0 and sensitivity is None:
        leaks.append("sensitivity estimated, not proven")
    return Answer(x, converged=True, note="; ".join(leaks))


def _reaction(truth: LinearProgram) -> Floats:
    """X (n, k): the released numbers are Xᵀx."""
    if truth.b_eq.size:
        return linalg.null_space(truth.A_eq.toarray())
    return np.eye(truth.c.size)


def _estimated_sensitivity(part: Form, values: Floats, reaction: Floats) -> float:
    """Largest ℓ1 change of the released optimum over a few one-record changes of b."""
    envelope, truth = part.envelope, part.at(values)
    public = np.random.default_rng(0)  # where to look is public and always the same
    entries = np.unique(part.b.entry)
    records = np.flatnonzero(part.change[:, entries].sum(axis=1))

    def released(theta: Floats) -> Floats:
        return reaction.T @ solve(replace(truth, b=part.b.at(theta).toarray().ravel())).x

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


def _decision_rule(truth: LinearProgram, reaction: Floats, margin: float) -> Floats:
    """x̄ of the chance-constrained program."""
    rows, rhs = _inequalities(truth)
    # Σ^½ = √2 (Δ/ε) I; `margin` holds the rest of the factor
    kept = rhs - math.sqrt(2) * margin * np.linalg.norm(rows @ reaction, axis=1)
    free = np.full(truth.c.size, np.inf)
    return solve(replace(truth, A=rows, b=kept, lower=-free, upper=free)).x


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
