"""Points whose feasibility is a fact and not a tolerance.

A solver's point misses its rows by up to its tolerance. Every row is evaluated exactly (see
:mod:`dp_cmdp.exact`), and the point is *corrected*: the program is centred at the point, magnified
until the largest miss has size 1, and solved again from the last basis. What the solver's tolerance
hides at one scale is plain at the next, so that after one or two corrections the point misses its
rows by no more than the rounding of x to floats, 2^-53 Σ|terms| per row (iterative refinement:
Gleixner, Steffy, Wolter 2016). Inequality rows that rounding could break get a margin of a few such
units, and hold exactly; most equality rows have no solution in floats, and hold to their rounding.

Should the corrections fail, the *widest* program decides: it looks for the point around which the
largest cube satisfies all inequality rows. A cube of positive width proves that there is room, and
the point is pulled towards its centre until all rows hold. Where there is none, its width tells
rows without interior (0) from rows that contradict each other (negative).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InfeasibleError, SolverError
from dp_cmdp.lp import (
    EQUALITY_TOLERANCE,
    Engine,
    FeasibilityCertificate,
    LinearProgram,
    RawSolution,
    Solution,
    inequality_slack,
    make_engine,
    solution_at,
)

#: First margin of a row, relative to Σ|terms|: eight times what rounding x can cost.
ROUNDING = 2.0**-50
#: Margins of rows that fail again grow by this factor: from rounding to everything in 13 rounds.
GROWTH = 16.0
MAX_ATTEMPTS = 14
#: Equality rows are corrected while their residual, relative to Σ|terms|, is larger.
EQUALITY_GOAL = 2.0**-51
#: A cube narrower than this, relative to the size of x, is no room for a point made of floats.
NARROW = 2.0**-48

SlackOf = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class _Point:
    """A point within its bounds and its exact residuals; the first `checked` rows must hold."""

    x: FloatArray
    raw: RawSolution
    slack: FloatArray
    size: FloatArray
    gap_eq: FloatArray
    residual_eq: FloatArray
    checked: int

    @property
    def feasible(self) -> bool:
        return bool((self.slack[: self.checked] >= 0.0).all())

    @property
    def worst_eq(self) -> float:
        return float(self.residual_eq.max(initial=0.0))


def solve_certified(lp: LinearProgram, *, slack_of: SlackOf, engine: str = "highs") -> Solution:
    """Solve, and correct the point until `slack_of(x)`, the leading rows' exact slack, is ≥ 0.

    Raises
    ------
    InfeasibleError, UnboundedError
        Of the program itself.
    SolverError
        When the rows leave no room, with what is known of it.
    """
    bound = make_engine(lp, engine)
    raw = bound.run(lp.b)
    point, margin, attempts = _corrected(lp, _at(lp, raw, slack_of), bound, slack_of=slack_of)
    if not point.feasible:
        point = _pulled_inside(lp, point, slack_of=slack_of, engine=engine)
    if point.worst_eq > EQUALITY_TOLERANCE:
        raise SolverError(
            f"the equality rows hold only to {point.worst_eq:.2g} (relative), although corrected: "
            "they nearly depend on each other. Leave out equality rows that follow from others, or "
            f"rescale so that {EQUALITY_TOLERANCE:g} can be reached"
        )
    certificate = FeasibilityCertificate(
        verified=True,
        worst_slack=float(point.slack[: point.checked].min(initial=np.inf)),
        equality_residual=point.worst_eq,
        equality_tolerance=EQUALITY_TOLERANCE,
        margin=float(margin.max(initial=0.0)),
        attempts=attempts,
    )
    return solution_at(lp, point.x, raw=point.raw, engine=engine, certificate=certificate)


def _at(lp: LinearProgram, raw: RawSolution, slack_of: SlackOf) -> _Point:
    """An engine's point, clipped to its bounds, with the exact residuals of all rows."""
    x = np.clip(raw.x, lp.lower, lp.upper)
    leading = slack_of(x)
    rest = slice(leading.size, None)
    gap_eq = inequality_slack(lp.A_eq, lp.b_eq, x=x)
    size_eq = abs(lp.A_eq) @ np.abs(x) + np.abs(lp.b_eq)
    wrong = gap_eq != 0.0
    residual = np.zeros(gap_eq.size)
    # never 0 for a row that is not exact, even where the quotient underflows
    residual[wrong] = np.maximum(np.abs(gap_eq[wrong]) / size_eq[wrong], 5e-324)
    return _Point(
        x=x,
        raw=raw,
        slack=np.concatenate([leading, inequality_slack(lp.A[rest], lp.b[rest], x=x)]),
        size=abs(lp.A) @ np.abs(x) + np.abs(lp.b),
        gap_eq=gap_eq,
        residual_eq=residual,
        checked=leading.size,
    )


