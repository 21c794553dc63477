"""The ledger's lock: one at a time under every name, for threads, processes and their children."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.accounting.hashchain import LedgerEntry
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.accounting.ledger_file import write
from dp_cmdp._src.accounting.lock import exclusive, lock_path
from dp_cmdp._src.base.errors import LedgerBusyError, LedgerCorruptError, LedgerError

TENTH = PrivacyBudget("1/10", "1/10000")


def create(path: Path, account: str, **more: Any) -> PrivacyLedger:
    return PrivacyLedger.create(path, account, epsilon=1, delta="1/1000", **more)


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return create(tmp_path / "ledger.db", "x", timeout_seconds=0.1)


@pytest.fixture
def held(ledger: PrivacyLedger) -> Iterator[int]:
    """The lock as another process would hold it."""
    handle = os.open(lock_path(ledger.path), os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield handle
    os.close(handle)


def test_a_held_lock_keeps_writers_and_readers_out_for_the_timeout_only(
    ledger: PrivacyLedger, held: int
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: ledger.debit(TENTH),
        lambda: create(ledger.path, "y", timeout_seconds=0.1),
        ledger.verify,
        lambda: PrivacyLedger(ledger.path, "x", timeout_seconds=0),
    ]
    for call in calls:
        start = time.monotonic()
        with pytest.raises(LedgerBusyError, match="nothing was recorded"):
            call()
        assert time.monotonic() - start < 1.0
    fcntl.flock(held, fcntl.LOCK_UN)
    assert ledger.verify().head.count == 1


def test_threads_of_one_process_exclude_each_other(ledger: PrivacyLedger) -> None:
    caught: list[BaseException] = []

    def intrude() -> None:
        try:
            ledger.debit(TENTH)
        except LedgerBusyError as error:
            caught.append(error)

    with exclusive(ledger.path, deadline=0.0, write=True):
        thread = Thread(target=intrude)
        thread.start()
        thread.join()
    assert len(caught) == 1
    assert ledger.debit(TENTH).startswith("2:")


def test_a_symbolic_link_has_the_lock_of_its_target(ledger: PrivacyLedger, held: int) -> None:
    link = ledger.path.with_name("link.db")
    link.symlink_to(ledger.path)
    fcntl.flock(held, fcntl.LOCK_UN)
    linked = PrivacyLedger(link, "x", timeout_seconds=0.1)
    fcntl.flock(held, fcntl.LOCK_EX)
    for call in (lambda: linked.debit(TENTH), lambda: create(link, "y", timeout_seconds=0.1)):
        with pytest.raises(LedgerBusyError):
            call()
    fcntl.flock(held, fcntl.LOCK_UN)
    linked.debit(TENTH)
    assert ledger.verify().head.count == 2
    assert not lock_path(link).exists()


def test_a_ledger_of_two_names_is_refused_until_one_is_gone(ledger: PrivacyLedger) -> None:
    other = ledger.path.with_name("other.db")
    other.hardlink_to(ledger.path)
    for path in (ledger.path, other):
        with pytest.raises(LedgerError, match="2 names"):
            PrivacyLedger(path, "x")
    for call in (
        lambda: ledger.debit(TENTH),
        lambda: create(ledger.path, "x"),
        lambda: ledger.head,
    ):
        with pytest.raises(LedgerError, match="2 names"):
            call()
    other.unlink()
    assert ledger.debit(TENTH).startswith("2:")


@pytest.mark.parametrize("thing", ["folder", "pipe", "link"])
def test_something_else_in_place_of_the_lock_file_stops_every_use(
    ledger: PrivacyLedger, thing: str
) -> None:
    lock, target = lock_path(ledger.path), ledger.path.with_name("elsewhere")
    lock.unlink()
    make = {"folder": lock.mkdir, "pipe": lambda: os.mkfifo(lock)}
    make.get(thing, lambda: lock.symlink_to(target))()
    for call in (lambda: ledger.debit(TENTH), ledger.verify):
        with pytest.raises(LedgerError, match="lock"):
            call()
    assert not target.exists()
    (lock.rmdir if thing == "folder" else lock.unlink)()
    assert ledger.verify().head.count == 1


#: Takes the lock, forks a child that outlives it, and is killed.
KILLED_PARENT = """
import os, signal, sys, time
from pathlib import Path
from dp_cmdp._src.accounting.lock import exclusive
with exclusive(Path(sys.argv[1]), deadline=0.0, write=True):
    if os.fork() == 0:
        os.close(1)
        time.sleep(5)
        os._exit(0)
    print("forked", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(ledger: PrivacyLedger) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_PARENT, str(ledger.path)], stdout=subprocess.PIPE, check=False
    )
    assert (done.stdout, done.returncode) == (b"forked\n", -9)
    assert PrivacyLedger(ledger.path, "x", timeout_seconds=2).debit(TENTH).startswith("2:")


#: As a user without rights in the folder: reads the ledger, and tries to debit it.
STRANGER = """
import os, sys
from dp_cmdp._src.base.errors import LedgerError
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.accounting.budget import PrivacyBudget
os.umask(0)
if os.geteuid() == 0:
    os.seteuid(65534)
ledger = PrivacyLedger(sys.argv[1], "x")
print(ledger.verify().head.count)
try:
    ledger.debit(PrivacyBudget("1/10", "1/10000"))
except LedgerError as error:
    print("refused" if "write" in str(error) else error)
"""


@pytest.mark.parametrize("locked_before", [True, False])
def test_a_ledger_in_a_folder_that_cannot_be_written_is_read_but_not_debited(
    ledger: PrivacyLedger, locked_before: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "copy.db"
        copy.write_bytes(ledger.path.read_bytes())
        if locked_before:
            PrivacyLedger(copy, "x").verify()
        present = set(folder.iterdir())
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", STRANGER, str(copy)], capture_output=True, text=True, check=False
        )
        folder.chmod(0o755)
        assert done.stdout == "1\nrefused\n", done.stderr
        assert set(folder.iterdir()) == present
        assert PrivacyLedger(copy, "x").verify().head.count == 1


@pytest.mark.parametrize("fault", ["replaced", "beyond the end", "a broken chain"])
def test_an_entry_that_cannot_be_read_back_counts_as_spent(
    ledger: PrivacyLedger, fault: str
) -> None:
    ledger.debit(TENTH)
    (first,) = ledger.entries()

    def step(database: sqlite3.Connection) -> LedgerEntry:
        if fault == "replaced":
            return replace(first, note="never written")
        if fault == "beyond the end":
            return replace(first, index=3)
        database.execute("UPDATE head SET count = count + 1")
        return first

    with pytest.raises(LedgerCorruptError, match="count it as spent") as caught:
        write(ledger.path, step, timeout_seconds=1.0)
    assert caught.value.index == (3 if fault == "beyond the end" else 2)
