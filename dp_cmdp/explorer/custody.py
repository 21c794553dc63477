"""A real database behind the page: released against a ledger, and never drawn.

It is named when the explorer starts, not in the page: no address and no field can make the explorer
open a file. Its public facts (layout or program, bounds, radii) are fixed, because releases of one
identity add up only if they protect the same change. Here is no function that looks at the truth.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dp_cmdp._extras import require
from dp_cmdp._storage import fresh_folder, write_bytes
from dp_cmdp.accounting.budget import PrivacyBudget, shown_down, shown_up
from dp_cmdp.accounting.hashchain import Amount
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.settings import Settings
from dp_cmdp.explorer.sources import Source
from dp_cmdp.release.paid import carried


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
    """One release of the real database: what followed from it, and where its public files lie."""

    private: Any
    folder: Path


@dataclass(slots=True, eq=False, repr=False)
class Custody:
    """A real database, the ledger that pays for it, and what was released so far.

    Parameters
    ----------
    source : Source
        Where the values lie; read by a release, after its debit.
    ledger : Path
    identity : str
        Name of the database in the ledger, where its total was created before.
    out : Path
        Each release gets a folder of its own here: what was paid for is not lost with a window.

    Raises
    ------
    LedgerError
        If the ledger does not know the identity.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private file. What it returns is public.
    """

    source: Source
    ledger: Path
    identity: str
    out: Path
    made: list[Made] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.remaining()

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
        """Debit the ledger, release the database, find an answer, write the public files.

        Notes
        -----
        **Privacy.** *Spends the budget*.
        """
        require("matplotlib")  # the pictures are drawn after the debit
        if not self._lock.acquire(blocking=False):
            raise InvalidArgumentError("a release is under way; wait until it is done")
        kept: list[Path] = []
        try:
            private = self.source.release(
                self.source.database(self.identity),
                budget,
                plan=plan,
                ledger=PrivacyLedger(self.ledger),
                keep=lambda release: kept.extend(self._try_to_keep(release)),
            )
            made = Made(private, kept[0] if kept else self._name(private.release))
            self.made.append(made)  # before the disk is asked again: it is paid for
            if not kept:
                made.folder.mkdir(parents=True)
            for name in self.source.files:
                write_bytes(made.folder / name, self.source.file(name, private))
            return made
        except BaseException as error:
            release = carried(error)
            if release is not None and not kept:
                kept.extend(self._try_to_keep(release))
            raise
        finally:
            self._lock.release()

    def _name(self, release: Release) -> Path:
        assert release.ledger is not None
        return self.out / f"release-{release.ledger.index}"

    def _try_to_keep(self, release: Release) -> list[Path]:
        """The folder that the release lies in before it is answered from, if a disk takes it.

        It is a new one: entries of another ledger have the same numbers.
        """
        with suppress(OSError):
            folder = fresh_folder(self._name(release))
            release.save(folder / "release.npz")
            return [folder]
        return []
