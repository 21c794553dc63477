"""Problems that no release could answer, told from public data before any is read.

**Feasibility** (replaces the paper's ``ass:feast``, which is too weak): some x satisfies
A(θ)x ≤ b(θ) for *every* θ of the envelope. When it fails, an elastic program finds the rows that
fail and the smallest total relaxation that repairs them.

**Boundedness**: the program has a finite optimum for every database. Its recession directions d
(A_inf d ≤ 0, A_eq d = 0, within the signs that the bounds allow) must not increase any objective of
the envelope.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError, RefusedError, SolverError, UnboundedError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram, elastic_program, widened
from dp_cmdp._src.program.rows import RobustRows

if TYPE_CHECKING:
    from dp_cmdp._src.program.parametric import ParametricLP

#: Rows that a message shows: as many as fit on a line.
SHOWN = 8
#: Free variables whose signs are tried apart.
_SPLIT = 8


def refusal(program: ParametricLP, error: SolverError) -> RefusedError:
    """Why there is no answer for every database of the envelope, with the smallest repair."""
    if isinstance(error, UnboundedError):
        try:
            check_boundedness(program)
        except RefusedError as refused:
            return refused
    lp = RobustRows(program._rows, program.envelope.uncertainty).program(
        np.zeros(program.lower.size),
        lower=program.lower,
        upper=program.upper,
        A_eq=program.A_eq,
        b_eq=program.b_eq,
    )
    private = np.unique(program._rows.row)
    repairs = _repairs(program, lp, private)
    if repairs is None:
        repairs = _public_repairs(program, lp)
        return RefusedError(
            "the public rows and bounds contradict each other; no relaxation of the rows with "
            f"private numbers can help. Smallest repair: relax {_listed(repairs)}. No data was "
            "read",
            repairs=repairs,
        )
    if repairs:
        return RefusedError(
            "no point is feasible for every database of the envelope, so no private answer could "
            f"be feasible with certainty. Smallest repair: relax {_listed(repairs)} (raise the "
            "right-hand side of a row ≤); or narrow the public bounds of the numbers in these "
            "rows. No data was read",
            repairs=repairs,
        )
    return RefusedError(
        f"no point could be certified for every database of the envelope: {error}. No data was read"
    )


def _repairs(
    program: ParametricLP, lp: LinearProgram, rows: NDArray[np.intp]
) -> dict[str, float] | None:
    """By how much the given rows must give way; None where that does not help."""
    m, give = lp.b.size, rows.size
    relief = sparse.csr_array((-np.ones(give), (rows, np.arange(give))), shape=(m, give))
    elastic = LinearProgram(
        np.concatenate([np.zeros(lp.c.size), -np.ones(give)]),
        sparse.csr_array(sparse.hstack([lp.A, relief])),
        lp.b,
        widened(lp.A_eq, give),
        lp.b_eq,
        np.concatenate([lp.lower, np.zeros(give)]),
        np.concatenate([lp.upper, np.full(give, np.inf)]),
    )
    try:
        amount = HighsEngine(elastic).run().x[lp.c.size :]
    except InfeasibleError:
        return None
    except SolverError:
        return {}
    size = abs(lp.A[rows]).max(axis=1).toarray().ravel() if give else np.empty(0)
    failing = np.flatnonzero(amount > 1e-8 * np.abs(lp.b[rows]) + 2e-9 * size)
    return {program.row_names[rows[k]]: float(amount[k]) for k in failing}


def _public_repairs(program: ParametricLP, lp: LinearProgram) -> dict[str, float]:
    """Which rows of any kind must give way, and by how much."""
    m, k, own = lp.b.size, lp.b_eq.size, program.b.shape[0]
    try:
        given = HighsEngine(elastic_program(lp)).run().x[lp.c.size :]
    except SolverError:
        return {}
    amount = np.concatenate([given[:own], given[m : m + k] + given[m + k :]])
    right = np.concatenate([lp.b[:own], lp.b_eq])
    names = [*program.row_names, *(f"equality row {i}" for i in range(k))]
    failing = np.flatnonzero(amount > 1e-8 * (1 + np.abs(right)))
    return {names[i]: float(amount[i]) for i in failing}


def _listed(repairs: dict[str, float]) -> str:
    shown = [f"{name} by {amount:.6g}" for name, amount in list(repairs.items())[:SHOWN]]
    more = f" and {len(repairs) - SHOWN} more" if len(repairs) > SHOWN else ""
    return (", ".join(shown) or "a row or a bound") + more


def check_boundedness(program: ParametricLP) -> None:
    """Raise RefusedError unless the program is bounded for every database of the envelope.

    Sufficient, and necessary when x ≥ 0 and every coefficient has its own database entry.
    """
    if np.isfinite(program.lower).all() and np.isfinite(program.upper).all():
        return
    low, high = _ends(program.objective, program)
    sign = -1.0 if program.minimizes else 1.0
    ends = sign * low.toarray().ravel(), sign * high.toarray().ravel()
    _Recession(program).refuse_growth(np.maximum(*ends), -np.minimum(*ends))


def _ends(part: Affine, program: ParametricLP) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Every coefficient at its smallest and its largest over the envelope."""
    box = program.envelope
    ends = part.coefficient * box.lower[part.entry], part.coefficient * box.upper[part.entry]
    shape = part.constant.shape
    low, high = (
        sparse.csr_array(part.constant + sparse.csr_array((end, (part.row, part.col)), shape))
        for end in (np.minimum(*ends), np.maximum(*ends))
    )
    return low, high


