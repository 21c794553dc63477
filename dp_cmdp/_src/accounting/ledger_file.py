"""The ledger's file: one SQLite database, opened for one transaction at a time.

A commit is forced to disk before it returns (``synchronous = EXTRA``). The rollback journal, not
a write-ahead log, keeps a ledger at rest a single file that can be copied. Every use holds the
lock of :mod:`dp_cmdp._src.accounting.lock`, with SQLite's own as a second fence; what was written
is read back, through a new connection, before the lock is released.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.accounting.hashchain import Chain, Kind, LedgerEntry, genesis, replay
from dp_cmdp._src.accounting.lock import exclusive
from dp_cmdp._src.base.errors import (
    InvalidArgumentError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
)

#: Marks a SQLite file as a ledger (the file header's ``application_id``): "DPcl" in ASCII.
APPLICATION_ID = 0x4450636C

_PRAGMAS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
)

_ENTRIES = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, "
    "identity TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, note TEXT NOT NULL, "
    "hash TEXT NOT NULL"
)
#: What was added to the entries later, by the first writer of an older file.
_PROTECTS = "protects TEXT NOT NULL DEFAULT ''"
_COLUMNS = "position, time, kind, identity, epsilon, delta, note, protects, hash"

#: The triggers are a fence against accidents; the hash chain is what finds tampering.
_FENCE = (
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), ledger_id TEXT NOT NULL, "
    "count INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER entries_append BEFORE INSERT ON entries "
    "WHEN NEW.position <> 1 + (SELECT coalesce(max(position), 0) FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER entries_update BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER entries_delete BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER head_insert BEFORE INSERT ON head WHEN EXISTS (SELECT 1 FROM head) "
    "BEGIN SELECT RAISE(ABORT, 'the ledger has one head'); END",
    "CREATE TRIGGER head_update BEFORE UPDATE ON head "
    "WHEN NEW.count <> OLD.count + 1 OR NEW.ledger_id <> OLD.ledger_id "
    "BEGIN SELECT RAISE(ABORT, 'the head only moves forward'); END",
    "CREATE TRIGGER head_delete BEFORE DELETE ON head "
    "BEGIN SELECT RAISE(ABORT, 'the ledger has one head'); END",
)
_OLD_SCHEMA = (f"{_ENTRIES})", *_FENCE)
_SCHEMA = (f"{_ENTRIES}, {_PROTECTS})", *_FENCE)


def resolved(path: str | PathLike[str]) -> Path:
    """An absolute path that names a regular file, or nothing yet."""
    if not str(path):
        raise InvalidArgumentError("path must be a non-empty text or path")
    try:
        absolute = Path(path).resolve()
        if absolute.exists() and not absolute.is_file():
            raise InvalidArgumentError(f"path must name a file; {absolute} is something else")
    except (OSError, RuntimeError) as error:
        raise LedgerError(f"{path} cannot be reached: {type(error).__name__}") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"path is not a valid file name: {path!r}") from None
    return absolute


@contextmanager
def transaction(path: Path, *, timeout_seconds: float) -> Generator[sqlite3.Connection, None, None]:
    """A reading transaction, alone with the ledger where its lock may be opened."""
    deadline = time.monotonic() + timeout_seconds
    path = _only_name(path, may_create=False)
    with (
        exclusive(path, deadline=deadline, write=False) as alone,
        _connection(path, deadline=deadline, mode="rw" if alone else "ro") as database,
    ):
        yield database


def write(
    path: Path,
    step: Callable[[sqlite3.Connection], LedgerEntry],
    *,
    timeout_seconds: float,
    may_create: bool = False,
) -> LedgerEntry:
    """One writing transaction, alone with the ledger: the entry of `step`, on disk and read back.

    An entry that was committed and cannot be read back counts as spent, as the error says.
    """
    deadline = time.monotonic() + timeout_seconds
    path = _only_name(path, may_create=may_create)
    with exclusive(path, deadline=deadline, write=True):
        mode = "rwc" if may_create else "rw"
        with _connection(path, deadline=deadline, mode=mode, begin="BEGIN IMMEDIATE") as database:
            entry = step(database)
        _read_back(path, entry, timeout_seconds=timeout_seconds)
    return entry


def _only_name(path: Path, *, may_create: bool) -> Path:
    """The path without symbolic links; a file of several names is refused.

    Each name of a hard-linked file would have its own lock, and its own journal.
    """
    path = path.resolve()
    try:
        names = path.stat().st_nlink
    except FileNotFoundError:
        if may_create:
            return path
        raise LedgerError(
            f"there is no ledger at {path}; PrivacyLedger.create(path, account, epsilon=…, "
            "delta=…) makes one"
        ) from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be reached ({error.strerror})") from None
    if names > 1:
        raise LedgerError(
            f"{path} has {names} names (hard links), and each would have its own lock: copy the "
            "ledger to a file of its own and remove the other names"
        )
    return path


@contextmanager
def _connection(
    path: Path, *, deadline: float, mode: str, begin: str = "BEGIN"
) -> Generator[sqlite3.Connection, None, None]:
    """One transaction on a fresh connection, committed to disk on a normal exit.

    Any exception rolls it back; those of SQLite become a :class:`LedgerError`, also when the text
    of its message is too damaged to decode.
    """
    uri = f"{path.as_uri()}?mode={mode}"
    patience = max(0.0, deadline - time.monotonic())
    try:
        with closing(
            sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
        ) as database:
            for pragma in _PRAGMAS:
                database.execute(pragma).fetchall()
            database.execute(begin)
            yield database
            database.execute("COMMIT")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _named(error, path) from None


def _read_back(path: Path, entry: LedgerEntry, *, timeout_seconds: float) -> None:
    """The committed entry must be in the chain that the file now holds."""
    try:
        with _connection(path, deadline=time.monotonic() + timeout_seconds, mode="rw") as database:
            found = is_ledger(database, path) and load(database).entries[entry.index - 1] == entry
        reason = "another entry is in its place"
    except LedgerBusyError:  # somebody reads or copies the file: that is no fault of it
        raise LedgerBusyError(
            f"{path}: entry {entry.index} was committed but could not be read back, because "
            "another process held the file; count it as spent, and see later with verify()"
        ) from None
    except (LedgerError, IndexError) as error:
        found, reason = False, str(error) if isinstance(error, LedgerError) else "it is gone"
    if not found:
        raise LedgerCorruptError(
            f"{path}: entry {entry.index} was committed but cannot be read back ({reason}); "
            "count it as spent and find out what writes the file past its lock",
            index=entry.index,
        )


def is_ledger(database: sqlite3.Connection, path: Path) -> bool:
    """True for a ledger, False for a blank file; anything else is refused."""
    (mark,) = database.execute("PRAGMA application_id").fetchone()
    found = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master")]
    if mark == 0 and not found:
        return False
    if mark != APPLICATION_ID:
        raise LedgerError(f"{path} is a SQLite file but not a ledger; it was left as it is")
    if set(found) not in (set(_SCHEMA), set(_OLD_SCHEMA)):
        raise LedgerCorruptError(f"{path}: the tables or triggers of the ledger were changed")
    return True


def initialise(database: sqlite3.Connection) -> None:
    """Turn a blank file into a ledger without entries (inside the caller's transaction)."""
    ledger_id = secrets.token_hex(16)
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _SCHEMA:
        database.execute(statement)
    database.execute("INSERT INTO head VALUES (1, ?, 0, ?)", (ledger_id, genesis(ledger_id)))


def load(database: sqlite3.Connection) -> Chain:
    """The whole history, every link checked, compared with the stored head."""
    head = database.execute("SELECT ledger_id, count, hash FROM head").fetchone()
    if head is None or [type(value) for value in head] != [str, int, str]:
        raise LedgerCorruptError("the ledger has lost its head")
    ledger_id, count, last = head
    columns = _COLUMNS.replace("protects", "''") if _is_old(database) else _COLUMNS
    chain = replay(ledger_id, database.execute(f"SELECT {columns} FROM entries ORDER BY position"))
    found = chain.head.count
    if count != found:
        raise LedgerCorruptError(
            f"the head counts {count} entries, the ledger has {found}: entries were cut off its "
            "end or added to it",
            index=min(count, found) + 1,
        )
    if last != chain.head.hash:
        raise LedgerCorruptError(f"the head's hash is not that of entry {count}", index=found)
    return chain


def _is_old(database: sqlite3.Connection) -> bool:
    """Whether nobody has written to the ledger since entries say what they protect."""
    return all(name != "protects" for _, name, *_ in database.execute("PRAGMA table_info(entries)"))


def append(
    database: sqlite3.Connection,
    chain: Chain,
    *,
    kind: Kind,
    account: str,
    amount: PrivacyBudget,
    note: str = "",
    protects: str = "",
) -> LedgerEntry:
    """Write the next entry and move the head, in the caller's transaction."""
    time = datetime.now(UTC).isoformat(timespec="microseconds")
    said = {"note": note, "time": time, "protects": protects}
    entry = chain.next_entry(kind, account=account, amount=amount, **said)
    if _is_old(database):
        database.execute(f"ALTER TABLE entries ADD COLUMN {_PROTECTS}")
    row = entry.row()
    database.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
    database.execute("UPDATE head SET count = ?, hash = ?", (entry.index, entry.hash))
    return entry


def check_pages(database: sqlite3.Connection) -> None:
    """SQLite's own check of the file's pages."""
    (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise LedgerCorruptError(f"the ledger file is damaged: {verdict}")


def _named(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> LedgerError:
    """The package's error for one of SQLite's, by its primary result code."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusyError(
            f"{path} is locked by another process: nothing was recorded; "
            "try again or raise timeout_seconds"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LedgerCorruptError(f"{path} is damaged or not a ledger at all ({error})")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return LedgerError(
            f"{path} cannot be opened or written ({error}): check that its folder exists and "
            "that you may write both the file and the folder"
        )
    return LedgerError(f"{path} could not be used ({error}); count a pending debit as spent")
