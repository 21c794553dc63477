"""Public upper bounds: the program at its most permissive over the envelope.

For x ≥ 0, every point that is feasible for *some* database satisfies A_inf x ≤ b_sup, so maxima
over that set bound what any database allows. They scale iterations without looking at the data.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import AssumptionError, UnboundedError
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP


def optimistic_program(program: ParametricLP, objective: FloatArray) -> LinearProgram:
    """The relaxation max objective·x over A_inf x ≤ b_sup and the public rows, for x ≥ 0."""
    low, high = program.envelope.lower, program.envelope.upper
    return LinearProgram(
        objective,
        sparse.vstack([program.A.extremes(low, high)[0], program.A_ub]),
        b=np.concatenate([program.b.extremes(low, high)[1], program.b_ub]),
        A_eq=program.A_eq,
        b_eq=program.b_eq,
        lower=program.lower,
        upper=program.upper,
    )


def optimistic_value(program: ParametricLP, objective: FloatArray, *, method: str) -> float:
    """max objective·x over everything some database allows.

    Raises
    ------
    AssumptionError
        When it is infinite: `method` then has no public scale.

    Notes
    -----
    **Privacy.** *Post-processing* of `objective`.
    """
    try:
        return solve(optimistic_program(program, objective), certify=False).objective
    except UnboundedError:
        raise AssumptionError(
            f"{method} needs a public bound on the answer, but some database of the envelope "
            "allows x to grow without limit: add upper bounds or a public budget row",
            label=f"{method}: public scale",
        ) from None


def require_nonnegative(program: ParametricLP, *, method: str) -> None:
    """Raise unless the variables are bounded below by exactly 0."""
    if (program.lower != 0).any():
        raise AssumptionError(
            f"{method} works on x ≥ 0 only; its multiplicative weights have no meaning for "
            "variables with another lower bound: substitute x = x⁺ − x⁻",
            label=f"{method}: x ≥ 0",
        )
