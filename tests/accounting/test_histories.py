"""Histories that no ledger may hold, damaged pages, and locks that are none."""

import errno
import sqlite3
from contextlib import closing
from fractions import Fraction
from time import monotonic
from typing import Any

import pytest

from dp_cmdp._src.accounting import PrivacyBudget, PrivacyLedger, lock
from dp_cmdp._src.accounting.budget import NOTHING, amount
from dp_cmdp._src.accounting.hashchain import Chain, replay
from dp_cmdp._src.base.errors import LedgerBusyError, LedgerCorruptError, LedgerError

ID = "0" * 32


def rows(*entries: tuple[Any, str, str, str]) -> list[tuple]:
    """Rows with the right hashes, as somebody who rewrites the whole file would make them."""
    written: list[tuple] = []
    chain = Chain(ID, (), {})
    for kind, account, epsilon, delta in entries:
        entry = chain.next_entry(
            kind,
            account=account,
            amount=amount(Fraction(epsilon), Fraction(delta)),
            note="",
            time="2025-01-01",
        )
        chain = Chain(ID, (*chain.entries, entry), {})
        written.append(entry.row())
    return written


def test_a_history_within_its_total_is_read():
    chain = replay(ID, rows(("total", "a", "1", "1/2"), ("debit", "a", "1", "1/2")))
    assert chain.balances["a"].remaining == NOTHING


@pytest.mark.parametrize(
    "debits",
    [
        [("2/3", "1/8"), ("2/3", "1/8")],
        [("1/3", "2/5"), ("1/3", "2/5")],
        [("1", "1/2"), ("1/1000000", "1/1000000")],
        [("1/3", "1/8"), ("1/3", "1/8"), ("1/3", "1/8"), ("1/1000", "1/8")],
    ],
)
def test_a_history_whose_debits_add_up_to_more_than_the_total_is_refused(debits):
    history = rows(("total", "a", "1", "1/2"), *(("debit", "a", e, d) for e, d in debits))
    with pytest.raises(LedgerCorruptError, match="exceeds the total") as caught:
        replay(ID, history)
    assert caught.value.index == len(debits) + 1


def test_debits_of_one_account_are_not_taken_from_another():
    history = rows(
        ("total", "a", "1", "1/2"), ("total", "b", "1", "1/2"), ("debit", "b", "1", "1/2")
    )
    chain = replay(ID, history)
    assert chain.balances["a"].remaining == amount(Fraction(1), Fraction(1, 2))


@pytest.mark.parametrize(
    ("history", "index"),
    [
        ([("total", "a", "1", "1/2"), ("total", "a", "9", "1/2")], 2),
        ([("debit", "a", "1", "1/2")], 1),
        ([("total", "a", "1", "1/2"), ("debit", "b", "1", "1/2")], 2),
    ],
)
def test_an_account_has_one_total_and_has_it_first(history, index):
    with pytest.raises(LedgerCorruptError, match="one total") as caught:
        replay(ID, rows(*history))
    assert caught.value.index == index


def test_damage_outside_the_entries_is_found_by_the_check_of_the_pages(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = PrivacyLedger.create(path, "a", epsilon=1, delta="1/1000")
    content = bytearray(path.read_bytes())
    content[36:40] = (5).to_bytes(4, "big")  # pages that the header says are free
    path.write_bytes(content)
    assert ledger.spent == NOTHING
    with pytest.raises(LedgerCorruptError, match="damaged"):
        ledger.verify()


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_not_held(tmp_path, monkeypatch):
    path, locked, removed = tmp_path / "ledger.sqlite", lock._locked, []

    def locked_too_late(handle, ledger):
        if not removed:
            removed.append(lock.lock_path(ledger))
            removed[0].unlink()
        return locked(handle, ledger)

    monkeypatch.setattr(lock, "_locked", locked_too_late)
    with lock.exclusive(path, deadline=monotonic() + 5.0, write=True) as alone:
        assert alone
        assert removed
        with (
            pytest.raises(LedgerBusyError),
            lock.exclusive(path, deadline=monotonic(), write=True),
        ):
            pass


def test_without_its_lock_a_reader_reads_and_a_writer_does_not_write(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(lock, "_made_or_open", denied)
    path = tmp_path / "ledger.sqlite"
    with lock.exclusive(path, deadline=monotonic(), write=False) as alone:
        assert not alone
    with (
        pytest.raises(LedgerError, match="cannot be opened or written"),
        lock.exclusive(path, deadline=monotonic(), write=True),
    ):
        pass


@pytest.mark.parametrize("fence", ["entries_update", "entries_delete", "head_update"])
def test_a_fence_that_was_replaced_by_one_that_stops_nothing_is_found(tmp_path, fence):
    ledger = PrivacyLedger.create(tmp_path / "ledger.sqlite", "a", epsilon=1, delta="1/1000")
    verb, table = fence.split("_")[1].upper(), fence.split("_")[0]
    with closing(sqlite3.connect(ledger.path)) as database:
        database.execute(f"DROP TRIGGER {fence}")
        database.execute(f"CREATE TRIGGER {fence} BEFORE {verb} ON {table} BEGIN SELECT 1; END")
    for call in (ledger.verify, lambda: ledger.debit(PrivacyBudget("1/2", "1/2000"))):
        with pytest.raises(LedgerCorruptError, match="triggers"):
            call()
