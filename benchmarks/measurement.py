"""Wall time of one solver on one problem, in a process of its own that can be stopped.

A solver is a function ``prepare(problem) -> run``. The child process imports it, prepares and runs
a small problem (imports, compilation and first-call costs stay outside the measurement), prepares
the real one and then times ``run()`` several times. A child that passes its time limit is killed;
the limit is then a lower bound on its time. One child runs at a time.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

#: Seconds for imports, compilation and the preparation of a problem.
PREPARATION = 150.0
#: No run is repeated once this many seconds have been measured.
ENOUGH = 2.0

Prepare = Callable[[Any], Callable[[], Any]]


@dataclass(slots=True)
class Measured:
    """Times of a solver and its last answer; status "ok", or why there is none."""

    times: list[float] = field(default_factory=list)
    answer: Any = None
    status: str = "ok"
    peak_gib: float = 0.0
    warm_up: float = 0.0
    limit: float = 0.0

    @property
    def seconds(self) -> float | None:
        """The shortest time; the limit when it was passed; None without either."""
        if self.times:
            return min(self.times)
        return self.limit if self.status == "time limit" else None

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


def measure(
    prepare: Prepare,
    problem: Any,
    *,
    small: Any,
    limit: float,
    clock: Clock,
    repeats: int = 5,
    enough: float = ENOUGH,
) -> Measured:
    """Time ``prepare(problem)()`` in a child process."""
    found = Measured(limit=min(limit, clock.left()))
    if found.limit < 1.0:
        found.status = "skipped, the suite was out of time"
        return found
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    job = (theirs, prepare, problem, small, repeats, enough)
    child = context.Process(target=_child, args=job, daemon=True)
    child.start()
    theirs.close()
    try:
        _collect(ours, found, clock)
    finally:
        child.kill()
        child.join()
    return found


def _collect(connection: Any, found: Measured, clock: Clock) -> None:
    """Take the child's messages until it is done or late."""
    patience = min(PREPARATION, clock.left())
    spent = 0.0
    while True:
        try:
            if not connection.poll(max(patience, 0.0)):
                found.status = "ok" if found.times else "time limit"
                if not found.warm_up:
                    found.status = "preparation took too long"
                return
            kind, content = connection.recv()
        except EOFError:
            found.status = "ok" if found.times else "failed: the process died"
            return
        if kind == "ready":
            found.warm_up = content
        elif kind == "time":
            seconds, found.answer, found.peak_gib = content
            found.times.append(seconds)
            spent += seconds
        else:
            found.status = content
            return
        patience = min(found.limit - spent, clock.left()) if found.times else found.limit


def _child(
    connection: Any, prepare: Prepare, problem: Any, small: Any, repeats: int, enough: float
) -> None:
    try:
        begin = time.perf_counter()
        prepare(small)()
        warm_up = time.perf_counter() - begin
        run = prepare(problem)
        connection.send(("ready", warm_up))
        total = 0.0
        for _ in range(repeats):
            begin = time.perf_counter()
            answer = run()
            seconds = time.perf_counter() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            connection.send(("time", (seconds, answer, peak)))
            total += seconds
            if total > enough:
                break
        connection.send(("status", "ok"))
    except ImportError as error:
        connection.send(("status", f"not installed: {error.name or error}"))
    except Exception as error:
        connection.send(("status", f"failed: {type(error).__name__}"))
