"""Points whose feasibility is exact and not a matter of tolerance.

A solver's point misses its rows by up to its tolerance. Every row is evaluated, exactly wherever
floats with error bounds do not decide (:mod:`dp_cmdp._src.base.exact`), and the point is
*corrected*: the program is centred at the point, magnified until the largest miss has size 1, and
solved again from the last basis. What the solver's tolerance hides at one scale is plain at the
next, so that after one or two corrections the point misses its rows by no more than the rounding of
x to floats, 2^-53 Σ|terms| per row (iterative refinement: Gleixner, Steffy, Wolter 2016).
Inequality rows that rounding could break get a margin of a few such units, and hold exactly; most
equality rows have no solution in floats, and hold to their rounding. An equality row that stays
further off is refused.

Should the corrections fail, the *widest* program decides: it looks for the point around which the
largest cube satisfies all inequality rows. A cube of positive width proves that there is an
interior, and the point is pulled towards its centre until all rows hold. Where there is none, its
width tells rows without interior (0) from rows that contradict each other (negative).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import InfeasibleError, SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.program.highs import HighsEngine, suits_interior
from dp_cmdp._src.program.linear import LinearProgram, RawSolution, slack_terms

#: First margin of a row, relative to Σ|terms|: eight times what rounding x can cost.
ROUNDING = 2.0**-50
#: Margins of rows that fail again grow by this factor: from rounding to everything in 13 rounds.
GROWTH = 16.0
MAX_ATTEMPTS = 14
#: Equality rows are corrected while their residual, relative to Σ|terms|, is larger, …
EQUALITY_GOAL = 2.0**-51
#: … and a point whose residual stays larger than this, 5.7e-14, is refused.
EQUALITY_TOLERANCE = 2.0**-44
#: A cube narrower than this, relative to the size of x, has no point made of floats.
NARROW = 2.0**-48
#: Which rows get a margin: all that rounding could break, those that fail, none. A correction that
#: has no solution is tried again with less: rows that bind together hold only without margin.
NEAR, FAILING, NO_MARGIN = 2, 1, 0

SlackOf = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Point:
    """A point within its bounds and its residuals; the first `checked` rows must hold.

    Slacks are exact where rows are tight or may have the least slack, else lower bounds.
    """

    x: FloatArray
    raw: RawSolution
    slack: FloatArray
    gap_eq: FloatArray
    residual_eq: FloatArray
    checked: int
    basis: Any = None

    @property
    def feasible(self) -> bool:
        return bool((self.slack[: self.checked] >= 0.0).all())

    @property
    def worst_eq(self) -> float:
        return float(self.residual_eq.max(initial=0.0))


def solve_certified(
    lp: LinearProgram, slack_of: SlackOf | None = None, *, start: Any = None
) -> Point:
    """Solve, and correct the point until `slack_of(x)`, the leading rows' exact slack, is ≥ 0.

    `start` is a basis of a program of the same shape. Raises InfeasibleError and UnboundedError of
    the program itself, and SolverError when the rows have no interior or equality rows are missed.
    """
    exactly = lp.slack if slack_of is None else slack_of
    engine = HighsEngine(lp, start=start, interior=suits_interior(lp))
    first = engine.run()
    point = _corrected(lp, _at(lp, first, exactly), engine, slack_of=exactly)
    if not point.feasible:
        point = _pulled_inside(lp, point, slack_of=exactly)
    if point.worst_eq > EQUALITY_TOLERANCE:
        raise _missed_equalities(point, engine)
    return replace(point, basis=first.basis)


def _at(lp: LinearProgram, raw: RawSolution, slack_of: SlackOf) -> Point:
    """An engine's point, clipped to its bounds, with the residuals of all rows."""
    x = np.clip(raw.x, lp.lower, lp.upper)
    slack = leading = slack_of(x)
    if leading.size < lp.b.size:
        rest = replace(lp, A=lp.A[leading.size :], b=lp.b[leading.size :])
        slack = np.concatenate([leading, rest.slack(x)])
    gap_eq, residual_eq = equality_residuals(lp.A_eq, lp.b_eq, x)
    return Point(x, raw, slack, gap_eq, residual_eq, leading.size)


