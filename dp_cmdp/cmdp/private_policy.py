"""A private policy in one call: check, release, synthesize."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.synthesis import SafePolicy, robust_policy, synthesize
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan

if TYPE_CHECKING:
    from dp_cmdp.cmdp.solvers.pool import PolicyPool


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

    Notes
    -----
    **Privacy.** *Public*: safe to publish.
    """

    safe: SafePolicy
    release: Release
    robust: SafePolicy

    def __repr__(self) -> str:
        return f"PrivatePolicy(value={self.safe.value:.10g}, robust: {self.robust.value:.10g})"


@door
def release_and_synthesize(
    model: ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator | None = None,
    calibration: str = "tight",
    close: str | Mapping[str, str] = "upper",
    ledger: PrivacyLedger | None = None,
    pool: PolicyPool | None = None,
    plan: Plan | None = None,
) -> PrivatePolicy:
    """Check a model with private costs, release its database, and find a safe policy.

    Parameters
    ----------
    model : ParametricCMDP
    database : Database
        Of the model's envelope.
    budget : PrivacyBudget
    rng, calibration, close, ledger
        As in :func:`dp_cmdp.release.entries.release_database`.
    pool : PolicyPool, optional
        Policies of earlier solves on the same dynamics, to start from.
    plan : Plan, optional
        How the budget is divided over looks at entries and at totals
        (:func:`dp_cmdp.release.looks.release_looks`); without one, all entries are released once.

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

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** *Spends the budget*.
    """
    model.check_owns(database)
    if plan is not None and close != "upper":
        raise InvalidArgumentError("close serves a release without a plan; drop one of the two")
    robust = robust_policy(model, pool=pool)
    if plan is None:
        release = release_database(
            database, budget, rng=rng, calibration=calibration, close=close, ledger=ledger
        )
    else:
        release = release_looks(
            database,
            budget,
            program=model.program(),
            plan=plan,
            rng=rng,
            calibration=calibration,
            ledger=ledger,
            solver=row_solver(model, pool=pool),
        )
    try:
        safe = synthesize(model, release, pool=pool)
    except SolverError:
        safe = robust
    if plan is not None and safe.value < robust.value:
        safe = robust
    return PrivatePolicy(safe=safe, release=release, robust=robust)
