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
    """An occupancy measure x(s, a) that keeps its rows up to rounding, and how far it is from best.

    Attributes
    ----------
    occupancy : (num_states, num_actions)
    value : float
        Discounted reward Σ r x.
    dual : (rows,)
        Multipliers ≥ 0 of the rows, at which `bound` was found.
    bound : float
        No policy that keeps the rows earns more: the Lagrangian bound at `dual`.
    gap : float
        (bound − value)/max(|value|, max|r|); what was asked for is not always reached.
    engine : str
        ``"policies"`` or ``"lp"``.
    iterations : int
    auxiliary : (auxiliary variables,)
        Of rows over a polytope.
    policies, occupancies : (m, num_states)
        Deterministic policies that are mixed, and their state occupancies, if it was found so.
    basis
        Of a linear program with auxiliary variables: a start for one of the same shape.
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
