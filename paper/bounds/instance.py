"""What one release cost: a bound from strictly feasible points w (``docs/theory.md``, section 5).

With φ_i(w) = max_{θ in the set} A_i(θ)w − b_i(θ) = −r_i < 0, v_i = φ_i(x*)⁺,
λ = max_i v_i/(v_i + r_i)
and x_λ = (1 − λ)x* + λw:  cᵀx* − cᵀx̃ ≤ λ(cᵀx* − cᵀw) + (c̃ − c)ᵀ(x̃ − x_λ).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.blocks import Form, form
from paper.linear import Floats, solve

#: Shares of the largest common slack that the points w keep.
SHARES = (0.02, 0.1, 0.3, 0.6, 0.95)
#: The most that a common slack counts, in units of the rows.
MOST_SLACK = 1e6


def instance_bound(
    target: dp.ParametricLP,
    known: dp.extend.UncertaintySet,
    *,
    entries: Floats,
    estimate: Floats,
    x: Floats,
) -> float:
    """A bound of cᵀx* − cᵀx̃ for one release, in floats; ∞ where there is no interior point.

    `target` is the program over the released `entries` (entrywise for Algorithm 1), `known` what
    the release allows of them, and `estimate` what the answer x̃ took for its objective.
    """
    part = form(target)
    truth = part.at(entries)
    best = solve(truth).x
    error = part.c.at(estimate).toarray().ravel() - truth.c
    private = _private_rows(part)
    excess = np.maximum(-target.certify(best, known).slack[private], 0.0)
    found = [np.inf]
    for w in _interior_points(target, known, truth.c):
        r = target.certify(w, known).slack[private]
        if (r[excess > 0] <= 0).any() or (r < 0).any():
            continue
        weight = float(np.max(excess / np.where(excess > 0, excess + r, 1.0), initial=0.0))
        mixed = (1.0 - weight) * best + weight * w
        found.append(weight * float(truth.c @ (best - w)) + float(error @ (x - mixed)))
    return min(found)


def _private_rows(part: Form) -> np.ndarray:
    """Rows that read the database; public ones hold at every point that is compared."""
    private = np.zeros(part.A.shape[0], dtype=bool)
    private[part.A.row], private[part.b.row] = True, True
    return private


def _interior_points(
    target: dp.ParametricLP, known: dp.extend.UncertaintySet, c: Floats
) -> list[Floats]:
    """Points whose private rows keep a share of the largest common slack."""
    part = form(target)
    n, m = part.num_variables, part.A.shape[0]
    private = _private_rows(part)
    size = np.abs(part.b.at(known.lower).toarray().ravel())
    size = np.maximum(size, 1e-6 * size.max(initial=0.0))
    unit = np.where(private, np.where(size > 0, size, 1.0), 0.0)
    wider = np.eye(n, n + 1)
    slack = np.zeros((m, n + 1))
    slack[:, -1] = unit
    widest = dp.ParametricLP(
        maximize=np.eye(1, n + 1, n).ravel(),
        A=target.A @ wider + slack,
        b=target.b,
        A_eq=sparse.hstack([part.A_eq, sparse.csr_array((part.b_eq.size, 1))], format="csr"),
        b_eq=part.b_eq,
        lower=np.append(part.lower, 0.0),
        upper=np.append(part.upper, MOST_SLACK),
    )
    common = float(widest.answer(known, certify=False).x[-1])
    points = []
    for share in SHARES:
        inner = dp.ParametricLP(
            maximize=c,
            A=target.A,
            b=target.b - share * common * unit,
            A_eq=part.A_eq,
            b_eq=part.b_eq,
            lower=part.lower,
            upper=part.upper,
        )
        points.append(inner.answer(known, certify=False).x)
    return points
