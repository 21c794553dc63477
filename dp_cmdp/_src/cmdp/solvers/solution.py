"""What a CMDP solver returns: an occupancy measure with a certificate of its quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.errors import InfeasibleError, InvalidArgumentError, SolverError

#: Excess over a tolerance that is taken for rounding, relative to max|f_i|/(1 − γ).
FEASIBILITY = 1e-10
#: Discounted sums must stay below this, or doubles run out.
LARGEST_SUM = 1e307


@dataclass(frozen=True, slots=True, eq=False)
class CMDPSolution:
    """An optimal occupancy measure x(s, a) of a CMDP, with its certified duality gap.

    Attributes
    ----------
    occupancy : (num_states, num_actions)
        Discounted expected visits; :func:`dp_cmdp.cmdp.occupancy.policy_from_occupancy` turns
        them into a policy.
    value : float
        Discounted reward Σ r x.
    costs : (K,)
        Discounted costs Σ f_i x in doubles, each at most its tolerance less the margin, up to
        :data:`FEASIBILITY`: rounding of this size, and tolerances that no policy quite keeps,
        where their excesses add up to no more. From γ = 0.999999 on the visits themselves may be
        off by more; :func:`dp_cmdp.cmdp.synthesis.safe_policy` bounds costs with certainty.
    dual : (K,)
        Multipliers λ ≥ 0 of the costs, at which `upper_bound` was found.
    upper_bound : float
        No feasible policy earns more: the Lagrangian bound at `dual`, Bellman residual included.
    gap : float
        |upper_bound − value| / max(|value|, max|r|): by rounding the value may lie above.
    engine : str
        ``"policies"`` or ``"lp"``.
    iterations : int
        Newton steps, pricing problems or simplex iterations.
    weights, policies : (m,) and (m, num_states), or None
        The deterministic policies whose occupancies are mixed, m ≤ K + 1 (engine ``"policies"``).

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* when the CMDP was built from a Release,
    curator only otherwise.
    """

    occupancy: FloatArray
    value: float
    costs: FloatArray
    dual: FloatArray
    upper_bound: float
    gap: float
    engine: str
    iterations: int
    weights: FloatArray | None = None
    policies: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SweepSolution:
    """The answers to a sweep of draws, and which draws have none.

    Attributes
    ----------
    solutions : tuple of CMDPSolution or None
        One per draw, in order; None where there is none.
    errors : mapping of int to SolverError
        Why not, by the number of the draw: an InfeasibleError with its proof, or the error of a
        method that did not converge.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of the draws.
    """

    solutions: tuple[CMDPSolution | None, ...]
    errors: Mapping[int, SolverError]

    @property
    def infeasible(self) -> tuple[int, ...]:
        """The draws for which no policy keeps the tolerances."""
        return tuple(d for d, error in self.errors.items() if isinstance(error, InfeasibleError))

    def all(self) -> list[CMDPSolution]:
        """Every solution.

        Raises
        ------
        SolverError
            Some draw has none: an InfeasibleError if that is why, with the numbers of the draws.
        """
        if not self.errors:
            return [answer for answer in self.solutions if answer is not None]
        named = ", ".join(map(str, list(self.errors)[: _check.SHOWN]))
        more = (
            f" and {len(self.errors) - _check.SHOWN} more"
            if len(self.errors) > _check.SHOWN
            else ""
        )
        first = next(iter(self.errors.values()))
        kind = InfeasibleError if self.infeasible else SolverError
        raise kind(
            f"{len(self.errors)} of {len(self.solutions)} draws have no solution: {named}{more}. "
            "The others are in `solutions`, the reason of each in `errors`; that of the first: "
            f"{first}"
        )


def reject_beyond(name: str, table: FloatArray, *, gamma: float) -> None:
    """Refuse rewards or costs whose discounted sums may not be finite."""
    if table.size and float(np.abs(table).max()) > LARGEST_SUM * (1.0 - gamma):
        raise InvalidArgumentError(
            f"{name} must be at most {LARGEST_SUM:g}·(1 − gamma) in size, so that discounted sums "
            "are finite; rescale it"
        )


def relative_gap(upper_bound: float, value: float, *, reward_scale: float) -> float:
    """(upper_bound − value)/max(|value|, max|r|), with rounding below zero cut off."""
    scale = max(abs(value), reward_scale)
    return max(upper_bound - value, 0.0) / scale if scale > 0.0 else 0.0


def distance(upper_bound: float, value: float, *, reward_scale: float) -> float:
    """:func:`relative_gap`, or how far a value lies above its own bound, where it does.

    A value a little above its bound is rounding; far above, nothing is decided.
    """
    return max(
        relative_gap(upper_bound, value, reward_scale=reward_scale),
        relative_gap(value, upper_bound, reward_scale=reward_scale),
    )


def infeasible(dual: FloatArray, excess: float) -> InfeasibleError:
    """The error for multipliers with dualᵀ(cost − f0) ≥ `excess` > 0 under every policy."""
    total = 2.0 ** np.ceil(np.log2(dual.sum()))  # a power of two: nothing is rounded
    return InfeasibleError(
        "no policy keeps all tolerances f0 (less the margin, if one is asked for): raise them or "
        "drop a cost. The attributes `ray` and `violation` of this error prove it: Σ ray·(cost − "
        "f0) is at least `violation` > 0 whatever the policy",
        ray=frozen(dual / total),
        violation=float(excess / total),
    )
