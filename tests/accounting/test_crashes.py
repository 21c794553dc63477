"""Real processes: killed with SIGKILL while they debit, and racing for the last unit.

A kill proves that no acknowledged debit is lost and none is halved when a *process* dies; the
loss of power is answered by ``synchronous = EXTRA``, which no test here can exercise.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dp_cmdp import PrivacyLedger

UNIT = Fraction(1, 7000)

PRELUDE = """
import sys
from dp_cmdp import PrivacyBudget, PrivacyLedger
from dp_cmdp.errors import BudgetExceededError
unit = PrivacyBudget("1/7000", "1/7000")
print("ready", flush=True)
"""

#: Debits without pause, saying so after each; ends when the budget does.
SPENDER = (
    PRELUDE
    + """
ledger = PrivacyLedger(sys.argv[1], "x")
try:
    while True:
        print(ledger.debit(unit, note=sys.argv[2]), flush=True)
except BudgetExceededError:
    print("empty", flush=True)
    sys.stdin.read()
"""
)

#: Tries once for each ledger named on its standard input.
RACER = (
    PRELUDE
    + """
for line in sys.stdin:
    try:
        PrivacyLedger(line.strip(), "x").debit(unit)
        print("won", flush=True)
    except BudgetExceededError:
        print("refused", flush=True)
"""
)

#: Debits once.
SINGLE = (
    PRELUDE
    + """
print(PrivacyLedger(sys.argv[1], "x").debit(unit), flush=True)
"""
)

#: Makes a ledger file from nothing.
FOUNDER = (
    PRELUDE
    + """
ledger = PrivacyLedger.create(sys.argv[1], "x", epsilon="1/70", delta="1/70")
print(ledger.head, flush=True)
sys.stdin.read()
"""
)


@contextmanager
def child(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A ready child process, surely dead afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def killed(script: str, path: Path, *, label: str, after: int, wait: float) -> list[str]:
    """Kill a child `wait` seconds after its first `after` lines; return all that it said."""
    with child(script, str(path), label) as process:
        assert process.stdout is not None
        said: list[str] = []
        while len(said) < after and "empty" not in said:
            said.append(process.stdout.readline().strip())
        time.sleep(wait)
        process.kill()
        *whole, _torn = process.stdout.read().split("\n")  # a line counts once it is finished
        return said + whole


def created(path: Path, units: int = 100) -> PrivacyLedger:
    return PrivacyLedger.create(path, "x", epsilon=units * UNIT, delta=units * UNIT)


def heads(ledger: PrivacyLedger) -> list[str]:
    """What each debit of the ledger was acknowledged with."""
    return [f"{entry.index}:{entry.hash}" for entry in ledger.entries()]


def crash_course(folder: Path, *, lane: int, rounds: int) -> dict[str, int]:
    """Kill one of two concurrent spenders after the other, checking the ledger each time."""
    rng, counts = random.Random(lane), {"kills": 0, "acknowledged": 0, "unheard": 0, "ledgers": 0}
    ledger, history, heard = None, [], set[str]()
    for turn in range(rounds):
        if ledger is None or ledger.remaining.epsilon < 30 * UNIT:
            counts["unheard"] += len(history) - len(heard)
            counts["ledgers"] += 1
            ledger, history, heard = created(folder / f"{lane}-{turn}.db"), [], set[str]()
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                pool.submit(
                    killed,
                    SPENDER,
                    ledger.path,
                    label=f"{turn}.{i}",
                    after=rng.randrange(4),
                    wait=rng.uniform(0, 0.03),
                )
                for i in range(2)
            ]
            said = [line for job in jobs for line in job.result() if line != "empty"]
        counts["kills"] += 2
        counts["acknowledged"] += len(said)
        heard.update(said)
        pin = ledger.verify().head
        entries = ledger.entries()
        assert entries[: len(history)] == history
        assert heard <= set(heads(ledger))
        assert ledger.spent.epsilon == len(entries) * UNIT <= ledger.total.epsilon
        history = entries
        assert ledger.verify(pin).pinned
    counts["unheard"] += len(history) - len(heard)
    return counts


def assert_nothing_acknowledged_is_lost(folder: Path, *, lanes: int, rounds: int) -> None:
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(crash_course, folder, lane=lane, rounds=rounds) for lane in range(lanes)
        ]
        results = [job.result() for job in jobs]
    counts = {name: sum(result[name] for result in results) for name in results[0]}
    print(counts)
    assert counts["kills"] == 2 * lanes * rounds
    assert counts["acknowledged"] > counts["kills"]


def test_no_acknowledged_debit_is_lost_in_20_kills(tmp_path: Path) -> None:
    assert_nothing_acknowledged_is_lost(tmp_path, lanes=2, rounds=5)


@pytest.mark.long
def test_no_acknowledged_debit_is_lost_in_2000_kills(tmp_path: Path) -> None:
    assert_nothing_acknowledged_is_lost(tmp_path, lanes=10, rounds=100)


def test_a_kill_while_the_file_is_made_leaves_a_whole_ledger_or_none(tmp_path: Path) -> None:
    rng = random.Random(7)
    for turn in range(5):
        path = tmp_path / f"{turn}.db"
        said = killed(FOUNDER, path, label="", after=0, wait=rng.uniform(0, 0.02))
        ledger = created(path)
        assert [str(ledger.head)] == said or not said
        assert ledger.verify().head.count == 1
        assert ledger.total.epsilon == 100 * UNIT


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace places the kills")
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlink"])
def test_a_kill_before_each_single_write_leaves_a_whole_debit_or_none(
    tmp_path: Path, call: str
) -> None:
    ledger = created(tmp_path / "ledger.db")
    survived, kills = False, 0
    while not survived:
        before = ledger.entries()
        inject = f"inject={call}:signal=KILL:when={kills + 1}"
        command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
        done = subprocess.run(
            [*command, sys.executable, "-W", "ignore", "-c", SINGLE, str(ledger.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.splitlines()
        assert said[0] == "ready"
        ledger.verify()
        entries = ledger.entries()
        assert entries[: len(before)] == before
        assert len(entries) - len(before) in (0, 1)
        survived = len(said) == 2
        if survived:
            assert said[1] == heads(ledger)[-1]
        else:
            kills += 1
    assert kills > 0


def race(folder: Path, *, rounds: int, racers: int) -> None:
    """In each round every racer is told to debit the only unit of a new ledger."""
    with ExitStack() as stack:
        crowd = [stack.enter_context(child(RACER, str(folder / "x.db"))) for _ in range(racers)]
        for turn in range(rounds):
            ledger = created(folder / f"{turn}.db", 1)
            for process in crowd:
                assert process.stdin is not None
                process.stdin.write(f"{ledger.path}\n")
                process.stdin.flush()
            answers = [process.stdout.readline().strip() for process in crowd if process.stdout]
            assert sorted(answers) == ["refused"] * (racers - 1) + ["won"]
            assert [balance.debits for balance in ledger.verify().balances] == [1]


def test_of_several_processes_exactly_one_gets_the_last_unit(tmp_path: Path) -> None:
    race(tmp_path, rounds=40, racers=3)


@pytest.mark.long
def test_of_many_processes_exactly_one_gets_the_last_unit_often(tmp_path: Path) -> None:
    race(tmp_path, rounds=500, racers=4)
