"""A durable, append-only ledger of what has been spent on each private database.

Releases of one database add up, (Σ εᵢ, Σ δᵢ) (paper: ``lem:comp``), for as long as the database
lives: longer than any process. The ledger keeps that sum on disk, in exact fractions, and refuses
the debit that would take it over the total. A release debits *before* it reads data and is never
refunded, so what is written down is never less than what was spent. A sum means something only if
all its terms protect the same change: an identity states its unit in words, every release records
its adjacency (:mod:`dp_cmdp.accounting.adjacency`), and a debit that protects another is refused.

One SQLite file, one transaction per debit: under the lock (:mod:`dp_cmdp.accounting.lock`) the
whole hash chain (:mod:`dp_cmdp.accounting.hashchain`) is checked, the balance compared, the entry
appended, the commit forced to disk and the entry read back (:mod:`dp_cmdp.accounting.ledger_file`)
before :meth:`PrivacyLedger.debit` returns.
"""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.base.html import facts_table, rows_table
from dp_cmdp._src.accounting.adjacency import Adjacency, stated
from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.accounting.hashchain import Amount, Balance, Chain, LedgerEntry, LedgerHead
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
from dp_cmdp._src.base.errors import BudgetExceededError, InvalidArgumentError, LedgerError

if TYPE_CHECKING:
    import pandas as pd

#: Longest identity (or unit) and note, in characters.
MAX_IDENTITY, MAX_NOTE = 200, 2000


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """What :meth:`PrivacyLedger.verify` found to be true.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
    >>> ledger = PrivacyLedger("budgets.sqlite")
    >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
    >>> report = ledger.verify(str(ledger.head()))
    >>> report.pinned, report.head.count, [balance.identity for balance in report.balances]
    (True, 1, ['demand 2026'])
    """

    ledger_id: str
    head: LedgerHead
    balances: tuple[Balance, ...]
    pinned: bool


