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
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import UnboundedError
from dp_cmdp.program.linear_program import LinearProgram, solve


@door
def coordinate_ranges(lp: LinearProgram, directions: Any = None) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of linear functions over the feasible set.

    Parameters
    ----------
    lp : LinearProgram
        Its objective is not used.
    directions : matrix, optional
        One linear function per row; the coordinates of x by default.

    Returns
    -------
    low, high : FloatArray
        Infinite where the set is unbounded.

    Notes
    -----
    Two linear programs per function, fewer where the bounds of x already decide.
    **Paper.** ``eq:chi``, over feasible points. **Privacy.** *Curator only* for the true program.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram
    >>> from dp_cmdp.theory.feasible_set import coordinate_ranges
    >>> low, high = coordinate_ranges(LinearProgram([1, 1], [[1, 2]], b=[4]))
    >>> high.round(6)
    array([4., 2.])
    """
    n = lp.num_variables
    rows = sparse.eye_array(n) if directions is None else directions
    matrix = _check.matrix("directions", rows, columns=n)
    low, high = np.empty(matrix.shape[0]), np.empty(matrix.shape[0])
    for number, (start, end) in enumerate(pairwise(matrix.indptr)):
        row = np.zeros(n)  # one at a time: all of them would be as large as a dense matrix
        row[matrix.indices[start:end]] = matrix.data[start:end]
        high[number], low[number] = _largest(lp, row), -_largest(lp, -row)
    return low, high


def _largest(lp: LinearProgram, c: FloatArray) -> float:
    """max cᵀx; taken from the bounds of x where x = those bounds is clearly feasible."""
    if (c <= 0).all() and not (lp.lower[c < 0] != 0).any() and _holds_at_zero(lp):
        return 0.0
    try:
        return solve(replace(lp, c=c), certify=False).objective
    except UnboundedError:
        return math.inf


def _holds_at_zero(lp: LinearProgram) -> bool:
    inside = (lp.lower <= 0).all() and (lp.upper >= 0).all()
    return bool(inside and (lp.b >= 0).all() and (lp.b_eq == 0).all())


@door
def diameter_bound(feasible: LinearProgram | CMDP | ParametricCMDP) -> float:
    """An upper bound of the Euclidean diameter of a feasible set.

    Parameters
    ----------
    feasible : LinearProgram, CMDP or ParametricCMDP
        For a CMDP, its occupancy measures: √2/(1 − γ), whatever the costs.

    Notes
    -----
    **Paper.** ``app:concentration``. **Privacy.** *Public* for a CMDP; curator only for the linear
    program of true data.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram
    >>> from dp_cmdp.theory.feasible_set import diameter_bound
    >>> round(diameter_bound(LinearProgram([1, 1], upper=[3, 4])), 6)
    5.0
    """
    if isinstance(feasible, ParametricCMDP):
        feasible = feasible.public
    if isinstance(feasible, CMDP):
        return math.sqrt(2.0) / (1.0 - feasible.gamma)
    low, high = coordinate_ranges(feasible)
    found = float(np.linalg.norm(high - low))
    if (feasible.lower >= 0).all():
        found = min(found, math.sqrt(2.0) * _largest(feasible, np.ones(feasible.num_variables)))
    return found


@door
def concentration_radius(diameter: float, *, failure: float) -> float:
    """ν with P(‖x* − x̃‖ − E‖x* − x̃‖ > ν) ≤ `failure`.

    Notes
    -----
    **Paper.** ``cor:concentration``, corrected. **Privacy.** *Post-processing* of `diameter`.

    Examples
    --------
    >>> from dp_cmdp.theory.feasible_set import concentration_radius
    >>> round(concentration_radius(5.0, failure=0.05), 3)
    6.119
    """
    width = _check.real("diameter", diameter, low=0.0)
    t = _check.real("failure", failure, low=1e-300, high=1.0)
    return width * math.sqrt(math.log(1.0 / t) / 2.0)
