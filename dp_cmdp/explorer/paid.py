"""A real database behind the page: released against a ledger, and never drawn.

It is named when the explorer starts, not in the page: no address and no field can make the explorer
open a file. What is public of it (layout or program, bounds, radii) is fixed, because releases of
one account add up only if they protect the same change. Nothing here looks at the truth.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.files import SAVED, answer_file
from dp_cmdp.explorer.settings import Settings

if TYPE_CHECKING:
    from dp_cmdp.explorer.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Settings):
    """What one press of *Release* would spend: little, unless asked for more."""

    epsilon: str = "1/10"
    delta: str = "1e-6"


@dataclass(frozen=True, slots=True, eq=False)
class Paid:
    """A release of the real database with its answer, and where its public files lie."""

    answer: Any
    folder: Path


@dataclass(slots=True, eq=False, repr=False)
class PaidReleases:
    """A real database, the ledger that pays for it, and what was released so far.

    Parameters
    ----------
    source : Source
        Where the values lie; read by a release, after its debit.
    ledger : Path
    account : str
        Of the database in the ledger, where its total was created before.
    out : Path
        Each release gets a folder of its own here: what was paid for is not lost with a window.

    Raises
    ------
    LedgerError, InvalidArgumentError
        If there is no such ledger or account.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private file. What it returns is public.
    """

    source: Source
    ledger: Path
    account: str
    out: Path
    released: list[Paid] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._opened()
        self.out.mkdir(parents=True, exist_ok=True)  # refused now, not after the debit

    def _opened(self) -> dp.PrivacyLedger:
        return dp.PrivacyLedger(self.ledger, self.account)

    def allows(self, budget: dp.PrivacyBudget) -> bool:
        """Whether the ledger has enough left."""
        return budget.fits(self._opened().remaining)

    def share_left(self) -> float:
        """Share of the total ε that remains."""
        ledger = self._opened()
        return float(ledger.remaining.epsilon / ledger.total.epsilon)

    def balance(self) -> str:
        """Total, spent and remaining in words; what remains is rounded down."""
        ledger = self._opened()
        left, total = (part.rounded_down() for part in (ledger.remaining, ledger.total))
        return f"remaining {left}; spent {ledger.spent} of {total}"

    def release(self, settings: Settings) -> Paid:
        """Debit the ledger, publish, keep the release, answer from it, write the public files."""
        _ = dp.figures.save_figure  # needs an extra: asked for before the debit
        if not self._lock.acquire(blocking=False):
            raise InvalidArgumentError("a release is under way; wait until it is done")
        try:
            return self._released(settings)
        finally:
            self._lock.release()

    def _released(self, settings: Settings) -> Paid:
        problem, kept, release = self.source.problem(), list[Path](), None
        asked: dict[str, Any] = {"epsilon": settings.epsilon, "delta": settings.delta}
        try:
            database = self.source.database(self._opened())
            release = dp.publish(problem, database, **asked, strategy=settings.strategy)
            kept += self._try_to_keep(release)
            answer = dp.answer(problem, release)
        except BaseException as error:
            if release is not None:  # for who shows the error
                error.release = release  # type: ignore[attr-defined]
            if is_published(error) and not kept:
                self._try_to_keep(error.release)  # type: ignore[attr-defined]
            raise
        paid = Paid(answer, kept[0] if kept else self.out / _name(release))
        self.released.append(paid)  # before the disk is asked again: it is paid for
        if not kept:
            paid.folder.mkdir(parents=True)
            release.save(paid.folder / SAVED[0])
        for name in self.source.files:
            if name != SAVED[0]:
                (paid.folder / name).write_bytes(answer_file(name, answer))
        return paid

    def _try_to_keep(self, release: dp.Release) -> list[Path]:
        """The folder that the release lies in before it is answered from, if a disk takes it.

        It is a new one: entries of another ledger have the same numbers.
        """
        with suppress(OSError):
            for number in count(1):
                more = f"-{number}" if number > 1 else ""
                folder = self.out / f"{_name(release)}{more}"
                with suppress(FileExistsError):
                    folder.mkdir(parents=True)
                    release.save(folder / SAVED[0])
                    return [folder]
        return []


def is_published(error: BaseException) -> bool:
    """Whether an error carries a release that says something."""
    release = getattr(error, "release", None)
    return release is not None and bool(release.outcomes)


def _name(release: dp.Release) -> str:
    return f"release-{entry_of(release)}"


def entry_of(release: dp.Release) -> str:
    """The number of the ledger's entry that paid."""
    return str(release.ledger_reference).partition(":")[0]
