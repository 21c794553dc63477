"""What the solvers return: an occupancy measure with a bound that certifies its quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.errors import InfeasibleError
from dp_cmdp._src.base.validation import FloatArray, frozen

#: Excess over a limit that is taken for rounding, relative to max|cost_i|/(1 − γ).
FEASIBILITY = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """An occupancy measure that keeps its rows up to rounding, and how far it is from the best.

    `dual` are the multipliers ≥ 0 of the rows at which the Lagrangian `bound` was found, and `gap`
    is (bound − value)/max(|value|, max|r|): what was asked for is not always reached. `auxiliary`
    are the variables beside x of rows over a set, `policies` and `occupancies` what is mixed if it
    was found so, `basis` a start for a linear program of the same shape.
    """

    occupancy: FloatArray
    value: float
    dual: FloatArray
    bound: float
    gap: float
    engine: str
    iterations: int
    auxiliary: FloatArray
    policies: NDArray[np.int32] | None = None
    occupancies: FloatArray | None = None
    basis: Any = None


def relative_gap(bound: float, value: float, *, reward_scale: float) -> float:
    """(bound − value)/max(|value|, max|r|), with rounding below zero cut off."""
    scale = max(abs(value), reward_scale)
    return max(bound - value, 0.0) / scale if scale > 0.0 else 0.0


def infeasible(dual: FloatArray, excess: float) -> InfeasibleError:
    """The error for multipliers with dualᵀ(cost − limit) ≥ `excess` > 0 under every policy."""
    total = 2.0 ** np.ceil(np.log2(dual.sum()))  # a power of two: nothing is rounded
    return InfeasibleError(
        "no policy keeps all limits: raise them or drop a cost. The attributes `ray` and "
        "`violation` of this error prove it: Σ ray·(cost − limit) is at least `violation` > 0 "
        "whatever the policy",
        ray=frozen(dual / total),
        violation=float(excess / total),
    )
