"""What the value of a program can be, from public data alone.

    robust value  ≤  true optimum  ≤  optimistic value

The *robust value* is the best objective that some x attains for **every** database of the envelope:
whoever publishes that x spends no privacy at all. The *optimistic value* takes every number of A, b
and c at its most favourable end, each on its own: an upper bound, exact when no database entry is
read twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.blocks import form
from paper.linear import Floats, LinearProgram, solve


@dataclass(frozen=True, slots=True, eq=False)
class PublicInterval:
    """robust ≤ true optimum ≤ optimistic, and the point that attains the robust value."""

    robust: float
    optimistic: float
    x: Floats


def public_interval(program: dp.ParametricLP) -> PublicInterval:
    """Bounds of the true optimum that need no data."""
    best = worst_objective(program).answer(program.envelope.uncertainty)
    n = form(program).num_variables
    return PublicInterval(float(best.x[-1]), optimistic_value(program), best.x[:n])


def worst_objective(program: dp.ParametricLP) -> dp.ParametricLP:
    """The same program with its objective as a row: maximise t subject to t ≤ c(θ)ᵀx."""
    part, n = form(program), form(program).num_variables
    m = part.A.shape[0]
    wider, last = np.eye(n, n + 1), np.eye(1, n + 1, n)
    rows, objective = np.eye(m + 1, m), np.eye(1, m + 1, m).T
    goal = last - program.objective.reshape(1, n) @ wider
    return dp.ParametricLP(
        maximize=last.ravel(),
        A=rows @ (program.A @ wider) + objective @ goal,
        b=rows @ program.b,
        A_eq=sparse.hstack([part.A_eq, sparse.csr_array((part.b_eq.size, 1))], format="csr"),
        b_eq=part.b_eq,
        lower=np.append(part.lower, -np.inf),
        upper=np.append(part.upper, np.inf),
    )


def optimistic_value(program: dp.ParametricLP) -> float:
    """Every number of A, b, c at its best end; ∞ when that program is unbounded.

    x is written as up − down with up, down ≥ 0; for x ≥ 0 the second part is absent.
    """
    part = form(program)
    box = part.envelope.lower, part.envelope.upper
    A_low, A_high = part.A.extremes(*box)
    b_high = part.b.extremes(*box)[1].toarray().ravel()
    c_low, c_high = (end.toarray().ravel() for end in part.c.extremes(*box))
    down = np.flatnonzero(part.lower < 0)
    pick = sparse.eye_array(part.num_variables, format="csr")[down]
    both, sides = (
        sparse.hstack([pick, -sparse.eye_array(down.size)], format="csr"),
        part.upper[down],
    )
    rows = sparse.vstack([both, -both], format="csr")
    limits = np.concatenate([sides, -part.lower[down]])
    known = np.flatnonzero(np.isfinite(limits))
    lp = LinearProgram.of(
        np.concatenate([c_high, -c_low[down]]),
        sparse.vstack([sparse.hstack([A_low, -A_high[:, down]]), rows[known]]),
        np.concatenate([b_high, limits[known]]),
        A_eq=sparse.hstack([part.A_eq, -part.A_eq[:, down]]),
        b_eq=part.b_eq,
        lower=np.concatenate([np.maximum(part.lower, 0.0), np.zeros(down.size)]),
        upper=np.concatenate([np.maximum(part.upper, 0.0), -part.lower[down]]),
    )
    try:
        return solve(lp).objective
    except dp.errors.UnboundedError:
        return float("inf")