@dataclass(frozen=True, slots=True, init=False)
class PrivacyLedger:
    """The budgets of private databases, in one SQLite file.

    Holds no open file: it may be pickled, forked and shared between threads and processes.

    Parameters
    ----------
    path
        The ledger file. It need not exist: the first :meth:`create` makes it.
    timeout_seconds
        How long to wait for another's lock before :class:`LedgerBusyError`.
    unit
        Whom the debits made here protect, in words; they are refused where the identity says
        otherwise. By default whom the identity says.

    Raises
    ------
    LedgerError
        An existing file is not a ledger, or cannot be read.

    Notes
    -----
    **Paper.** ``lem:comp``.
    **Privacy.** *Public*: identities, amounts and notes must hold no private value.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, PrivacyLedger, release_database
    >>> ledger = PrivacyLedger("budgets.sqlite")
    >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
    >>> database = Database([0.5], Envelope(0, 1, shape=1), identity="demand 2026")
    >>> release = release_database(database, PrivacyBudget(1, "1/2000"), ledger=ledger)
    >>> ledger.remaining("demand 2026").epsilon
    Fraction(1, 1)
    """

    path: Path
    timeout_seconds: float
    unit: str | None

    @validated
    def __init__(
        self,
        path: str | PathLike[str],
        *,
        timeout_seconds: float = 30.0,
        unit: str | None = None,
    ) -> None:
        seconds = check.real("timeout_seconds", timeout_seconds, low=0.0, high=86400.0)
        object.__setattr__(self, "path", resolved(path))
        object.__setattr__(self, "timeout_seconds", seconds)
        object.__setattr__(self, "unit", None if unit is None else _unit(unit))
        if self.path.exists():
            with self._transaction() as database:
                is_ledger(database, self.path)

    @validated
    def create(self, identity: str, budget: PrivacyBudget, unit: str) -> LedgerEntry:
        """Set the total budget of an identity and whom it protects, once and for ever.

        Repeating the same call changes nothing; another total or unit for a known identity raises
        :class:`InvalidArgumentError`. Where the total was set before units were stated, the unit
        is added to it.

        Parameters
        ----------
        identity
            Public name of the database.
        budget
            The total.
        unit
            Whose whole contribution one record is, in words: ``"one patient"``, ``"one visit"``.

        Notes
        -----
        **Privacy.** *Public*.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer").kind
        'total'
        """
        identity, total, unit = _identity(identity), Amount.of(budget), _unit(unit)

        def step(database: sqlite3.Connection) -> LedgerEntry:
            if not is_ledger(database, self.path):
                initialise(database)
            chain = load(database)
            if identity not in chain.balances:
                return append(
                    database, chain, kind="total", identity=identity, amount=total, protects=unit
                )
            if chain.balances[identity].total != total:
                raise InvalidArgumentError(
                    f"identity {identity!r} already has the total "
                    f"{chain.balances[identity].total.rounded_up()}, and a total never changes"
                )
            if not chain.balances[identity].unit:
                return append(
                    database, chain, kind="unit", identity=identity, amount=Amount(), protects=unit
                )
            _same_unit(chain.balances[identity], unit)
            return next(entry for entry in chain.entries if entry.identity == identity)

        return write(self.path, step, timeout_seconds=self.timeout_seconds, may_create=True)

    @validated
    def debit(
        self,
        identity: str,
        budget: PrivacyBudget,
        *,
        note: str = "",
        adjacency: Adjacency | None = None,
    ) -> LedgerEntry:
        """Spend from an identity's total; once this returns, the debit is on disk for good.

        Call it *before* reading data; there is no refund. If it raises
        :class:`BudgetExceededError` nothing was recorded. If the process dies before it returns,
        the debit is recorded wholly or not at all.

        Parameters
        ----------
        identity, budget
            What is spent, and from whose total.
        note
            Public text.
        adjacency
            What the release protects, which every release of this package states
            (:func:`~dp_cmdp.data.adjacency.adjacency_of` an envelope). Without one the debit is
            compared with no other.

        Raises
        ------
        InvalidArgumentError
            The unit of this ledger is not the identity's, or an earlier debit lets an entry of the
            same name change by another radius or belong to other records. Nothing was recorded.
        BudgetExceededError
            With the exact `requested` and `remaining` amounts.
        LedgerBusyError
            Another process or thread kept the lock for longer than `timeout_seconds`: nothing was
            recorded, unless the text says that the entry was committed.
        LedgerCorruptError
            The ledger contradicts itself, or the entry cannot be read back: count it as spent.
        LedgerError
            There is no ledger at `path`, or it cannot be read, written or locked.

        Notes
        -----
        **Paper.** ``lem:comp``. **Privacy.** *Spends the budget*.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> entry = ledger.debit("demand 2026", PrivacyBudget(1, "1/2000"), note="first look")
        >>> ledger.debit("demand 2026", PrivacyBudget("1.01", "1/2000"))
        Traceback (most recent call last):
            ...
        dp_cmdp.errors.BudgetExceededError: ...
        """
        identity, requested, note = _identity(identity), Amount.of(budget), _note(note)

        def step(database: sqlite3.Connection) -> LedgerEntry:
            chain = self._chain(database)
            balance = _balance(chain, identity)
            if self.unit is not None:
                _same_unit(balance, self.unit)
            protects = "" if adjacency is None else stated(adjacency, _adjacencies(chain, identity))
            remaining = balance.remaining
            if not remaining.covers(requested):
                raise BudgetExceededError(
                    f"a debit of {requested.rounded_up()} exceeds what remains of identity "
                    f"{identity!r}, {remaining.rounded_down()}; nothing was recorded: ask for less",
                    requested=requested,
                    remaining=remaining,
                )
            return append(
                database,
                chain,
                kind="debit",
                identity=identity,
                amount=requested,
                note=note,
                protects=protects,
            )

        return write(self.path, step, timeout_seconds=self.timeout_seconds)

    @validated
    def verify(self, pinned: LedgerHead | str | None = None) -> LedgerReport:
        """Check the file, its schema, every link of the chain, every sum and the head.

        Parameters
        ----------
        pinned
            A head noted elsewhere, earlier. Without one, whoever can write the file can replace
            it by an older copy, or rewrite it with all its hashes, unseen.

        Raises
        ------
        LedgerCorruptError
            Whose `index` is the first entry at fault.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> noted = str(ledger.head())  # on paper, or at a notary's
        >>> entry = ledger.debit("demand 2026", PrivacyBudget(1, "1/2000"))
        >>> ledger.verify(noted).head.count
        2
        """
        pin = LedgerHead.parse(pinned) if isinstance(pinned, str) else pinned
        with self._transaction() as database:
            chain = self._chain(database)
            check_pages(database)
        if pin is not None:
            chain.check_contains(pin)
        return LedgerReport(
            chain.ledger_id, chain.head, tuple(chain.balances.values()), pinned=pin is not None
        )

    def head(self) -> LedgerHead:
        """The count and last hash, to be noted outside the ledger and given to :meth:`verify`.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> ledger.head().count
        1
        """
        return self._read().head

    def ledger_id(self) -> str:
        """The random name that the ledger got when it was made."""
        return self._read().ledger_id

    def balances(self) -> list[Balance]:
        """Total, spent and remaining of every identity, in one consistent look.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> entry = ledger.debit("demand 2026", PrivacyBudget("1/2", "1/2000"))
        >>> for balance in ledger.balances():
        ...     print(balance.identity, balance.remaining.epsilon)
        demand 2026 3/2
        """
        return list(self._read().balances.values())

    @validated
    def total(self, identity: str) -> Amount:
        """The total set by :meth:`create`.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> ledger.total("demand 2026").delta
        Fraction(1, 1000)
        """
        return _balance(self._read(), _identity(identity)).total

    @validated
    def spent(self, identity: str) -> Amount:
        """The exact sum of all debits.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> for _ in range(3):
        ...     entry = ledger.debit("demand 2026", PrivacyBudget(0.1, "1/9000"))
        >>> ledger.spent("demand 2026").epsilon  # exactly; floats would say 0.30000000000000004
        Fraction(3, 10)
        """
        return _balance(self._read(), _identity(identity)).spent

    @validated
    def remaining(self, identity: str) -> Amount:
        """Total minus spent, exactly.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> entry = ledger.debit("demand 2026", PrivacyBudget("1/3", "1/2000"))
        >>> ledger.remaining("demand 2026").epsilon
        Fraction(5, 3)
        """
        return _balance(self._read(), _identity(identity)).remaining

    @validated
    def entries(self, identity: str | None = None) -> list[LedgerEntry]:
        """All debits, or those of one identity, oldest first.

        Totals are links of the same chain, so the index of the first debit is not 1.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> entry = ledger.debit("demand 2026", PrivacyBudget(1, "1/2000"), note="first look")
        >>> [(entry.index, entry.note) for entry in ledger.entries()]
        [(2, 'first look')]
        """
        chain = self._read()
        if identity is not None:
            _balance(chain, _identity(identity))
        return [
            entry
            for entry in chain.entries
            if entry.kind == "debit" and identity in (None, entry.identity)
        ]

    @validated
    def to_frame(self, identity: str | None = None) -> pd.DataFrame:
        """The debits as a pandas table; ε and δ stay exact fractions.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
        >>> ledger = PrivacyLedger("budgets.sqlite")
        >>> entry = ledger.create("demand 2026", PrivacyBudget(2, "1/1000"), "one customer")
        >>> entry = ledger.debit("demand 2026", PrivacyBudget(1, "1/2000"), note="first look")
        >>> ledger.to_frame()[["identity", "epsilon", "delta", "note"]]
              identity epsilon   delta        note
        0  demand 2026       1  1/2000  first look
        """
        import pandas as pd

        columns = ["index", "time", "identity", "epsilon", "delta", "note", "hash"]
        rows = [[getattr(entry, name) for name in columns] for entry in self.entries(identity)]
        return pd.DataFrame(rows, columns=pd.Index(columns))

    def _repr_html_(self) -> str:
        try:
            found = self.balances()
        except LedgerError as error:
            return facts_table("PrivacyLedger", [("not read", error)])
        rows = [
            (each.identity, each.unit or "not stated", each.total.rounded_up(),
             each.spent.rounded_up(), each.remaining.rounded_down())
            for each in found
        ]  # fmt: skip
        head = ["identity", "unit", "total", "spent", "remaining"]
        return rows_table(f"PrivacyLedger {self.path.name}", head, rows, count=len(rows))

    def _read(self) -> Chain:
        with self._transaction() as database:
            return self._chain(database)

    def _chain(self, database: sqlite3.Connection) -> Chain:
        if not is_ledger(database, self.path):
            raise LedgerError(f"{self.path} is a blank file, not a ledger yet; call create first")
        return load(database)

    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return transaction(self.path, timeout_seconds=self.timeout_seconds)


