"""A real database behind the page: released against a ledger, and never drawn.

It is named when the explorer starts, not in the page: no address and no field can make the explorer
open a file. Its public facts (layout, bounds, radii) are fixed, because releases of one identity
add up only if they protect the same change. Here is no function that looks at the truth.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from dp_cmdp._extras import require
from dp_cmdp.accounting.budget import PrivacyBudget, shown_down, shown_up
from dp_cmdp.accounting.hashchain import Amount
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.private_policy import PrivatePolicy, release_and_synthesize
from dp_cmdp.data.database import Database
from dp_cmdp.envs import HazardGridEnv, Layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.files import write_public_files
from dp_cmdp.explorer.grid_answer import grid_model
from dp_cmdp.explorer.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish(Settings):
    """What one press of *Release* would spend: little, unless asked for more.

    Notes
    -----
    **Privacy.** *Public*.
    """

    epsilon: str = "1/10"
    delta: str = "1e-6"


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """One release of the real database, and where its public files lie."""

    private: PrivatePolicy
    folder: Path


@dataclass(slots=True, eq=False, repr=False)
class Custody:
    """The hazards of a file, the ledger that pays for them, and what was released so far.

    Parameters
    ----------
    layout : Layout
    hazards : Path
        A JSON file; read by a release, after its debit.
    ledger : Path
    identity : str
        Name of the database in the ledger, where its total was created before.
    out : Path
        Each release gets a folder of its own here: what was paid for is not lost with a window.

    Raises
    ------
    LedgerError, InvalidArgumentError
        If the ledger does not know the identity, or a file is not there.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private file. What it returns is public.
    """

    layout: Layout
    hazards: Path
    ledger: Path
    identity: str
    out: Path
    made: list[Made] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        HazardGridEnv(self.layout, access="curator", hazards=self.hazards)  # that the file is there
        self.remaining()

    @property
    def model(self) -> ParametricCMDP:
        """The public model."""
        return grid_model(self.layout)

    def remaining(self) -> Amount:
        """What the ledger still allows, exactly."""
        return PrivacyLedger(self.ledger).remaining(self.identity)

    def share_left(self) -> float:
        """Share of the total ε that remains."""
        total = PrivacyLedger(self.ledger).total(self.identity).epsilon
        return float(self.remaining().epsilon / total)

    def account(self) -> str:
        """Total, spent and remaining in words; what remains is rounded down."""
        ledger = PrivacyLedger(self.ledger)
        total, spent = ledger.total(self.identity), ledger.spent(self.identity)
        left = ledger.remaining(self.identity)
        return (
            f"remaining ε = {shown_down(left.epsilon)}, δ = {shown_down(left.delta)}; spent "
            f"ε = {shown_up(spent.epsilon)}, δ = {shown_up(spent.delta)} of "
            f"ε = {shown_down(total.epsilon)}, δ = {shown_down(total.delta)}"
        )

    def release(self, budget: PrivacyBudget, plan: str) -> Made:
        """Debit the ledger, release the database, find a policy, write the public files.

        Notes
        -----
        **Privacy.** *Spends the budget*.
        """
        require("matplotlib")  # the pictures are drawn after the debit
        if not self._lock.acquire(blocking=False):
            raise InvalidArgumentError("a release is under way; wait until it is done")
        try:
            env = HazardGridEnv(self.layout, access="curator", hazards=self.hazards)
            unread = env.database()
            database = Database.deferred(
                lambda: unread.values, unread.envelope, identity=self.identity
            )
            ledger = PrivacyLedger(self.ledger)
            private = release_and_synthesize(self.model, database, budget, plan=plan, ledger=ledger)
            debit = private.release.ledger
            assert debit is not None
            folder = self.out / f"release-{debit.index}"
            made = Made(private, folder)
            self.made.append(made)  # before the disk is asked: it is paid for
            write_public_files(folder, self.layout, self.model, private)
            return made
        finally:
            self._lock.release()
