"""Processor time of a solver, in a process of its own that can be stopped.

A solver is a function ``prepare(problem) -> run``. The child process imports it, prepares and runs
a small problem (imports, compilation and first-call costs stay outside the measurement), then for
each problem prepares it and times ``run()`` several times. Times and limits are processor seconds
of all its threads together, which other work on the machine hardly lengthens. A child that passes
its limit is killed; the limit is then a lower bound on its time. One child runs at a time.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

#: Seconds for imports, compilation and the preparation of a problem.
PREPARATION = 150.0
#: No run is repeated once this many seconds have been measured.
ENOUGH = 2.0
#: Seconds between two looks at a child's processor time.
LOOK = 0.5

Prepare = Callable[[Any], Callable[[], Any]]


@dataclass(slots=True)
class Measured:
    """Times of a solver and its last answer; status "ok", or why there is none."""

    times: list[float] = field(default_factory=list)
    clock_times: list[float] = field(default_factory=list)
    answer: Any = None
    status: str = "ok"
    peak_gib: float = 0.0
    limit: float = 0.0

    @property
    def seconds(self) -> float | None:
        """The shortest time; the limit when it was passed; None without either."""
        if self.times:
            return min(self.times)
        return self.limit if self.status == "time limit" else None

    @property
    def clock_seconds(self) -> float | None:
        """The shortest time by the clock, which other work lengthens and threads shorten."""
        return min(self.clock_times) if self.clock_times else None

    @property
    def typical(self) -> float | None:
        """The median time."""
        return median(self.times) if self.times else self.seconds


class Clock:
    """Seconds left for the whole suite; no limit by default."""

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float:
        return float("inf") if self.end is None else self.end - time.monotonic()


class Child:
    """A process with one solver, for any number of problems; started when it is first needed."""

    def __init__(self, prepare: Prepare, *, small: Any, preparation: float = PREPARATION) -> None:
        self.prepare, self.small, self.preparation = prepare, small, preparation
        self.context = multiprocessing.get_context("spawn")
        self.process: Any = None

    def measure(
        self, problem: Any, *, limit: float, clock: Clock, repeats: int = 5, enough: float = ENOUGH
    ) -> Measured:
        """Time ``prepare(problem)()``; a child that is late or broken is ended."""
        found = Measured(limit=min(limit, clock.left()))
        if clock.left() < 1.0:
            found.status = "skipped, the suite was out of time"
            return found
        patience = min(self.preparation, clock.left())
        try:
            if self.process is None:
                self._start()
                self._expect(found, patience)
            if found.status == "ok":
                self.connection.send((problem, repeats, enough))
                self._collect(found, clock, patience)
        except (EOFError, ConnectionError):
            found.status = "ok" if found.times else "failed: the process died"
            self.stop()
        return found

    def _start(self) -> None:
        self.connection, theirs = self.context.Pipe()
        job = (theirs, self.prepare, self.small)
        self.process = self.context.Process(target=_serve, args=job, daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _expect(self, found: Measured, patience: float) -> None:
        """Wait until the child is ready for the next step."""
        if not self.connection.poll(max(patience, 0.0)):
            found.status = "preparation took too long"
        else:
            kind, content = self.connection.recv()
            if kind == "status":
                found.status = content
        if found.status != "ok":
            self.stop()

    def _collect(self, found: Measured, clock: Clock, patience: float) -> None:
        """Take the child's messages until it is done or late."""
        self._expect(found, patience)
        begin, stopped = processor_time(self.process), False
        while self.process is not None:
            if not self.connection.poll(max(min(LOOK, clock.left()), 0.0)):
                spent = processor_time(self.process) - begin
                if spent > found.limit or clock.left() <= 0.0:
                    found.status = "ok" if found.times else "time limit"
                    found.limit = spent
                    self.stop()
                continue
            kind, content = self.connection.recv()
            if kind == "late":
                stopped, found.limit = True, content
            elif kind == "status":
                late = stopped and not found.times
                found.status = "time limit" if late else content
                return
            else:
                seconds, by_the_clock, found.answer, found.peak_gib = content
                found.times.append(seconds)
                found.clock_times.append(by_the_clock)


def processor_time(process: Any) -> float:
    """Seconds that a process has had; where the system does not tell, those on the clock."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, AttributeError):
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    prepare: Prepare,
    problem: Any,
    *,
    small: Any,
    limit: float,
    clock: Clock,
    repeats: int = 5,
    enough: float = ENOUGH,
    preparation: float = PREPARATION,
) -> Measured:
    """Time ``prepare(problem)()`` in a new child process."""
    child = Child(prepare, small=small, preparation=preparation)
    try:
        return child.measure(problem, limit=limit, clock=clock, repeats=repeats, enough=enough)
    finally:
        child.stop()


def _serve(connection: Any, prepare: Prepare, small: Any) -> None:
    """The child: warm up, then serve problems until the parent is gone."""
    if not _guarded(connection, lambda: prepare(small)()):
        return
    connection.send(("ready", None))
    while True:
        try:
            problem, repeats, enough = connection.recv()
        except EOFError:
            return
        if _guarded(
            connection, lambda p=problem, r=repeats, e=enough: _times(connection, prepare, p, r, e)
        ):
            connection.send(("status", "ok"))


def _times(connection: Any, prepare: Prepare, problem: Any, repeats: int, enough: float) -> None:
    run, total = prepare(problem), 0.0
    connection.send(("ready", None))
    for _ in range(repeats):
        begin, clock_begin = time.process_time(), time.perf_counter()
        try:
            answer = run()
        except TimeoutError:  # of a solver that keeps a time limit itself
            connection.send(("late", time.process_time() - begin))
            break
        seconds, by_the_clock = time.process_time() - begin, time.perf_counter() - clock_begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        connection.send(("time", (seconds, by_the_clock, answer, peak)))
        total += seconds
        if total > enough:
            break


def _guarded(connection: Any, work: Callable[[], object]) -> bool:
    """Whether the work was done; otherwise the parent is told why not."""
    try:
        work()
    except ImportError as error:
        connection.send(("status", f"not installed: {error.name or error}"))
        return False
    except Exception as error:
        connection.send(("status", f"failed: {type(error).__name__}"))
        return False
    return True
