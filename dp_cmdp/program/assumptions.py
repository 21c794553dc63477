"""The assumptions of the feasibility theorem, checked from public data before any is read.

**Robust feasibility** (replaces the paper's ``ass:feast``, which is too weak): some x satisfies
A(θ)x ≤ b(θ) for *every* θ in the envelope. When it fails, an elastic program finds the rows at
fault and the smallest total relaxation that repairs them.

**Boundedness**: the program has a finite optimum for every database. Its recession directions d
(A_inf d ≤ 0, A_eq d = 0, within the signs that the bounds allow) must not increase any objective of
the envelope. With untruncated noise on the objective any c may appear, so they must all be zero
on the perturbed variables (``any_objective``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.errors import AssumptionError, InfeasibleError, SolverError
from dp_cmdp.program.engines.elastic import elastic_program
from dp_cmdp.program.linear_program import LinearProgram, Solution, solve
from dp_cmdp.program.parametric import ParametricLP

_SPLIT = 8  # free variables whose signs are tried apart


@door
def check_robust_feasibility(program: ParametricLP) -> None:
    """Raise :class:`AssumptionError` unless one x is feasible for every database.

    Notes
    -----
    **Paper.** ``ass:feast`` and ``thm:feasible``, corrected. **Privacy.** *Public*.
    """
    envelope = program.envelope
    robust = program.robust(envelope.lower, envelope.upper)
    m = program.A.shape[0]
    elastic = LinearProgram(
        np.concatenate([np.zeros(robust.num_variables), -np.ones(m)]),
        sparse.hstack([robust.A, -sparse.eye_array(robust.num_rows, m)]),
        b=robust.b,
        A_eq=sparse.hstack([robust.A_eq, sparse.csr_array((robust.b_eq.size, m))]),
        b_eq=robust.b_eq,
        lower=np.concatenate([robust.lower, np.zeros(m)]),
        upper=np.concatenate([robust.upper, np.full(m, np.inf)]),
    )
    try:
        relaxation = solve(elastic, certify=False).x[robust.num_variables :]
    except InfeasibleError:
        raise AssumptionError(
            "the public rows and bounds contradict each other; no relaxation of the sensitive rows "
            "can help. No data was read",
            label="ass:feast",
        ) from None
    size = abs(robust.A[:m]).max(axis=1).toarray().ravel() if m else np.empty(0)
    failing = np.flatnonzero(relaxation > 1e-8 * np.abs(robust.b[:m]) + 2e-9 * size)
    if failing.size:
        _refuse(program, relaxation, failing)


def _refuse(program: ParametricLP, relaxation: np.ndarray, failing: np.ndarray) -> None:
    names = tuple(program.row_names[i] for i in failing)
    amounts = tuple(float(relaxation[i]) for i in failing)
    shown = ", ".join(
        f"{n} by {a:.6g}" for n, a in list(zip(names, amounts, strict=True))[: _check.SHOWN]
    )
    more = f" and {failing.size - _check.SHOWN} more" if failing.size > _check.SHOWN else ""
    raise AssumptionError(
        "no point is feasible for every database in the envelope, so no private answer could be "
        f"feasible with certainty. Smallest repair: relax {shown}{more} (raise the right-hand side "
        "of a row ≤, lower that of a row ≥); or narrow the public bounds of the entries in these "
        "rows. No data was read",
        label="ass:feast",
        rows=names,
        relaxation=amounts,
    )


def public_repair(
    program: ParametricLP, names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Public rows that must give way, and by how much; None if the public rows agree.

    `names` are those of the inequality rows, then of the equality rows.
    """
    n, m, k = program.num_variables, program.b_ub.size, program.b_eq.size
    elastic = elastic_program(
        program.A_ub,
        program.b_ub,
        A_eq=program.A_eq,
        b_eq=program.b_eq,
        lower=program.lower,
        upper=program.upper,
    )
    try:
        given = solve(elastic, certify=False).x[n:]
    except SolverError:
        return None
    amount = np.concatenate([given[:m], given[m : m + k] + given[m + k :]])
    failing = np.flatnonzero(amount > 1e-8 * (1 + np.abs(np.append(program.b_ub, program.b_eq))))
    if not failing.size:
        return None
    return tuple(names[i] for i in failing.tolist()), tuple(amount[failing].tolist())


