"""The flow equations of occupancy measures, and what the solvers return.

x(s, a) = E[Σ_t γ^t 1{s_t = s, a_t = a}] are the measures x ≥ 0 that some policy attains:

    Σ_a x(s', a) − γ Σ T(s, a, s') x(s, a) = start(s').
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy

#: Excess over a limit that is taken for rounding, relative to max|cost_i|/(1 − γ).
FEASIBILITY = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """An occupancy measure that keeps its rows up to rounding, and how far it is from the best.

    `dual` are the multipliers ≥ 0 of the rows at which the Lagrangian `bound` was found, and
    `reward_scale` is max|r|: what gap was asked for is not always reached. `auxiliary`
    are the variables beside x of rows over a set, `policies` and `occupancies` what is mixed if it
    was found so, `basis` a start for a linear program of the same shape, `policy` what to do at
    every step of a horizon.
    """

    occupancy: FloatArray
    value: float
    dual: FloatArray
    bound: float
    reward_scale: float
    engine: str = "policies"
    auxiliary: FloatArray = field(default_factory=partial(np.empty, 0))
    policies: NDArray[np.int32] | None = None
    occupancies: FloatArray | None = None
    basis: Any = None
    policy: Policy | None = None

    @classmethod
    def of(cls, mdp: MDP, x: FloatArray, dual: FloatArray, bound: float, **more: Any) -> Solution:
        """Of an occupancy measure, whose value is summed."""
        size = float(np.abs(mdp.r).max())
        value = float(mdp.r.ravel() @ x.ravel())
        return cls(frozen(x.reshape(mdp.r.shape)), value, frozen(dual), bound, size, **more)

    @property
    def gap(self) -> float:
        """(bound − value)/max(|value|, max|r|), with rounding below zero cut off."""
        scale = max(abs(self.value), self.reward_scale)
        return max(self.bound - self.value, 0.0) / scale if scale > 0.0 else 0.0


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


def flow_matrix(mdp: MDP) -> sparse.csr_array:
    """F of the flow equations F x = start: column s·num_actions + a is e_s − γ·T(s, a, ·)."""
    pairs = mdp.r.size
    leaving = sparse.csr_array(
        (np.ones(pairs), np.arange(pairs), np.arange(0, pairs + 1, mdp.num_actions)),
        shape=(mdp.num_states, pairs),
    )
    return sparse.csr_array(leaving - mdp.gamma * mdp.T.T)
