"""Public upper bounds: the program at its most permissive over the envelope.

For x ≥ 0, every point that is feasible for *some* database satisfies A_inf x ≤ b_sup, so maxima
over that set bound what any database allows. They scale iterations without looking at the data.
"""

from __future__ import annotations

import dp_cmdp as dp
from paper.blocks import Form
from paper.linear import Floats, LinearProgram, solve


def optimistic_program(part: Form, objective: Floats) -> LinearProgram:
    """The relaxation max objective·x over A_inf x ≤ b_sup, for x ≥ 0."""
    low, high = part.envelope.lower, part.envelope.upper
    return LinearProgram(
        objective,
        part.A.extremes(low, high)[0],
        part.b.extremes(low, high)[1].toarray().ravel(),
        part.A_eq,
        part.b_eq,
        part.lower,
        part.upper,
    )


def optimistic_value(part: Form, objective: Floats, *, method: str) -> float:
    """max objective·x over everything some database allows; refused where that is infinite."""
    try:
        return solve(optimistic_program(part, objective)).objective
    except dp.errors.UnboundedError:
        raise dp.errors.RefusedError(
            f"{method} needs a public bound on the answer, but some database of the envelope "
            "allows x to grow without limit: add upper bounds or a public budget row"
        ) from None


def require_nonnegative(part: Form, *, method: str) -> None:
    """Raise unless the variables are bounded below by exactly 0."""
    if (part.lower != 0).any():
        raise dp.errors.RefusedError(
            f"{method} works on x ≥ 0 only; its multiplicative weights have no meaning for "
            "variables with another lower bound: substitute x = x⁺ − x⁻"
        )
