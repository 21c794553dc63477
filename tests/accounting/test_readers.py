"""Debiting processes in which another thread merely reads the ledger's file.

Closing any descriptor of a file drops every POSIX lock that the process holds on it, SQLite's too.
A thread that hashes the file, as a backup or a virus scanner does, must not let two processes
into the ledger at once.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from dp_cmdp.errors import LedgerError
from tests.accounting.test_crashes import child, created, heads

#: Debits, until it is refused, each ledger named on its standard input, beside a thread that opens,
#: hashes and closes the file every 2 ms; says what was acknowledged, and any error by its name.
#: On a busy machine the other process may keep the lock for longer than the timeout: that is no
#: fault, and the debit is tried again.
READER = """
import hashlib, sys, threading, time
from dp_cmdp import PrivacyBudget, PrivacyLedger
from dp_cmdp.errors import BudgetExceededError, LedgerBusyError, LedgerError

path, unit = sys.argv[1], PrivacyBudget("1/7000", "1/7000")

def read():
    while True:
        with open(path, "rb") as stream:
            hashlib.sha256(stream.read()).hexdigest()
        time.sleep(0.002)

threading.Thread(target=read, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    path = line.strip()
    heard = []
    try:
        ledger, busy = PrivacyLedger(path, "x"), 0
        while True:
            try:
                head = ledger.debit(unit)
            except LedgerBusyError:
                busy += 1
                if busy == 10:
                    raise
            else:
                heard.append(head)
    except BudgetExceededError:
        heard.append("refused")
    except LedgerError as error:
        heard.append(type(error).__name__)
    print(" ".join(heard), flush=True)
"""


def faults(folder: Path, *, rounds: int, units: int = 8) -> dict[str, int]:
    """Rounds in which the ledger was overspent, lost what it acknowledged, was corrupt or stuck."""
    counts = {"overspent": 0, "lost": 0, "corrupt": 0, "stuck": 0}
    first = created(folder / "first.db", 1)
    with ExitStack() as stack:
        pair = [stack.enter_context(child(READER, str(first.path))) for _ in range(2)]
        for turn in range(rounds):
            ledger = created(folder / f"{turn}.db", units)
            for process in pair:
                assert process.stdin is not None
                process.stdin.write(f"{ledger.path}\n")
                process.stdin.flush()
            said = [process.stdout.readline().split() for process in pair if process.stdout]
            heard = [word for *words, _ in said for word in words]
            counts["overspent"] += len(heard) > units
            ends = {words[-1] for words in said}
            counts["stuck"] += "LedgerBusyError" in ends
            counts["corrupt"] += bool(ends - {"refused", "LedgerBusyError"})
            try:
                ledger.verify()
                counts["lost"] += not set(heard) <= set(heads(ledger))
            except LedgerError:
                counts["corrupt"] += 1
    return counts


@pytest.mark.parametrize("rounds", [30, pytest.param(300, marks=pytest.mark.long)])
def test_a_thread_that_reads_the_file_opens_no_gap(tmp_path: Path, rounds: int) -> None:
    counts = faults(tmp_path, rounds=rounds)
    assert counts == {"overspent": 0, "lost": 0, "corrupt": 0, "stuck": 0}