def _corrected(
    lp: LinearProgram, point: _Point, bound: Engine, *, slack_of: SlackOf
) -> tuple[_Point, FloatArray, int]:
    """The best corrected point, feasible if one was met; the margins asked for; the solves."""
    margin = np.zeros(lp.num_rows)
    best, attempts, tight = point, 1, True
    while attempts < MAX_ATTEMPTS and (not point.feasible or point.worst_eq > EQUALITY_GOAL):
        asked = point.slack < (ROUNDING * point.size if tight else 0.0)
        asked &= not point.feasible
        wanted = margin.copy()
        wanted[asked] = np.maximum(GROWTH * margin[asked], ROUNDING * point.size[asked])
        attempts += 1
        try:
            raw = _correction(bound, point, asked=asked, margin=wanted)
        except SolverError:
            if not tight:
                break
            tight = False  # rows that hold exactly may have no room: ask only those that fail
            continue
        tight, margin = False, wanted
        point = _at(lp, raw, slack_of)
        if best.feasible and not (point.feasible and point.worst_eq <= best.worst_eq / 2):
            break  # the equalities are as exact as they get
        best = point if point.feasible or not best.feasible else best
    return best, margin, attempts


def _correction(
    bound: Engine, point: _Point, *, asked: np.ndarray, margin: FloatArray
) -> RawSolution:
    """Rows asked for gain their margin; the others keep it, or what they have of it."""
    room = point.slack - margin
    gap = np.where(asked | (point.slack < 0.0), room, np.maximum(room, 0.0))
    gap_eq = np.where(point.residual_eq > EQUALITY_GOAL, point.gap_eq, 0.0)
    return bound.correct(point.x, gap, gap_eq)


def _pulled_inside(lp: LinearProgram, point: _Point, *, slack_of: SlackOf, engine: str) -> _Point:
    """The point moved towards the centre of the widest cube until its rows hold.

    Slacks are concave in x, so that a share λ with (1 − λ) slack(x) + λ slack(centre) ≥ 0 is
    enough but for rounding.
    """
    centre, width = _widest(lp, point, slack_of=slack_of, engine=engine)
    rows = slice(point.checked)
    if not centre.feasible:
        raise _no_room(width, float(np.abs(centre.x).max(initial=0.0)))
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


def _widest(
    lp: LinearProgram, point: _Point, *, slack_of: SlackOf, engine: str
) -> tuple[_Point, float]:
    """The centre of the largest cube within the checked rows, and half its width.

        max τ   s.t.   A_i x + τ Σ_j|A_ij| ≤ b_i,   A_eq x = b_eq,   bounds,   |τ| ≤ 1 + max|x|
    """
    n, limit = lp.num_variables, 1.0 + float(np.abs(point.x).max(initial=0.0))
    weight = np.asarray(abs(lp.A).sum(axis=1)).ravel()
    weight[point.checked :] = 0.0
    cube = LinearProgram(
        np.append(np.zeros(n), 1.0),
        sparse.hstack([lp.A, sparse.csr_array(weight[:, None])]),
        b=lp.b,
        A_eq=sparse.hstack([lp.A_eq, sparse.csr_array((lp.b_eq.size, 1))]),
        b_eq=lp.b_eq,
        lower=np.append(lp.lower, -limit),
        upper=np.append(lp.upper, limit),
    )
    bound = make_engine(cube, engine)
    first = _at(cube, bound.run(cube.b), cube.slack)
    found, _, _ = _corrected(cube, first, bound, slack_of=cube.slack)
    return _at(lp, replace(point.raw, x=found.x[:n]), slack_of), float(found.x[n])


def _no_room(width: float, size: float) -> SolverError:
    if width < -NARROW * (1.0 + size):
        return InfeasibleError(
            "the inequality rows contradict each other, by less than the solver's tolerance: the "
            f"point that comes closest is {-width:.2g} away from satisfying them all. Relax a row "
            "or a bound by as much (ParametricLP.check_robust_feasibility names the rows)"
        )
    return SolverError(
        "no point satisfies the inequality rows in exact arithmetic with any margin: the feasible "
        f"set has no interior (the widest cube in it has half-width {max(width, 0.0):.2g}). State "
        "rows that always bind together as equalities (A_eq, b_eq), or relax them"
    )
