"""A durable, append-only account of what has been spent on a private database.

Releases of one database add up, (Σ εᵢ, Σ δᵢ) (paper: ``lem:comp``), for as long as the database
lives: longer than any process. The ledger keeps that sum on disk, in exact fractions, and refuses
the debit that would take it over the total. A release debits *before* it reads data and is never
refunded, so what is written down is never less than what was spent. A sum means something only if
all its terms protect the same change: an account states its unit in words, every debit records its
adjacency (:mod:`dp_cmdp._src.accounting.adjacency`), and one that protects another is refused.

One SQLite file, one transaction per debit: under the lock (:mod:`dp_cmdp._src.accounting.lock`)
the whole hash chain (:mod:`dp_cmdp._src.accounting.hashchain`) is checked, the balance compared,
the entry appended, the commit forced to disk and the entry read back
(:mod:`dp_cmdp._src.accounting.ledger_file`) before :meth:`PrivacyLedger.debit` returns.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dp_cmdp._src.accounting.adjacency import Adjacency, stated
from dp_cmdp._src.accounting.budget import NOTHING, Number, PrivacyBudget
from dp_cmdp._src.accounting.hashchain import Balance, Chain, LedgerEntry, LedgerHead, storable
from dp_cmdp._src.accounting.ledger_file import (
    append,
    check_pages,
    initialise,
    is_ledger,
    load,
    resolved,
    transaction,
    write,
)
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import BudgetExceededError, InvalidArgumentError, LedgerError
from dp_cmdp._src.base.html import values_table
from dp_cmdp._src.base.validation import validated

if TYPE_CHECKING:
    import pandas as pd

#: Longest account (or unit) and note, in characters.
MAX_NAME, MAX_NOTE = 200, 2000
UNIT = "one record"


@runtime_checkable
class Protected(Protocol):
    """What states an adjacency: an Envelope."""

    def adjacency(self) -> Adjacency: ...


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """What :meth:`PrivacyLedger.verify` found to be true."""

    ledger_id: str
    head: LedgerHead
    balances: tuple[Balance, ...]
    pinned: bool


@dataclass(frozen=True, slots=True, init=False)
class PrivacyLedger:
    """One account in a ledger file: the budget of a private database, whoever spends from it.

    Holds no open file: it may be pickled, forked and shared between threads and processes.

    Parameters
    ----------
    path : str or Path
        The ledger file. A missing one is refused: :meth:`create` makes it.
    account : str
        Public name of the database's account, made by :meth:`create`.
    timeout_seconds : float
        How long to wait for another's lock before :class:`LedgerBusyError`.

    Raises
    ------
    LedgerError
        The file is missing, is not a ledger, or cannot be read.
    InvalidArgumentError
        The ledger has no such account.

    Notes
    -----
    **Privacy.** *Public*: accounts, amounts and notes must hold no private value.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> ledger = dp.PrivacyLedger.create("clinic.ledger", "patients", epsilon=2, delta="1/1000")
    >>> dp.PrivacyLedger("clinic.ledger", "patients").remaining.epsilon
    Fraction(2, 1)
    """

    path: Path
    account: str
    timeout_seconds: float

    @validated
    def __init__(
        self, path: str | PathLike[str], account: str, *, timeout_seconds: float = 30.0
    ) -> None:
        self._fill(path, account, timeout_seconds)
        self._balance(self._read())

    def _fill(self, path: str | PathLike[str], account: str, timeout_seconds: float) -> None:
        seconds = check.real("timeout_seconds", timeout_seconds, low=0.0, high=86400.0)
        object.__setattr__(self, "path", resolved(path))
        object.__setattr__(self, "account", _line("account", account, MAX_NAME))
        object.__setattr__(self, "timeout_seconds", seconds)

    @classmethod
    @validated
    def create(
        cls,
        path: str | PathLike[str],
        account: str,
        *,
        epsilon: Number,
        delta: Number,
        unit: str = UNIT,
        timeout_seconds: float = 30.0,
    ) -> PrivacyLedger:
        """Set the total of an account and whom it protects, once and for ever, and open it.

        The file is made if need be; one that exists takes another account. Repeating the same call
        changes nothing. Where the total is from before units were stated, the unit is added to it.

        Parameters
        ----------
        path : str or Path
            The file of the ledger.
        account : str
            Public name of the database's account.
        epsilon, delta : number
            The total.
        unit : str
            Whose whole contribution one record is, in words: ``"one patient"``, ``"one visit"``.
        timeout_seconds : float
            As in :class:`PrivacyLedger`.

        Returns
        -------
        PrivacyLedger

        Raises
        ------
        InvalidArgumentError
            The account exists with another total or unit.
        LedgerError
            The file is not a ledger, or cannot be written.

        Notes
        -----
        **Privacy.** *Public*.
        """
        made = cls.__new__(cls)
        made._fill(path, account, timeout_seconds)
        words = _line("unit", " ".join(unit.split()), MAX_NAME)
        total = storable(PrivacyBudget(epsilon, delta))
        write(
            made.path,
            lambda database: made._create(database, total, words),
            timeout_seconds=timeout_seconds,
            may_create=True,
        )
        return made

    def _create(self, database: sqlite3.Connection, total: PrivacyBudget, unit: str) -> LedgerEntry:
        if not is_ledger(database, self.path):
            initialise(database)
        chain = load(database)
        known = chain.balances.get(self.account)
        said = {"account": self.account, "protects": unit}
        if known is None:
            return append(database, chain, kind="total", amount=total, **said)
        if known.total != total:
            raise InvalidArgumentError(
                f"account {self.account!r} already has the total {known.total}, and a total never "
                "changes: open it with PrivacyLedger(path, account), or name another account"
            )
        if not known.unit:
            return append(database, chain, kind="unit", amount=NOTHING, **said)
        if known.unit != unit:
            raise InvalidArgumentError(
                f"account {self.account!r} protects {known.unit!r}, not {unit!r}, and losses of "
                "different units do not add up; nothing was recorded: name another account"
            )
        return next(entry for entry in chain.entries if entry.account == self.account)

    @validated
    def debit(
        self, budget: PrivacyBudget, envelope: Protected | None = None, note: str = ""
    ) -> str:
        """Spend from the account; once this returns, the debit is on disk for good.

        Call it *before* reading data; there is no refund. If it raises
        :class:`BudgetExceededError` nothing was recorded. If the process dies before it returns,
        the debit is recorded wholly or not at all.

        Parameters
        ----------
        budget : PrivacyBudget
            The amount to spend.
        envelope : Envelope, optional
            What the release protects, which every release of this package states. Without one the
            debit is compared with no other.
        note : str
            Public text.

        Returns
        -------
        str
            The head after the debit, which :meth:`verify` takes.

        Raises
        ------
        InvalidArgumentError
            An earlier debit lets an entry of the same name change by another radius, or belong to
            other records. Nothing was recorded.
        BudgetExceededError
            With the exact `requested` and `remaining` amounts.
        LedgerBusyError
            Another process or thread kept the lock for longer than `timeout_seconds`: nothing was
            recorded, unless the text says that the entry was committed.
        LedgerCorruptError
            The ledger contradicts itself, or the entry cannot be read back: count it as spent.

        Notes
        -----
        **Paper.** ``lem:comp``. **Privacy.** *Spends the budget*.
        """
        requested, said = storable(budget), _line("note", note, MAX_NOTE, blank=True)
        protected = None if envelope is None else envelope.adjacency()

        def step(database: sqlite3.Connection) -> LedgerEntry:
            chain = self._chain(database)
            remaining = self._balance(chain).remaining
            before = [(e.index, e.protects) for e in self._debits(chain) if e.protects]
            protects = "" if protected is None else stated(protected, before)
            if not requested.fits(remaining):
                raise BudgetExceededError(
                    f"a debit of {requested} exceeds what remains of account {self.account!r}, "
                    f"{remaining.rounded_down()}; nothing was recorded: ask for less",
                    requested=requested,
                    remaining=remaining,
                )
            more = {"account": self.account, "note": said, "protects": protects}
            return append(database, chain, kind="debit", amount=requested, **more)

        entry = write(self.path, step, timeout_seconds=self.timeout_seconds)
        return str(LedgerHead(entry.index, entry.hash))

    @validated
    def verify(self, pinned: LedgerHead | str | None = None) -> LedgerReport:
        """Check the file, its schema, every link of the chain, every sum and the head.

        Parameters
        ----------
        pinned : str, optional
            A head noted elsewhere, earlier. Without one, whoever can write the file can replace
            it by an older copy, or rewrite it with all its hashes, unseen.

        Returns
        -------
        LedgerReport
            Identity, head and balances of the ledger that was checked.

        Raises
        ------
        LedgerCorruptError
            Whose `index` is the first entry that is wrong.
        """
        pin = LedgerHead.parse(pinned) if isinstance(pinned, str) else pinned
        chain = self._read(pages=True)
        if pin is not None:
            chain.check_contains(pin)
        balances = tuple(chain.balances.values())
        return LedgerReport(chain.ledger_id, chain.head, balances, pinned=pin is not None)

    @property
    def head(self) -> LedgerHead:
        """Count and last hash of the file, to be noted elsewhere and given to :meth:`verify`."""
        return self._read().head

    @property
    def total(self) -> PrivacyBudget:
        """The total set by :meth:`create`."""
        return self._balance(self._read()).total

    @property
    def spent(self) -> PrivacyBudget:
        """The exact sum of all debits."""
        return self._balance(self._read()).spent

    @property
    def remaining(self) -> PrivacyBudget:
        """Total minus spent, exactly."""
        return self._balance(self._read()).remaining

    @property
    def unit(self) -> str:
        """Whose whole contribution one record is; empty in accounts of early files."""
        return self._balance(self._read()).unit

    def entries(self) -> list[LedgerEntry]:
        """The account's debits, oldest first.

        Returns
        -------
        list of LedgerEntry
            Debits of this account only.
        """
        return self._debits(self._read())

    def to_frame(self) -> pd.DataFrame:
        """The account's debits as a table; ε and δ stay exact fractions.

        Returns
        -------
        pandas.DataFrame
            One row per debit: index, time, account, epsilon, delta, note, hash.
        """
        import pandas as pd

        columns = ["index", "time", "account", "epsilon", "delta", "note", "hash"]
        rows = [[getattr(entry, name) for name in columns] for entry in self.entries()]
        return pd.DataFrame(rows, columns=pd.Index(columns))

    def _repr_html_(self) -> str:
        title = f"PrivacyLedger {self.path.name}"
        try:
            found = self._balance(self._read())
        except LedgerError as error:
            return values_table(title, [("not read", error)])
        rows = [
            ("account", self.account),
            ("unit", found.unit or "not stated"),
            ("total", found.total),
            ("spent", found.spent),
            ("remaining", found.remaining.rounded_down()),
        ]
        return values_table(title, rows)

    def _read(self, *, pages: bool = False) -> Chain:
        with transaction(self.path, timeout_seconds=self.timeout_seconds) as database:
            chain = self._chain(database)
            if pages:
                check_pages(database)
        return chain

    def _chain(self, database: sqlite3.Connection) -> Chain:
        if not is_ledger(database, self.path):
            raise LedgerError(f"{self.path} is a blank file, not a ledger yet; call create first")
        return load(database)

    def _balance(self, chain: Chain) -> Balance:
        if self.account not in chain.balances:
            raise InvalidArgumentError(
                f"account {self.account!r} is not in this ledger; PrivacyLedger.create(path, "
                "account, epsilon=…, delta=…) makes it"
            )
        return chain.balances[self.account]

    def _debits(self, chain: Chain) -> list[LedgerEntry]:
        return [e for e in chain.entries if e.kind == "debit" and e.account == self.account]


def _line(name: str, text: str, most: int, *, blank: bool = False) -> str:
    """A printable text on one line."""
    if not text.isprintable() or len(text) > most or not (blank or text.strip()):
        raise InvalidArgumentError(
            f"{name} must be {'at most' if blank else '1 to'} {most} printable characters on one "
            f"line{'' if blank else ', not all blank'}"
        )
    return text
