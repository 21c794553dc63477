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

import numpy as np
from scipy import sparse

from dp_cmdp.errors import AssumptionError, InfeasibleError
from dp_cmdp.lp import LinearProgram, solve
from dp_cmdp.parametric import ParametricLP

_SHOWN = 8  # names in a message


def check_robust_feasibility(program: ParametricLP) -> None:
    """Raise :class:`AssumptionError` unless one x is feasible for every database.

    Notes
    -----
    **Paper.** ``ass:feast`` and ``thm:feasible``, corrected. **Privacy.** Public.
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
            "can help",
            label="ass:feast",
        ) from None
    scale = 1.0 + np.abs(robust.b[:m])
    failing = np.flatnonzero(relaxation > 1e-7 * scale)
    if failing.size:
        _refuse(program, relaxation, failing)


def _refuse(program: ParametricLP, relaxation: np.ndarray, failing: np.ndarray) -> None:
    names = tuple(program.row_names[i] for i in failing)
    amounts = tuple(float(relaxation[i]) for i in failing)
    shown = ", ".join(f"{n} by {a:.6g}" for n, a in list(zip(names, amounts, strict=True))[:_SHOWN])
    more = f" and {failing.size - _SHOWN} more" if failing.size > _SHOWN else ""
    raise AssumptionError(
        "no point is feasible for every database in the envelope, so no private answer could be "
        f"feasible with certainty. Smallest repair: raise the right-hand side of {shown}{more}; "
        "or narrow the public bounds of the entries in these rows. No data was read",
        label="ass:feast",
        rows=names,
        relaxation=amounts,
    )


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
    **Privacy.** Public.
    """
    n = program.num_variables
    low, high = program.envelope.lower, program.envelope.upper
    A_low, A_high = (_extreme(program, low, high, side) for side in (0, 1))
    c_low, c_high = (_objective(program, low, high, side) for side in (0, 1))
    if any_objective:
        noisy = np.unique(program.c.row)
        c_high[noisy] = np.maximum(np.abs(c_high[noisy]), 1.0)
        c_low[noisy] = -c_high[noisy]
    # d = up − down, each in [0, 1]: the cone is cut to a box, which keeps its directions
    recession = LinearProgram(
        np.concatenate([c_high, -c_low]),
        sparse.vstack(
            [
                sparse.hstack([A_low, -A_high]),
                sparse.hstack([program.A_ub, -program.A_ub]),
            ]
        ),
        b=np.zeros(program.A.shape[0] + program.b_ub.size),
        A_eq=sparse.hstack([program.A_eq, -program.A_eq]),
        b_eq=np.zeros(program.b_eq.size),
        upper=np.concatenate([np.isinf(program.upper), np.isinf(program.lower)]).astype(float),
    )
    ray = solve(recession, certify=False)
    if ray.objective > 1e-7 * (1.0 + np.abs(recession.c).max()):
        moving = np.flatnonzero(np.abs(ray.x[:n] - ray.x[n:]) > 1e-9)
        names = tuple(f"x[{j}]" for j in moving)
        raise AssumptionError(
            "the objective may be unbounded for some database in the envelope: "
            f"{', '.join(names[:_SHOWN])} can grow without limit. Give them an upper bound or a "
            "public budget row. No data was read",
            label="ass:bounded",
            rows=names,
        )


def _extreme(
    program: ParametricLP, low: np.ndarray, high: np.ndarray, side: int
) -> sparse.csr_array:
    """A with every sensitive entry at its smallest (side 0) or largest (side 1) value."""
    row, col, _ = program.A.sensitive()
    shape = (program.A.shape[0], program.num_variables)
    ends = program.A.bounds(low, high)
    base = np.asarray(program.A.constant[row, col]).ravel() if row.size else np.empty(0)
    return program.A.constant + sparse.csr_array((ends[side] - base, (row, col)), shape=shape)


def _objective(program: ParametricLP, low: np.ndarray, high: np.ndarray, side: int) -> np.ndarray:
    row, _, _ = program.c.sensitive()
    c = np.array(program.c.constant)
    c[row] = program.c.bounds(low, high)[side]
    return c