@door
def check_boundedness(program: ParametricLP, *, any_objective: bool = False) -> None:
    """Raise :class:`AssumptionError` unless the program is bounded for every database.

    Parameters
    ----------
    program : ParametricLP
    any_objective : bool
        Ask it of every objective on the sensitive variables (untruncated noise), not only of those
        in the envelope.

    Notes
    -----
    Sufficient, and necessary when x ≥ 0 and every LP entry has its own database entry.
    **Privacy.** *Public*.
    """
    low, high = program.envelope.lower, program.envelope.upper
    cone = _Recession(program, *program.A.extremes(low, high))
    c_low, c_high = program.c.extremes(low, high)
    if any_objective:
        for up, down in _directions(program):
            cone.refuse_growth(up, down)
        # what is left of the noisy variables cannot move
        noisy = np.unique(program.c.row)
        c_low[noisy] = c_high[noisy] = 0.0
    cone.refuse_growth(c_high, -c_low)


def _directions(program: ParametricLP) -> list[tuple[np.ndarray, np.ndarray]]:
    """Objectives that together see every movement of a variable with a noisy objective.

    Variables with a finite bound move one way only and share one objective; a free variable is
    looked at on its own, up and down (its two halves may cancel).
    """
    n = program.num_variables
    noisy = np.unique(program.c.row)
    free = np.isinf(program.lower[noisy]) & np.isinf(program.upper[noisy])
    bounded = np.zeros(n)
    bounded[noisy[~free]] = 1.0
    found = [(bounded, bounded)]
    for j in noisy[free]:
        unit = np.zeros(n)
        unit[j] = 1.0
        found += [(unit, -unit), (-unit, unit)]
    return found


class _Recession:
    """Directions d = up − down in which some program of the envelope is unlimited.

    up and down are cut to [0, 1], which keeps the directions of the cone. A free variable whose
    coefficients are uncertain must not go up and down at once: its two signs are tried apart
    (beyond :data:`_SPLIT` such variables they are not, and the check is only sufficient).
    """

    def __init__(
        self, program: ParametricLP, A_low: sparse.csr_array, A_high: sparse.csr_array
    ) -> None:
        public = sparse.hstack([program.A_ub, -program.A_ub])
        self._A = sparse.vstack([sparse.hstack([A_low, -A_high]), public])
        self._A_eq = sparse.hstack([program.A_eq, -program.A_eq])
        can_rise, can_fall = np.isinf(program.upper), np.isinf(program.lower)
        self._limits = np.concatenate([can_rise, can_fall]).astype(float)
        uncertain = np.union1d(program.A.col, program.c.row)
        self._free = uncertain[can_rise[uncertain] & can_fall[uncertain]]

    def refuse_growth(self, up: np.ndarray, down: np.ndarray) -> None:
        """Raise if the objective up·(up part) + down·(down part) can grow."""
        objective = np.concatenate([up, down])
        scale = np.abs(objective).max(initial=0.0)
        if scale == 0.0:
            return
        for limits in self._orthants():
            ray = self._grow(objective / scale, limits)
            if ray.objective > 1e-7:
                _refuse_direction(ray.x[: up.size] - ray.x[up.size :])

    def _orthants(self) -> Iterator[np.ndarray]:
        n = self._limits.size // 2
        free = self._free if self._free.size <= _SPLIT else self._free[:0]
        for signs in product((0, n), repeat=free.size):
            limits = self._limits.copy()
            limits[free + np.array(signs, dtype=np.intp)] = 0.0
            yield limits

    def _grow(self, objective: np.ndarray, limits: np.ndarray) -> Solution:
        cut = LinearProgram(
            objective,
            self._A,
            b=np.zeros(self._A.shape[0]),
            A_eq=self._A_eq,
            b_eq=np.zeros(self._A_eq.shape[0]),
            upper=limits,
        )
        return solve(cut, certify=False)


def _refuse_direction(direction: np.ndarray) -> None:
    names = tuple(f"x[{j}]" for j in np.flatnonzero(np.abs(direction) > 1e-9))
    raise AssumptionError(
        "the objective may be unbounded for some database in the envelope: "
        f"{', '.join(names[: _check.SHOWN]) or 'some variable'} can grow without limit. Give them "
        "an upper bound or a public budget row. No data was read",
        label="ass:bounded",
        rows=names,
    )