def equality_residuals(
    A_eq: sparse.csr_array, b_eq: FloatArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """b_eq − A_eq x per row, and its size relative to the row's own terms.

    The relative residual is |b_i − Σ a_ij x_j| / (|b_i| + Σ |a_ij x_j|), of exact sums rounded
    once: 0 only if the row holds as rational numbers, 1 if it is missed completely, and the same
    in whatever units a row is stated. A row whose terms are all 0 holds.
    """
    rows, factors = slack_terms(A_eq, b_eq, x)
    gap = exact.row_sums(rows, factors, num_rows=b_eq.size)
    wrong, share = gap != 0.0, np.zeros(gap.size)
    if wrong.any():
        size = exact.some_sums(wrong, rows, [np.abs(factor) for factor in factors])
        with np.errstate(invalid="ignore"):
            part = np.maximum(np.abs(gap[wrong]) / size, 5e-324)
        share[wrong] = np.where(np.isfinite(gap[wrong]), part, 1.0)
    return gap, share


def _corrected(lp: LinearProgram, point: Point, engine: HighsEngine, *, slack_of: SlackOf) -> Point:
    """The best corrected point, feasible if one was met."""
    margin, sizes = np.zeros(lp.b.size), abs(lp.A)
    best, attempts, caution = point, 1, NEAR
    while attempts < MAX_ATTEMPTS and (not point.feasible or point.worst_eq > EQUALITY_GOAL):
        rounding = ROUNDING * (sizes @ np.abs(point.x) + np.abs(lp.b))
        # rows of less than the least slack; none for the sake of the equalities alone
        asked = (point.slack < (rounding if caution == NEAR else 0.0)) & (not point.feasible)
        wanted = np.where(asked, np.maximum(GROWTH * margin, rounding), margin)
        if caution == NO_MARGIN:
            wanted[:] = 0.0
        left = point.slack - wanted  # the other rows keep their margin, or what they have of it
        gap = np.where(asked | (point.slack < 0.0), left, np.maximum(left, 0.0))
        gap_eq = np.where(point.residual_eq > EQUALITY_GOAL, point.gap_eq, 0.0)
        attempts += 1
        try:
            raw = engine.correct(point.x, gap, gap_eq)
        except SolverError:
            if caution == NO_MARGIN or (point.feasible and point.worst_eq <= EQUALITY_TOLERANCE):
                break
            caution = NO_MARGIN if point.feasible else caution - 1
            continue
        caution, margin = min(caution, FAILING), wanted
        last, point = point, _at(lp, raw, slack_of)
        settled = point.feasible and best.feasible and best.worst_eq <= EQUALITY_TOLERANCE
        settled = settled and point.worst_eq > best.worst_eq / 2
        if not best.feasible or (point.feasible and point.worst_eq < best.worst_eq):
            best = point
        if settled or (caution == NO_MARGIN and np.array_equal(point.x, last.x)):
            break  # as exact as floats allow
    return best


def _missed_equalities(point: Point, engine: HighsEngine) -> SolverError:
    """Why equality rows are missed: the whole program, centred at the point, is asked again."""
    worst = f"misses {point.worst_eq:.2g} of the terms of an equality row"
    try:
        engine.correct(point.x, point.slack, point.gap_eq)
    except InfeasibleError:
        return InfeasibleError(
            "the equality rows contradict each other, the inequality rows or the bounds, by less "
            f"than the solver's tolerance: the best point found {worst}. Relax a row or a bound, "
            "or leave out equality rows that follow from others"
        )
    except SolverError:
        pass
    return SolverError(
        f"the corrected point {worst}; {EQUALITY_TOLERANCE:.2g} is asked for. Leave out equality "
        "rows that nearly follow from others, or rescale so that coefficients and values are near 1"
    )


def _pulled_inside(lp: LinearProgram, point: Point, *, slack_of: SlackOf) -> Point:
    """The point moved towards the centre of the widest cube until its rows hold.

    Slacks are concave in x, so that a share λ with (1 − λ) slack(x) + λ slack(centre) ≥ 0 is
    enough but for rounding.
    """
    centre, width = _widest(lp, point, slack_of=slack_of)
    rows = slice(point.checked)
    if not centre.feasible:
        raise _no_interior(width, float(np.abs(centre.x).max(initial=0.0)))
    missing = np.maximum(-point.slack[rows], 0.0)
    reached = centre.slack[rows] + missing
    share = float(np.max(missing[missing > 0.0] / reached[missing > 0.0], initial=0.0))
    while share < 1.0:
        x = point.x + share * (centre.x - point.x)
        moved = _at(lp, replace(point.raw, x=x), slack_of)
        if moved.feasible:
            return moved
        share = max(2.0 * share, ROUNDING)
    return replace(centre, raw=replace(point.raw, x=centre.x))


def _widest(lp: LinearProgram, point: Point, *, slack_of: SlackOf) -> tuple[Point, float]:
    """The centre of the largest cube within the checked rows, and half its width.

    max τ   s.t.   A_i x + τ Σ_j|A_ij| ≤ b_i,   A_eq x = b_eq,   bounds,   |τ| ≤ 1 + max|x|
    """
    n, limit = lp.c.size, 1.0 + float(np.abs(point.x).max(initial=0.0))
    weight = np.asarray(abs(lp.A).sum(axis=1)).ravel()
    weight[point.checked :] = 0.0
    cube = LinearProgram(
        np.append(np.zeros(n), 1.0),
        sparse.csr_array(sparse.hstack([lp.A, sparse.csr_array(weight[:, None])])),
        lp.b,
        sparse.csr_array(sparse.hstack([lp.A_eq, sparse.csr_array((lp.b_eq.size, 1))])),
        lp.b_eq,
        np.append(lp.lower, -limit),
        np.append(lp.upper, limit),
    )
    engine = HighsEngine(cube)
    first = _at(cube, engine.run(), cube.slack)
    found = _corrected(cube, first, engine, slack_of=cube.slack)
    return _at(lp, replace(point.raw, x=found.x[:n]), slack_of), float(found.x[n])


def _no_interior(width: float, size: float) -> SolverError:
    """Why no point was found, by the half-width of the widest cube within the rows."""
    narrow = NARROW * (1.0 + size)
    if width < -narrow:
        return InfeasibleError(
            "the inequality rows contradict each other or the equality rows, by less than the "
            f"solver's tolerance: the point that comes closest is {-width:.2g} away from "
            "satisfying them all. Relax a row or a bound by as much"
        )
    if width > narrow:
        return SolverError(
            f"the rows have an interior, of half-width {width:.2g}, but no point of it could be "
            "computed accurately enough; rescale rows and variables so that coefficients and "
            "values are near 1"
        )
    return SolverError(
        "no point satisfies the inequality rows with any margin: the feasible set has no interior. "
        "State rows that always bind together as equalities (A_eq, b_eq), or relax them"
    )
