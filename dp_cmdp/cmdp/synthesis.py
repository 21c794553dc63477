"""From a release to a policy that is certainly safe.

The release says, entry by entry, how large the costs can be and how small the tolerances. The
*tightened* CMDP takes them at their worst; its optimal policy is extracted, and a proven bound on
the costs of *that policy* is compared with the tightened tolerances. Rounding may break the
comparison by a hair: then the solve is repeated with a margin, until the certificate holds.
Where the tolerances leave no room for a margin, the program is solved without one, and the costs of
a small model are found as fractions. Everything here is post-processing of public objects.

The multipliers λ of the program with tolerances f0 − margin bound the value at f0 as well,

    max_π (c_π − λᵀa_π) + λᵀf0 = (the bound at f0 − margin) + λᵀmargin,

which is the upper bound reported, plus an allowance for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._html import facts_table, rows_table
from dp_cmdp.cmdp.certificate import UNIT, PolicyCertificate, certify_policy
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.exact_costs import exact_costs
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import occupancy_of, policy_of
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import safest_policy
from dp_cmdp.cmdp.solvers.solution import CMDPSolution
from dp_cmdp.data.release import Release
from dp_cmdp.errors import AssumptionError, InfeasibleError, InvalidArgumentError, SolverError
from dp_cmdp.release.looks import posterior_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.cmdp.solvers.pool import PolicyPool
    from dp_cmdp.envs.layout import Layout
    from dp_cmdp.frontends.private_costs import TabularCMDP
    from dp_cmdp.frontends.tabular import TabularModel

#: Margins tried at most, each larger than the last.
MARGIN_ATTEMPTS = 20
#: First margin, relative to the size of the tolerance and of the largest discounted cost.
FIRST_MARGIN = 2.0**-42
#: Without room for a margin, models of at most so many states are certified in fractions.
EXACT_STATES = 40


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
        No policy that is safe for the tightened CMDP earns more: the Lagrangian bound at the
        tolerances themselves (not at those less the margin), plus an allowance for rounding of
        about 1e-15 × (longest row of T) × (size of the state values)/(1 − γ).
    margin : float
        Amount subtracted from the tolerances to make the certificate hold; 0 where there was no
        room for one.

    Notes
    -----
    **Privacy.** *Public*: safe to publish.

    Examples
    --------
    >>> from dp_cmdp import robust_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> safe = robust_policy(HazardGridEnv("corridor").model())
    >>> bool(safe.value <= safe.upper_bound), bool(safe.certificate.slack[0] >= 0)
    (True, True)
    """

    policy: Policy
    value: float
    certificate: PolicyCertificate
    upper_bound: float
    margin: float

    def facts(self) -> dict[str, Any]:
        """Everything but the policy, ready for JSON; one number per constraint where K > 1."""
        proof = self.certificate
        parts = {
            "worst_case_cost": proof.worst_case_cost,
            "tolerance": proof.tolerance,
            "slack": proof.slack,
            "joint": proof.joint,
        }
        return {
            "value": self.value,
            "upper_bound": self.upper_bound,
            "certificate": {"verified": proof.verified}
            | {
                name: part.tolist() if part.size > 1 else float(part[0])
                for name, part in parts.items()
                if part is not None
            },
        }

    @door
    def to_frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """The proof as a table, one row per constraint; the policy's own is ``policy.to_frame()``.

        Parameters
        ----------
        names : sequence of str, optional
            Of the constraints, as in ``model.names``; by default their numbers.

        Examples
        --------
        >>> from dp_cmdp import robust_policy
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> model = HazardGridEnv("corridor").model()
        >>> table = robust_policy(model).to_frame(model.names)
        >>> bool(table.loc["hazard", "safe"])
        True
        """
        import pandas as pd

        proof, count = self.certificate, self.certificate.tolerance.size
        given = None if names is None else _check.names("names", names)
        if given is not None and len(given) != count:
            raise InvalidArgumentError(f"names must hold {count} names, one per constraint")
        columns = {
            "worst_case_cost": proof.worst_case_cost,
            "tolerance": proof.tolerance,
            "slack": proof.slack,
            "safe": proof.kept,
        }
        index = pd.Index(range(count) if given is None else list(given), name="constraint")
        return pd.DataFrame(columns, index=index)

    @door
    def plot(
        self,
        layout: Layout | TabularModel | TabularCMDP | None = None,
        *,
        release: Release | None = None,
        robust: SafePolicy | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """A picture of what is proved and, with a `layout`, of the policy on its grid.

        Parameters
        ----------
        layout : Layout, TabularModel or TabularCMDP, optional
            Of the policy; its map is drawn then.
        release : Release, optional
            What the policy was made from; drawn beside the map.
        robust : SafePolicy, optional
            The policy that needs no data, whose value is shown for comparison.
        ax : matplotlib Axes, optional
            Where to draw the map alone or, without a layout, the costs alone.

        Notes
        -----
        **Privacy.** *Post-processing*.

        Examples
        --------
        >>> from dp_cmdp import robust_policy
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> env = HazardGridEnv("corridor")
        >>> figure = robust_policy(env.model()).plot(env.layout)
        >>> figure.axes[1].get_title(loc="left")
        'worst-case cost ≤ tolerance: proved'
        """
        if layout is None:
            from dp_cmdp.figures.proof import safe_policy_figure

            if release is not None:
                raise InvalidArgumentError("release needs a layout: it is drawn beside the map")
            return safe_policy_figure(self, robust=robust, ax=ax)
        from dp_cmdp.figures.grid import policy_figure

        return policy_figure(self, layout=layout, release=release, robust=robust, ax=ax)

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        facts = [("value", self.value), ("no safe policy earns more than", self.upper_bound)]
        proved = "with certainty" if self.certificate.verified else "NOT PROVED"
        rows = (tuple(row) for row in frame.itertuples())
        head = ["constraint", *frame.columns]
        return facts_table(f"SafePolicy: safe {proved}", facts) + rows_table(
            "Costs, at most, and tolerances, at least", head, rows, count=len(frame)
        )


@door
def synthesize(
    model: ParametricCMDP, release: Release, *, pool: PolicyPool | None = None
) -> SafePolicy:
    """The best policy that is certainly safe for everything a release allows.

    Parameters
    ----------
    model : ParametricCMDP
    release : Release
        Of the model's database, with totals or without, or of its blocks (Algorithm 1).
    pool : PolicyPool, optional
        Policies of earlier solves on the same dynamics, to start from.

    Notes
    -----
    With totals, see :func:`dp_cmdp.cmdp.facts_synthesis.policy_over`; the intervals alone are used
    where that fails. **Paper.** ``app:cmdp``. **Privacy.** *Post-processing*: no private value is
    seen.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, release_database, synthesize
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> curator = HazardGridEnv("corridor", access="curator")
    >>> release = release_database(curator.database(), PrivacyBudget(1, "1/1000"))
    >>> synthesize(curator.model(), release).certificate.verified
    True
    """
    if release.totals is not None:
        from dp_cmdp.cmdp.facts_synthesis import policy_over
        from dp_cmdp.cmdp.solvers.row_solution import LARGE

        release.check_fits(model.envelope)
        large = model.public.num_states > LARGE
        guess = posterior_mean(model.program(), release) if large else None
        try:
            return policy_over(model, release.polytope, guess=guess, pool=pool)
        except SolverError:
            pass  # the intervals alone may still give a policy
    return safe_policy(model.tightened(release), pool=pool)


@door
def robust_policy(model: ParametricCMDP, *, pool: PolicyPool | None = None) -> SafePolicy:
    """The best policy that is safe for every database of the envelope: costs no privacy (ε = 0).

    Raises
    ------
    AssumptionError
        If no policy is, or none is when costs and tolerances are taken at their worst one by one.

    Notes
    -----
    **Paper.** ``ass:feast``, corrected. **Privacy.** *Public*: no data is read.

    Examples
    --------
    >>> from dp_cmdp import robust_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> safe = robust_policy(HazardGridEnv("corridor").model())
    >>> safe.certificate.verified
    True
    """
    try:
        return safe_policy(model.robust(), pool=pool)
    except InfeasibleError:
        check_robust_policy(model)  # says more
        raise


@door
def safe_policy(cmdp: CMDP, *, pool: PolicyPool | None = None) -> SafePolicy:
    """The best policy of a CMDP whose certificate holds.

    Raises
    ------
    InfeasibleError
        If no policy keeps the tolerances.
    SolverError
        If the tolerances can be met only without any room, so that nothing can be certified.

    Examples
    --------
    >>> from dp_cmdp import CMDP
    >>> from dp_cmdp.cmdp.synthesis import safe_policy
    >>> T = [[[1.0], [1.0]]]  # one state, two actions
    >>> cmdp = CMDP(T, [[1.0, 2.0]], f=[[0.0, 1.0]], f0=[1.0], mu=[1.0], gamma=0.5)
    >>> safe = safe_policy(cmdp)  # action 1 earns more, and may be taken half of the time
    >>> round(safe.value, 3), safe.policy.probs.round(3).tolist(), safe.certificate.verified
    (3.0, [[0.5, 0.5]], True)
    """
    scale = np.abs(cmdp.f0) + np.abs(cmdp.f).max(axis=(1, 2)) / (1.0 - cmdp.gamma)
    margin: FloatArray = FIRST_MARGIN * scale
    for _ in range(MARGIN_ATTEMPTS):
        try:
            found = _attempt(cmdp, margin, pool=pool)
        except InfeasibleError:
            break  # of the program with the margin: it says nothing about the CMDP itself
        if found.certificate.verified:
            return found
        excess = np.maximum(found.certificate.worst_case_cost - cmdp.f0, 0.0)
        margin = 2.0 * margin + 4.0 * np.where(np.isfinite(excess), excess, 0.0)
    found = _attempt(cmdp, np.zeros_like(margin), pool=pool)
    if not found.certificate.verified and cmdp.num_states <= EXACT_STATES:
        found = replace(found, certificate=_exact_certificate(cmdp, found.policy))
    if found.certificate.verified:
        return found
    raise SolverError(
        "the tolerances leave no room at all, so no policy can be certified; raise a tolerance a "
        "little (its public lower bound, for a private one)"
    )


def _attempt(cmdp: CMDP, margin: FloatArray, *, pool: PolicyPool | None) -> SafePolicy:
    """The best policy at tolerances f0 − margin, certified at f0 or not."""
    from dp_cmdp.cmdp.solvers.door import solve_cmdp

    solution = solve_cmdp(cmdp, margin=margin, pool=pool)
    policy = policy_of(cmdp, solution.occupancy)
    chain = DiscountedChain(cmdp, policy)
    return SafePolicy(
        policy=policy,
        value=value_of(chain, cmdp, occupancy=solution.occupancy),
        certificate=certify_policy(cmdp, policy, chain=chain),
        upper_bound=_bound_at_tolerances(chain, cmdp, solution=solution, margin=margin),
        margin=float(margin.max()),
    )


def value_of(chain: DiscountedChain, cmdp: CMDP, *, occupancy: FloatArray) -> float:
    """The discounted reward of a chain's policy, which was read off an occupancy measure."""
    visits = chain.visits(cmdp.mu, guess=occupancy.sum(axis=1))
    return float(chain.average(cmdp.r) @ visits)


def _bound_at_tolerances(
    chain: DiscountedChain, cmdp: CMDP, *, solution: CMDPSolution, margin: FloatArray
) -> float:
    """The Lagrangian bound at f0, raised by what rounding may have taken from it."""
    table = np.array(cmdp.r)
    for price, cost in zip(solution.dual.tolist(), cmdp.f, strict=True):
        table -= price * cost
    pull = float(solution.dual @ (np.abs(cmdp.f0) + margin))
    allowance = rounding_allowance(chain, cmdp, table=table, pull=pull)
    return solution.upper_bound + float(solution.dual @ margin) + allowance


def rounding_allowance(
    chain: DiscountedChain, cmdp: CMDP, *, table: FloatArray, pull: float
) -> float:
    """What rounding may take from a Lagrangian bound with the rewards `table`.

    A Bellman residual sums so many products of the size V of the Lagrangian's state values, which
    the policy found shows, and is divided by 1 − γ; the evaluation of a value, a linear solve of
    condition 2/(1 − γ), errs as much. Both are allowed for, twice. `pull` is the size of the
    multipliers' own part.
    """
    size = chain.largest_value(chain.average(table)) + float(np.abs(table).max())
    terms = 2 * int(np.diff(cmdp.T.indptr).max()) + np.count_nonzero(cmdp.mu) + 8
    return 4.0 * UNIT * (terms * size / (1.0 - cmdp.gamma) + 8.0 * pull)


def _exact_certificate(cmdp: CMDP, policy: Policy) -> PolicyCertificate:
    """The exact costs of a policy, rounded up to floats."""
    bounds = [exact.rounded_up(cost) for cost in exact_costs(cmdp, policy)]
    return PolicyCertificate(worst_case_cost=_check.frozen(np.array(bounds)), tolerance=cmdp.f0)


@door
def check_robust_policy(model: ParametricCMDP) -> None:
    """Raise unless some policy is safe for every database of the envelope.

    The error names the constraints, the amount by which their tolerances must be raised, and the
    states where even the safest policy meets the cost.

    Notes
    -----
    Costs and tolerances are taken at their worst one by one (:meth:`ParametricCMDP.robust`). Where
    one entry of the database is in both, a policy may exist and not be found; the error says so.

    **Paper.** ``ass:feast``, corrected. **Privacy.** *Public*: no data is read.

    Examples
    --------
    >>> from dp_cmdp.cmdp.synthesis import check_robust_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> check_robust_policy(HazardGridEnv("corridor").model())  # nothing to say
    """
    robust = model.robust()
    try:
        from dp_cmdp.cmdp.solvers.door import solve_cmdp

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
        where = (
            f". The safest policy still pays for what it does in: {named}; fewer public candidates "
            "there (or entered from there), or a lower highest severity, help too"
        )
        raise AssumptionError(
            f"{error}{where if states else ''}",
            label=error.label,
            rows=error.rows,
            relaxation=error.relaxation,
        ) from None
    raise AssumptionError(
        "a policy that is safe for every database exists, but not with each cost at its highest "
        "and each tolerance at its lowest, which is how policies are made: some entry of the "
        "database is in both, or in a constraint with both signs. Raise the lower bound of that "
        "tolerance, give cost and tolerance entries of their own, or solve model.program() as a "
        "linear program",
        label="ass:feast",
        rows=model.names,
    ) from None


def _costly_states(robust: CMDP) -> tuple[list[int], list[float]]:
    """States by their share in the worst-case cost of the safest policy."""
    x = occupancy_of(robust, safest_policy(robust))
    share = (robust.f.sum(axis=0) * x).sum(axis=1)
    order = np.argsort(-share, kind="stable")[: _check.SHOWN]
    order = order[share[order] > 0]
    return order.tolist(), share[order].tolist()
