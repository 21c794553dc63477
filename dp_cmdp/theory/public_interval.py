"""What the value of a program can be, from public data alone.

    robust value  ≤  true optimum  ≤  optimistic value

The *robust value* is the best objective that some x attains for **every** database of the envelope
(rows and objective at their worst): whoever publishes that x spends no privacy at all. The
*optimistic value* takes every entry of A, b and c at its most favourable end, each on its own: an
upper bound, exact when no database entry is read twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp._door import door
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import UnboundedError
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP


@dataclass(frozen=True, slots=True, eq=False)
class PublicInterval:
    """robust ≤ true optimum ≤ optimistic, and the point that attains the robust value.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> from dp_cmdp.theory.public_interval import public_interval
    >>> price = Affine((1, 1), at=([0], [0]), entry=[0])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=1), c=[3], A=price, b=[8])
    >>> found = public_interval(program)
    >>> round(found.robust, 6), round(found.optimistic, 6), found.x.round(6).tolist()
    (12.0, 24.0, [4.0])
    """

    robust: float
    optimistic: float
    x: FloatArray


@door
def as_program(program: ParametricLP | ParametricCMDP) -> ParametricLP:
    """A linear program: the occupancy-measure program of a CMDP, a program itself otherwise."""
    return program.program() if isinstance(program, ParametricCMDP) else program


@door
def public_interval(program: ParametricLP | ParametricCMDP) -> PublicInterval:
    """Bounds of the true optimum that need no data.

    Raises
    ------
    InfeasibleError
        When no point is feasible for every database; see ``check_robust_feasibility``.

    Notes
    -----
    **Paper.** Ours; its bounds come from ``eq:ahat``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> from dp_cmdp.theory.public_interval import public_interval
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> known = public_interval(program)
    >>> round(known.robust, 6), round(known.optimistic, 6)  # the true optimum lies between
    (12.0, 24.0)
    """
    lp = as_program(program)
    best = robust_solution(lp)
    return PublicInterval(best.objective, optimistic_value(lp), frozen(best.x[: lp.num_variables]))


def robust_solution(program: ParametricLP):
    """The point with the best guaranteed objective over the whole envelope."""
    envelope = program.envelope
    guarded = worst_objective(program)
    return solve(guarded.robust(envelope.lower, envelope.upper), certify=False)


def worst_objective(program: ParametricLP) -> ParametricLP:
    """The same program with its objective as a row: maximise t subject to t ≤ c(θ)ᵀx.

    With a public objective the program itself is returned.
    """
    if program.c.is_public:
        return program
    n, m, c = program.num_variables, program.A.shape[0], program.c
    constant = sparse.vstack(
        [_column(program.A.constant), sparse.csr_array([[*(-c.constant), 1.0]])], format="csr"
    )
    A = Affine(
        (m + 1, n + 1),
        constant=constant,
        at=(
            np.concatenate([program.A.row, np.full(c.row.size, m)]),
            np.concatenate([program.A.col, c.row]),
        ),
        entry=np.concatenate([program.A.entry, c.entry]),
        coefficient=np.concatenate([program.A.coefficient, -c.coefficient]),
    )
    b = program.b
    return ParametricLP(
        program.envelope,
        c=np.append(np.zeros(n), 1.0),
        A=A,
        b=Affine(
            m + 1,
            constant=np.append(b.constant, 0.0),
            at=b.row,
            entry=b.entry,
            coefficient=b.coefficient,
        ),
        A_ub=_column(program.A_ub),
        b_ub=program.b_ub,
        A_eq=_column(program.A_eq),
        b_eq=program.b_eq,
        lower=np.append(program.lower, -np.inf),
        upper=np.append(program.upper, np.inf),
        row_names=(*program.row_names, "objective"),
    )


def optimistic_value(program: ParametricLP) -> float:
    """Every entry of A, b, c at its best end; ∞ when that program is unbounded.

    x is written as up − down with up, down ≥ 0; for x ≥ 0 the second part is absent.
    """
    low, high = program.envelope.lower, program.envelope.upper
    ends = [part.extremes(low, high) for part in (program.A, program.b, program.c)]
    (A_low, A_high), (_, b_high), (c_low, c_high) = ends
    down = np.flatnonzero(program.lower < 0)
    rows, sides = _split_bounds(program, down)
    lp = LinearProgram(
        np.concatenate([c_high, -c_low[down]]),
        sparse.vstack(
            [
                sparse.hstack([A_low, -A_high[:, down]]),
                sparse.hstack([program.A_ub, -program.A_ub[:, down]]),
                rows,
            ]
        ),
        b=np.concatenate([b_high, program.b_ub, sides]),
        A_eq=sparse.hstack([program.A_eq, -program.A_eq[:, down]]),
        b_eq=program.b_eq,
        lower=np.concatenate([np.maximum(program.lower, 0.0), np.zeros(down.size)]),
        upper=np.concatenate([np.maximum(program.upper, 0.0), -program.lower[down]]),
    )
    try:
        return solve(lp, certify=False).objective
    except UnboundedError:
        return float("inf")


def harmful_ends(program: ParametricLP) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which ends (lower, upper) of each entry's interval can tighten a sensitive row."""
    lower, upper = (np.zeros(program.envelope.num_entries, dtype=bool) for _ in range(2))
    A, b = program.A, program.b
    signs = np.sign(A.coefficient)
    for sign, present in ((1.0, program.upper > 0), (-1.0, program.lower < 0)):
        moved = signs * sign * present[A.col]
        upper[A.entry[moved > 0]] = True
        lower[A.entry[moved < 0]] = True
    upper[b.entry[b.coefficient < 0]] = True
    lower[b.entry[b.coefficient > 0]] = True
    return lower, upper


def _column(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], 1))], format="csr")


def _split_bounds(
    program: ParametricLP, down: NDArray[np.intp]
) -> tuple[sparse.csr_array, FloatArray]:
    """up − down ≤ upper and down − up ≤ −lower, for the split variables: rows and sides."""
    n, count = program.num_variables, down.size
    pick = sparse.csr_array((np.ones(count), (np.arange(count), down)), shape=(count, n))
    eye = sparse.eye_array(count)
    rows = sparse.vstack([sparse.hstack([pick, -eye]), sparse.hstack([-pick, eye])], format="csr")
    sides = np.concatenate([program.upper[down], -program.lower[down]])
    known = np.flatnonzero(np.isfinite(sides))
    return rows[known], sides[known]
