"""What the value of a program with x ≥ 0 can be, from public data alone.

    robust value  ≤  true optimum  ≤  optimistic value

The *robust value* is the best objective that some x attains for **every** database of the envelope:
whoever publishes that x spends no privacy at all. The *optimistic value* takes every number of A, b
and c at its most favourable end, each alone: an upper bound, exact when no entry is read twice.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.baselines.optimistic import optimistic_program, require_nonnegative
from paper.blocks import form
from paper.linear import solve


def public_interval(program: dp.ParametricLP) -> tuple[float, float]:
    """Bounds of the true optimum that need no data."""
    part = form(program)
    require_nonnegative(part, method="public_interval")
    best = part.c.extremes(part.envelope.lower, part.envelope.upper)[1].toarray().ravel()
    try:
        optimistic = solve(optimistic_program(part, best)).objective
    except dp.errors.UnboundedError:
        optimistic = float("inf")
    robust = worst_objective(program).answer(program.envelope.uncertainty)
    return float(robust.x[-1]), optimistic


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
