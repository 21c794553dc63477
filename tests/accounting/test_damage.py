"""Damaged pages, and locks that are none."""

import errno
from time import monotonic

import pytest

from dp_cmdp._src.accounting import lock
from dp_cmdp._src.accounting.budget import NOTHING
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.base.errors import LedgerBusyError, LedgerCorruptError, LedgerError


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
