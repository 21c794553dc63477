"""A private policy in one call: check, plan, release, synthesize."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp._door import door
from dp_cmdp._html import facts_table
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cmdp.facts_synthesis import public_pool, row_solver
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.solvers.row_solution import LARGE
from dp_cmdp.cmdp.synthesis import SafePolicy, robust_policy, synthesize
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.release.paid import Keep, carrying
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_for_checked
from dp_cmdp.release.planner import Choice
from dp_cmdp.release.row_solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.cmdp.solvers.pool import PolicyPool
    from dp_cmdp.envs.layout import Layout
    from dp_cmdp.frontends.private_costs import TabularCMDP
    from dp_cmdp.frontends.tabular import TabularModel


@dataclass(frozen=True, slots=True, eq=False)
class PrivatePolicy:
    """A private safe policy, what was released for it, and what costs no privacy at all.

    Attributes
    ----------
    safe : SafePolicy
        Certified for everything the release allows, hence for the true database.
    release : Release
    robust : SafePolicy
        Certified for every database of the envelope: made without data.
    choice : Choice
        The plan of the release, and the public trials it was chosen by.

    Notes
    -----
    **Privacy.** *Public*: safe to publish.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, release_and_synthesize
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> curator = HazardGridEnv("corridor", access="curator")  # simulated hazards
    >>> private = release_and_synthesize(
    ...     curator.model(), curator.database(), PrivacyBudget(2, "1/1000"), plan="database"
    ... )
    >>> private.safe.certificate.verified, private.robust.certificate.verified
    (True, True)
    """

    safe: SafePolicy
    release: Release
    robust: SafePolicy
    choice: Choice

    @door
    def plot(
        self, layout: Layout | TabularModel | TabularCMDP, *, ax: Axes | None = None
    ) -> Figure:
        """The policy on its grid, beside what was released, what is proved and the robust value.

        Parameters
        ----------
        layout : Layout, TabularModel or TabularCMDP
            Of the policy.
        ax : matplotlib Axes, optional
            Where to draw the map alone; a new figure otherwise.

        Notes
        -----
        **Privacy.** *Post-processing*.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import PrivacyBudget, release_and_synthesize
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> curator = HazardGridEnv("corridor", access="curator")
        >>> private = release_and_synthesize(
        ...     curator.model(),
        ...     curator.database(),
        ...     PrivacyBudget(2, "1/1000"),
        ...     rng=np.random.default_rng(0),  # a simulation: leave it out for exact noise
        ... )
        >>> titles = [ax.get_title(loc="left") for ax in private.plot(curator.layout).axes]
        >>> titles[-2:]
        ['worst-case cost ≤ tolerance: proved', 'value (discounted reward)']
        """
        from dp_cmdp.figures.grid import policy_figure

        return policy_figure(self, layout=layout, ax=ax)

    def __repr__(self) -> str:
        return f"PrivatePolicy(value={self.safe.value:.10g}, robust: {self.robust.value:.10g})"

    def _repr_html_(self) -> str:
        facts = [
            ("value", self.safe.value),
            ("value without data", self.robust.value),
            ("plan", self.choice.plan),
            ("guarantee", self.release.guarantee),
        ]
        return facts_table("PrivatePolicy", facts) + self.safe._repr_html_()


@door
def release_and_synthesize(
    model: ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] | None = None,
    ledger: PrivacyLedger | None = None,
    pool: PolicyPool | None = None,
    plan: str | Plan = "auto",
    guess: ArrayLike | None = None,
    progress: bool = False,
    keep: Keep | None = None,
) -> PrivatePolicy:
    """Check a model with private costs, release its database, and find a safe policy.

    Parameters
    ----------
    model : ParametricCMDP
    database : Database
        Of the model's envelope.
    budget : PrivacyBudget
    pool : PolicyPool, optional
        Policies of earlier solves on the same dynamics, from which the policy for the release is
        found. What is published may depend on them: let it have seen public or released data only.
    rng, calibration, close, ledger, plan, guess, progress
        As in :func:`dp_cmdp.release.planned.release_planned`: intervals around all entries, bounds
        on totals besides, or what promises to lose least.
    keep : callable, optional
        Gets the release as soon as there is one, before it is answered from: to write it to a
        disk, for example. Whatever is raised after the debit, Control-C too, carries the release
        as its attribute ``release``.

    Returns
    -------
    PrivatePolicy
        Should no policy be found for the release, or with a plan none as good, `safe` is the
        robust one.

    Raises
    ------
    InvalidArgumentError
        If the database belongs to another model.
    AssumptionError
        If no policy is safe for every database of the envelope. Like every other refusal, from
        public data: nothing is read or spent.
    SolverError
        If one is, by less than rounding.

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, release_and_synthesize
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> curator = HazardGridEnv("corridor", access="curator")  # simulated hazards
    >>> private = release_and_synthesize(
    ...     curator.model(), curator.database(), PrivacyBudget(2, "1/1000"), plan="database"
    ... )
    >>> private.safe.certificate.verified
    True
    >>> print(private.release.guarantee)
    (2, 0.001)-differential privacy when one entry changes by at most its radius
    """
    model.check_owns(database)
    robust = robust_policy(model)
    large = model.public.num_states > LARGE
    started: PolicyPool | None = None  # of the looks: from there the policy of a large model starts

    def new_solver() -> Solver | None:
        nonlocal started
        started = public_pool(model) if large else None
        return row_solver(model, pool=started)

    release, choice = release_for_checked(
        database,
        budget,
        program=model.program(),
        plan=plan,
        guess=guess,
        rng=rng,
        calibration=calibration,
        close=close,
        ledger=ledger,
        new_solver=(lambda: None) if plan == "database" else new_solver,
        short=large,
        progress=progress,
        keep=keep,
    )
    with carrying(release):
        try:
            safe = synthesize(model, release, pool=started if pool is None else pool)
        except (SolverError, InvalidArgumentError):  # facts too tight for the engine
            safe = robust
        if plan != "database" and safe.value < robust.value:
            safe = robust
        return PrivatePolicy(safe=safe, release=release, robust=robust, choice=choice)
