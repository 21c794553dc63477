"""Proposed totals measured, and combined with what was seen before: a look, step by step.

Weights are proposed from public data or earlier releases (:mod:`dp_cmdp.release.proposal`), the
noise follows from them alone (:mod:`dp_cmdp.release.totals`), and what two looks spend adds up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Debit, Guarantee, Noise, Release
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.release.debit import check_call, debited
from dp_cmdp.release.proposal import Proposal
from dp_cmdp.release.totals import TotalsPlan, plan_totals


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Totals as they were measured, their noise, and what it cost.

    Notes
    -----
    **Privacy.** *Post-processing*: safe to publish.
    """

    envelope: Envelope
    totals: Totals
    noise: Noise
    secure: bool
    ledger: Debit | None


@door
def measure_totals(
    database: Database,
    budget: PrivacyBudget,
    *,
    proposal: Proposal,
    rng: np.random.Generator | None = None,
    ledger: PrivacyLedger | None = None,
) -> Measured:
    """Measure proposed totals, with one noise each.

    Parameters
    ----------
    database : Database
    budget : PrivacyBudget
        Of this look; debited before anything is read.
    proposal : Proposal
        From public data or from earlier releases, never from the database.
    rng, ledger
        As in :func:`~dp_cmdp.release.entries.release_database`.

    Notes
    -----
    **Privacy.** *Spends the budget*.

    Examples
    --------
    The steps of :func:`~dp_cmdp.release.looks.release_looks`, one by one:

    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, Plan, PrivacyBudget
    >>> from dp_cmdp import release_database
    >>> from dp_cmdp.release.looks import propose_totals
    >>> from dp_cmdp.release.measure import combine, measure_totals
    >>> price = Affine((1, 8), at=([0] * 8, range(8)), entry=range(8))
    >>> envelope = Envelope(0, 1, radius=0.05, shape=8)
    >>> program = ParametricLP(envelope, c=[1] * 8, A=price, b=[2], upper=1)
    >>> database = Database([0.1, 0.3] * 4, envelope)
    >>> first, second = PrivacyBudget(1, "1/4000"), PrivacyBudget(3, "3/4000")
    >>> seen = release_database(database, first)
    >>> proposal = propose_totals(program, seen, second, plan=Plan("1/4"))
    >>> release = combine(seen, measure_totals(database, second, proposal=proposal))
    >>> release.guarantee.epsilon, release.polytope.contains([0.1, 0.3] * 4)
    (Fraction(4, 1), True)
    """
    check_call(database, rng=rng, calibration="tight", ledger=ledger)
    look = plan_totals(database.envelope, budget, W=proposal.W, scale=proposal.scale)
    debit = debited(ledger, database, budget, note="measure_totals")
    return measured(look, database, budget, rng=rng, ledger=debit)


def measured(
    look: TotalsPlan,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator | None,
    ledger: Debit | None,
) -> Measured:
    """The look itself, once it is paid for."""
    totals = look.draw(database.values, rng)
    return Measured(database.envelope, totals, look.facts(budget), rng is None, ledger)


@door
def combine(seen: Release, found: Measured) -> Release:
    """One release of what two looks at a database found: intervals, and bounds on totals.

    Parameters
    ----------
    seen : Release
        Of the entries, or :func:`~dp_cmdp.release.looks.public_release`; without totals.
    found : Measured
        Totals of the same database.

    Notes
    -----
    **Privacy.** *Post-processing*; ε and δ of the looks add up. The later debit is named. No plan
    is: none divided the budget.
    """
    if seen.method != "database" or seen.totals is not None:
        raise InvalidArgumentError("seen must be a release of entries that has no totals yet")
    if seen.envelope != found.envelope:
        raise InvalidArgumentError("found must hold totals of the database of seen, same envelope")
    spent, noise = seen.guarantee, found.noise
    return replace(
        seen,
        totals=found.totals,
        plan=None,
        noise=(*seen.noise, noise),
        guarantee=Guarantee(
            spent.epsilon + noise.epsilon, spent.delta + noise.delta, spent.record_size
        ),
        secure=seen.secure and found.secure,
        ledger=found.ledger or seen.ledger,
    )
