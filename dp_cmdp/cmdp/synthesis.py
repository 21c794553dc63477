"""From a release to a policy that is certainly safe.

The release says, entry by entry, how large the costs can be and how small the tolerances. The
*tightened* CMDP takes them at their worst; its optimal policy is extracted, and a rigorous bound on
the costs of *that policy* is compared with the tightened tolerances. Rounding may break the
comparison by a hair: then the solve is repeated with a margin, until the certificate holds.
Everything here is post-processing of public objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.certificate import PolicyCertificate, certify_policy
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import occupancy_of, policy_from_occupancy
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import safest_policy
from dp_cmdp.errors import AssumptionError, InfeasibleError, SolverError
from dp_cmdp.release import Release

if TYPE_CHECKING:
    from dp_cmdp.cmdp.pool import PolicyPool

MAX_ATTEMPTS = 20
#: First margin, relative to the size of the tolerance and of the largest discounted cost.
FIRST_MARGIN = 2.0**-42
_SHOWN = 8


@dataclass(frozen=True, slots=True, eq=False)
class SafePolicy:
    """A policy, the value it earns, and the proof that it keeps its tolerances.

    Attributes
    ----------
    policy : Policy
    value : float
        Its discounted reward (rewards and dynamics are public).
    certificate : PolicyCertificate
        For the tightened CMDP, hence for every database that the release allows.
    upper_bound : float
        No policy that is safe for the tightened CMDP earns more.
    margin : float
        Amount subtracted from the tolerances to make the certificate hold.

    Notes
    -----
    **Privacy.** Public: safe to publish.
    """

    policy: Policy
    value: float
    certificate: PolicyCertificate
    upper_bound: float
    margin: float

    def facts(self) -> dict[str, Any]:
        """Everything but the policy, ready for JSON; one number per constraint where K > 1."""
        costs, tolerances = (
            part.tolist() if part.size > 1 else float(part[0])
            for part in (self.certificate.worst_case_cost, self.certificate.tolerance)
        )
        return {
            "value": self.value,
            "upper_bound": self.upper_bound,
            "certificate": {
                "verified": self.certificate.verified,
                "worst_case_cost": costs,
                "tolerance": tolerances,
            },
        }


def synthesize(
    model: ParametricCMDP, release: Release, *, pool: PolicyPool | None = None
) -> SafePolicy:
    """The best policy that is certainly safe for everything a release allows.

    Parameters
    ----------
    model : ParametricCMDP
    release : Release
        Of the model's database, or of its blocks (Algorithm 1).
    pool : PolicyPool, optional
        Policies of earlier solves on the same dynamics, to start from.

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** Post-processing: no private value is seen.
    """
    return safe_policy(model.tightened(release), pool=pool)


def robust_policy(model: ParametricCMDP, *, pool: PolicyPool | None = None) -> SafePolicy:
    """The best policy that is safe for every database of the envelope: costs no privacy (ε = 0)."""
    check_robust_policy(model)
    return safe_policy(model.robust(), pool=pool)


def safe_policy(cmdp: CMDP, *, pool: PolicyPool | None = None) -> SafePolicy:
    """The best policy of a CMDP whose certificate holds.

    Raises
    ------
    InfeasibleError
        If no policy keeps the tolerances.
    SolverError
        If the tolerances can be met only without any room, so that nothing can be certified.
    """
    from dp_cmdp.cmdp.solver import solve_cmdp

    scale = np.abs(cmdp.f0) + np.abs(cmdp.f).max(axis=(1, 2)) / (1.0 - cmdp.gamma)
    margin: FloatArray = FIRST_MARGIN * scale
    for attempt in range(MAX_ATTEMPTS):
        try:
            solution = solve_cmdp(cmdp, margin=margin, pool=pool)
        except InfeasibleError:
            if attempt or _is_infeasible(cmdp, pool):
                raise
            break
        policy = policy_from_occupancy(cmdp, solution.occupancy)
        chain = DiscountedChain(cmdp, policy)
        certificate = certify_policy(cmdp, policy, chain=chain)
        if certificate.verified:
            return SafePolicy(
                policy=policy,
                value=float(cmdp.mu @ chain.values(chain.average(cmdp.r))),
                certificate=certificate,
                upper_bound=solution.upper_bound,
                margin=float(margin.max()),
            )
        excess = np.maximum(certificate.worst_case_cost - cmdp.f0, 0.0)
        margin = 2.0 * margin + 4.0 * np.where(np.isfinite(excess), excess, 0.0)
    raise SolverError(
        "the tolerances leave no room at all, so no policy can be certified; raise a tolerance a "
        "little (its public lower bound, for a private one)"
    )


def _is_infeasible(cmdp: CMDP, pool: PolicyPool | None) -> bool:
    """Whether the CMDP is infeasible even without a margin."""
    from dp_cmdp.cmdp.solver import solve_cmdp

    try:
        solve_cmdp(cmdp, pool=pool)
    except InfeasibleError:
        return True
    return False


def check_robust_policy(model: ParametricCMDP) -> None:
    """Raise unless some policy is safe for every database of the envelope.

    The error names the constraints, the amount by which their tolerances must be raised, and the
    states where even the safest policy meets the cost.

    Notes
    -----
    **Paper.** ``ass:feast``, corrected. **Privacy.** Public: no data is read.
    """
    robust = model.robust()
    try:
        from dp_cmdp.cmdp.solver import solve_cmdp

        solve_cmdp(robust)
    except InfeasibleError:
        pass
    else:
        return
    try:
        model.program().check_robust_feasibility()
    except AssumptionError as error:
        states, shares = _costly_states(robust)
        named = ", ".join(f"state {s} ({c:.3g})" for s, c in zip(states, shares, strict=True))
        raise AssumptionError(
            f"{error}. The safest policy still meets its cost in: {named}; leaving such states out "
            "of the public candidates, or lowering their highest severity, helps too",
            label=error.label,
            rows=error.rows,
            relaxation=error.relaxation,
        ) from None


def _costly_states(robust: CMDP) -> tuple[list[int], list[float]]:
    """States by their share in the worst-case cost of the safest policy."""
    x = occupancy_of(robust, safest_policy(robust))
    share = (robust.f.sum(axis=0) * x).sum(axis=1)
    order = np.argsort(-share, kind="stable")[:_SHOWN]
    order = order[share[order] > 0]
    return order.tolist(), share[order].tolist()