def _identity(identity: str) -> str:
    if not identity.strip() or not identity.isprintable() or len(identity) > MAX_IDENTITY:
        raise InvalidArgumentError(
            f"identity must be 1 to {MAX_IDENTITY} printable characters, not all blank"
        )
    return identity


def _unit(unit: str) -> str:
    unit = " ".join(unit.split())
    if not unit or not unit.isprintable() or len(unit) > MAX_IDENTITY:
        raise InvalidArgumentError(
            f'unit must say in 1 to {MAX_IDENTITY} characters whom a record is, as "one patient"'
        )
    return unit


def _same_unit(balance: Balance, unit: str) -> None:
    """Refuse another unit than the identity's."""
    if balance.unit and balance.unit != unit:
        raise InvalidArgumentError(
            f"identity {balance.identity!r} protects {balance.unit!r}, not {unit!r}, and losses of "
            "different units do not add up; nothing was recorded: release with the records of that "
            "unit, or, if these are other people, from an identity of their own"
        )
    if not balance.unit:
        raise InvalidArgumentError(
            f"identity {balance.identity!r} has no unit, its total is from before units were "
            "stated; nothing was recorded: state it with create(identity, total, unit)"
        )


def _adjacencies(chain: Chain, identity: str) -> list[tuple[int, str]]:
    """Index and text of each debit of an identity that states an adjacency."""
    return [
        (entry.index, entry.protects)
        for entry in chain.entries
        if entry.kind == "debit" and entry.identity == identity and entry.protects
    ]


def _note(note: str) -> str:
    if not note.isprintable() or len(note) > MAX_NOTE:
        raise InvalidArgumentError(
            f"note must be at most {MAX_NOTE} printable characters on one line"
        )
    return note


def _balance(chain: Chain, identity: str) -> Balance:
    if identity not in chain.balances:
        raise InvalidArgumentError(
            f"identity {identity!r} has no total in this ledger; call create first"
        )
    return chain.balances[identity]