class _Recession:
    """Directions d = up − down in which some program of the envelope is unlimited.

    up and down are cut to [0, 1], which keeps the directions of the cone. A free variable whose
    coefficients are uncertain must not go up and down at once: its two signs are tried apart
    (beyond :data:`_SPLIT` such variables they are not, and the check is only sufficient).
    """

    def __init__(self, program: ParametricLP) -> None:
        low, high = _ends(program.A, program)
        self._A = sparse.csr_array(sparse.hstack([low, -high]))
        self._A_eq = sparse.csr_array(sparse.hstack([program.A_eq, -program.A_eq]))
        can_rise, can_fall = np.isinf(program.upper), np.isinf(program.lower)
        self._limits = np.concatenate([can_rise, can_fall]).astype(float)
        uncertain = np.union1d(program.A.col, program.objective.row)
        self._free = uncertain[can_rise[uncertain] & can_fall[uncertain]]

    def refuse_growth(self, up: FloatArray, down: FloatArray) -> None:
        """Raise if the objective up·(up part) + down·(down part) can grow."""
        objective = np.concatenate([up, down])
        scale = np.abs(objective).max(initial=0.0)
        if scale == 0.0:
            return
        for limits in self._orthants():
            ray = self._ray(objective / scale, limits)
            if objective @ ray > 1e-7 * scale:
                raise _unbounded(ray[: up.size] - ray[up.size :])

    def _orthants(self) -> Iterator[FloatArray]:
        n = self._limits.size // 2
        free = self._free if self._free.size <= _SPLIT else self._free[:0]
        for signs in product((0, n), repeat=free.size):
            limits = self._limits.copy()
            limits[free + np.array(signs, dtype=np.intp)] = 0.0
            yield limits

    def _ray(self, objective: FloatArray, limits: FloatArray) -> FloatArray:
        rows, equalities = self._A.shape[0], self._A_eq.shape[0]
        none = np.zeros(limits.size)
        cone = LinearProgram(
            objective, self._A, np.zeros(rows), self._A_eq, np.zeros(equalities), none, limits
        )
        return np.clip(HighsEngine(cone).run().x, none, limits)


def _unbounded(direction: FloatArray) -> RefusedError:
    names = [f"x[{j}]" for j in np.flatnonzero(np.abs(direction) > 1e-9)]
    return RefusedError(
        "the objective may be unbounded for some database of the envelope: "
        f"{', '.join(names[:SHOWN]) or 'some variable'} can grow without limit. Give them an upper "
        "bound or a public budget row. No data was read"
    )
