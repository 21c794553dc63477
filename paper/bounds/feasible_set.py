"""How large a feasible set is: ranges of linear functions, its diameter, and what follows.

For x, y in a set with ranges [χ⁻_j, χ⁺_j] of its coordinates, ‖x − y‖₂ ≤ ‖χ⁺ − χ⁻‖₂. When x, y ≥ 0
and Σx, Σy ≤ S, also ‖x − y‖₂ ≤ √2·S: ‖x − y‖² ≤ ‖x‖² + ‖y‖² ≤ 2S². The occupancy measures of a CMDP
add up to 1/(1 − γ), so their diameter is at most √2/(1 − γ).

A variable R ∈ [0, d] satisfies P(R − E R ≥ ν) ≤ exp(−2ν²/d²) (Hoeffding), hence

    P(R − E R ≤ d √(ln(1/t)/2)) ≥ 1 − t.

The paper's ``cor:concentration`` has both inequalities reversed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.linear import Floats, LinearProgram, solve


def coordinate_ranges(
    lp: LinearProgram, directions: sparse.csr_array | None = None
) -> tuple[Floats, Floats]:
    """Smallest and largest value of linear functions over the feasible set."""
    n = lp.c.size
    matrix = sparse.eye_array(n, format="csr") if directions is None else directions
    low, high = np.empty(matrix.shape[0]), np.empty(matrix.shape[0])
    for number, (start, end) in enumerate(pairwise(matrix.indptr)):
        row = np.zeros(n)  # one at a time: all of them would be as large as a dense matrix
        row[matrix.indices[start:end]] = matrix.data[start:end]
        high[number], low[number] = _largest(lp, row), -_largest(lp, -row)
    return low, high


def _largest(lp: LinearProgram, c: Floats) -> float:
    """max cᵀx; taken from the bounds of x where x = those bounds is clearly feasible."""
    if (c <= 0).all() and not (lp.lower[c < 0] != 0).any() and _holds_at_zero(lp):
        return 0.0
    try:
        return solve(replace(lp, c=c)).objective
    except dp.errors.UnboundedError:
        return math.inf


def _holds_at_zero(lp: LinearProgram) -> bool:
    inside = (lp.lower <= 0).all() and (lp.upper >= 0).all()
    return bool(inside and (lp.b >= 0).all() and (lp.b_eq == 0).all())


def diameter_bound(feasible: LinearProgram) -> float:
    """An upper bound of the Euclidean diameter of a feasible set."""
    low, high = coordinate_ranges(feasible)
    found = float(np.linalg.norm(high - low))
    if (feasible.lower >= 0).all():
        found = min(found, math.sqrt(2.0) * _largest(feasible, np.ones(feasible.c.size)))
    return found


def concentration_radius(diameter: float, *, failure: float) -> float:
    """ν with P(‖x* − x̃‖ − E‖x* − x̃‖ > ν) ≤ `failure` (``cor:concentration``, corrected)."""
    return diameter * math.sqrt(math.log(1.0 / failure) / 2.0)
