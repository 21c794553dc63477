"""Problems that no release could answer, told from public data before any is read.

**Feasibility** (replaces the paper's ``ass:feast``, which is too weak): some x satisfies
A(θ)x ≤ b(θ) for *every* θ of the envelope. When it fails, an elastic program finds the rows that
fail and the smallest total relaxation that repairs them.

**Boundedness**: the program has a finite optimum for every database. Its recession directions d
(A_inf d ≤ 0, A_eq d = 0, within the signs that the bounds allow) must not increase any objective of
the envelope.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError, RefusedError, SolverError, UnboundedError
from dp_cmdp._src.base.validation import SHOWN, FloatArray, listed
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.labels import label_at
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram, elastic_program
from dp_cmdp._src.program.rows import RobustRows

if TYPE_CHECKING:
    from dp_cmdp._src.program.parametric import ParametricLP

#: Free variables whose signs are tried apart.
_SPLIT = 8


def refusal(program: ParametricLP, error: SolverError) -> RefusedError:
    """Why there is no answer for every database of the envelope, with the smallest repair."""
    if isinstance(error, UnboundedError):
        try:
            check_boundedness(program)
        except RefusedError as refused:
            return refused
    robust = RobustRows(program._rows, program.envelope.uncertainty)
    lp = program._over(robust, np.zeros(program.lower.size))
    try:
        repairs = _repairs(program, lp, np.unique(program._rows.row))
    except InfeasibleError:
        repairs = _public_repairs(program, lp)
        why = (
            "the public rows and bounds contradict each other; no relaxation of the rows with "
            f"private numbers can help. Smallest repair: relax {_listed(repairs)}"
        )
    else:
        why = f"no point could be certified for every database of the envelope: {error}"
        if repairs:
            why = (
                "no point is feasible for every database of the envelope, so no private answer "
                f"could be feasible with certainty. Smallest repair: relax {_listed(repairs)} "
                "(raise the right-hand side of a row ≤); or narrow the public bounds of the "
                "numbers in these rows"
            )
    return RefusedError(f"{why}. No data was read", repairs=repairs)


def _repairs(program: ParametricLP, lp: LinearProgram, rows: NDArray[np.intp]) -> dict[str, float]:
    """By how much the given rows must give way; raises InfeasibleError where that cannot help."""
    try:
        amount = HighsEngine(elastic_program(lp, rows)).run().x[lp.c.size :]
    except InfeasibleError:
        raise
    except SolverError:
        return {}
    size = abs(lp.A[rows]).max(axis=1).toarray().ravel() if rows.size else np.empty(0)
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
    failing = np.flatnonzero(amount > 1e-8 * (1 + np.abs(np.append(lp.b[:own], lp.b_eq))))
    names = [*program.row_names, *(f"equality row {i}" for i in range(k))]
    return {names[i]: float(amount[i]) for i in failing}


def _listed(repairs: dict[str, float]) -> str:
    shown = [f"{name} by {amount:.6g}" for name, amount in repairs.items()]
    return listed(shown) or "a row or a bound"


def check_boundedness(program: ParametricLP) -> None:
    """Raise RefusedError unless the program is bounded for every database of the envelope.

    Sufficient, and necessary when x ≥ 0 and every coefficient has its own database entry.
    """
    if np.isfinite(program.lower).all() and np.isfinite(program.upper).all():
        return
    low, high = _ends(program.objective, program)
    sign = program.sense
    ends = sign * low.toarray().ravel(), sign * high.toarray().ravel()
    _refuse_growth(program, np.maximum(*ends), -np.minimum(*ends))


def _ends(part: Affine, program: ParametricLP) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Every coefficient at its smallest and its largest over the envelope."""
    box = program.envelope
    ends = part.coefficient * box.lower[part.entry], part.coefficient * box.upper[part.entry]
    shape = part.constant.shape
    at = part.row, part.col
    low = part.constant + sparse.csr_array((np.minimum(*ends), at), shape)
    high = part.constant + sparse.csr_array((np.maximum(*ends), at), shape)
    return sparse.csr_array(low), sparse.csr_array(high)


def _refuse_growth(program: ParametricLP, up: FloatArray, down: FloatArray) -> None:
    """Raise if up·d⁺ + down·d⁻ can grow along a recession direction d = d⁺ − d⁻ of some program.

    d⁺ and d⁻ are cut to [0, 1], which keeps the directions of the cone. A free variable whose
    coefficients are uncertain must not go up and down at once: its two signs are tried apart
    (beyond :data:`_SPLIT` such variables they are not, and the check is only sufficient).
    """
    scale = max(np.abs(up).max(), np.abs(down).max())
    if scale == 0.0:
        return
    low, high = _ends(program.A, program)
    n, m, k = up.size, program.b.shape[0], program.b_eq.size
    rises, falls = np.isinf(program.upper), np.isinf(program.lower)
    uncertain = np.union1d(program.A.col, program.objective.row)
    free = uncertain[rises[uncertain] & falls[uncertain]]
    cone = LinearProgram(
        np.concatenate([up, down]) / scale,
        sparse.csr_array(sparse.hstack([low, -high])),
        np.zeros(m),
        sparse.csr_array(sparse.hstack([program.A_eq, -program.A_eq])),
        np.zeros(k),
        np.zeros(2 * n),
        np.concatenate([rises, falls]).astype(np.float64),
    )
    for signs in product((0, n), repeat=free.size if free.size <= _SPLIT else 0):
        limits = cone.upper.copy()
        limits[free[: len(signs)] + np.array(signs, dtype=np.intp)] = 0.0
        ray = np.clip(HighsEngine(replace(cone, upper=limits)).run().x, 0.0, limits)
        if cone.c @ ray > 1e-7:
            grows = np.flatnonzero(np.abs(ray[:n] - ray[n:]) > 1e-9).tolist()
            labels = program.variables
            names = [label_at(labels, j) if labels else f"x[{j}]" for j in grows]
            raise RefusedError(
                "the objective may be unbounded for some database of the envelope: "
                f"{', '.join(names[:SHOWN]) or 'some variable'} can grow without limit. Give them "
                "an upper bound or a public budget row. No data was read"
            )
