"""What one release cost: a bound from one strictly feasible point.

Given a release and any w that is strictly feasible for all it allows,
φ_i(w) = max_{θ in the box} A_i(θ)w − b_i(θ) = −r_i < 0, let v_i = φ_i(x*)⁺ and
λ = max_i v_i/(v_i + r_i). φ_i is convex and φ_i(x_λ) ≤ (1 − λ)v_i − λr_i ≤ 0, so
x_λ = (1 − λ)x* + λw is feasible for the private program and

    cᵀx* − cᵀx̃  ≤  λ(cᵀx* − cᵀw) + (c̃ − c)ᵀ(x̃ − x_λ).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.program.entrywise import entrywise
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import objective_estimate
from dp_cmdp.theory.public_interval import as_program

#: Shares of the largest common slack that the points w keep.
SHARES = (0.02, 0.1, 0.3, 0.6, 0.95)


@door
def instance_bound(
    program: ParametricLP | ParametricCMDP,
    release: Release,
    *,
    database: Database,
    x: ArrayLike,
) -> CuratorOnly:
    """A bound of cᵀx* − cᵀx̃ for one release.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    release : Release
    database : Database
    x : array_like
        The private answer x̃ made from `release` (it matters only when the objective is private).

    Returns
    -------
    CuratorOnly
        The smallest bound over a few strictly feasible points; ∞ when there is none.

    Notes
    -----
    Computed in floats: the loss may exceed it by their rounding.
    **Paper.** Ours; it follows ``app:accuracy`` without a Hoffman constant.
    **Privacy.** *Curator only*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp import release_database, solve_private
    >>> from dp_cmdp.theory.one_release import instance_bound
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> answer = solve_private(program, release)
    >>> bound = float(instance_bound(program, release, database=database, x=answer.x))
    >>> 20 - answer.objective <= bound + 1e-9  # the true optimum is 20
    True
    """
    lp = as_program(program)
    target = lp if release.method == "database" else entrywise(lp)
    answer = _check.vector("x", x, size=lp.num_variables)
    lp.check_owns(database)
    release.check_fits(target.envelope)
    truth = lp.at(database.values)
    best = solve(truth, certify=False).x
    error = target.c.at(objective_estimate(target, release)) - truth.c
    rows = lp.A.shape[0]

    def room(point: FloatArray) -> FloatArray:
        slack = target.worst_case_slack(point, lower=release.lower, upper=release.upper)
        return slack[:rows]

    excess = np.maximum(-room(best), 0.0)
    found = [np.inf]
    for w in _interior_points(target, release, truth.c):
        r = room(w)
        if (r[excess > 0] <= 0).any() or (r < 0).any():
            continue
        weight = float(np.max(excess / np.where(excess > 0, excess + r, 1.0), initial=0.0))
        mixed = (1.0 - weight) * best + weight * w
        found.append(weight * float(truth.c @ (best - w)) + float(error @ (answer - mixed)))
    return CuratorOnly(min(found))


def _interior_points(target: ParametricLP, release: Release, c: FloatArray) -> list[FloatArray]:
    """Points whose sensitive rows keep a share of the largest common slack."""
    lp = target.robust(release.lower, release.upper)
    m, n = target.A.shape[0], target.num_variables
    unit = np.zeros(lp.num_rows)
    unit[:m] = np.maximum(np.abs(lp.b[:m]), 1e-6 * np.abs(lp.b[:m]).max(initial=0.0))
    unit[:m] = np.where(unit[:m] > 0, unit[:m], 1.0)
    widest = LinearProgram(
        np.append(np.zeros(lp.num_variables), 1.0),
        sparse.hstack([lp.A, sparse.csr_array(unit[:, None])]),
        b=lp.b,
        A_eq=sparse.hstack([lp.A_eq, sparse.csr_array((lp.b_eq.size, 1))]),
        b_eq=lp.b_eq,
        lower=np.append(lp.lower, 0.0),
        upper=np.append(lp.upper, 1e6),
    )
    slack = solve(widest, certify=False).x[-1]
    full = np.append(c, np.zeros(lp.num_variables - n))
    points: list[FloatArray] = []
    for share in SHARES:
        inner = replace(lp, c=full, b=lp.b - share * slack * unit)
        points.append(solve(inner, certify=False).x[:n])
    return points
