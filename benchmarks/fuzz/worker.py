"""Problems one after the other, in a process that can be stopped, into a file that grows."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.families import FAMILIES
from benchmarks.fuzz.check import Verdict, check
from benchmarks.records import resumed_lines

#: Seconds for a problem: the exact optimum of one among 50,000 takes 50 s on a free core.
LIMIT = 300.0
#: Of so many problems, one is large.
LARGE = 5


def keys(number: int) -> Iterator[str]:
    """The first keys: the families take turns, and every fifth round is of large models."""
    for k in range(number):
        turn, place = divmod(k, len(FAMILIES))
        tier = "large" if turn % LARGE == LARGE - 1 else "small"
        yield f"{tier}/{list(FAMILIES)[place]}/{turn}"


class Worker:
    """A process that checks problems; one that is late is ended and replaced."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        self.ours, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def check(self, key: str, limit: float) -> dict[str, Any]:
        self.ours.send(key)
        fault = f"more than {limit:g} s"
        try:
            if self.ours.poll(limit):
                return self.ours.recv()
        except (EOFError, ConnectionResetError):
            fault = "the process died"
        self.stop()
        self.start()
        return failed(key, fault)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def failed(key: str, fault: str) -> dict[str, Any]:
    """The line of a problem whose check did not end."""
    return Verdict(key, "", [fault], [], 0, 0.0).line


def _serve(connection: Any) -> None:
    while True:
        try:
            key = connection.recv()
        except EOFError:
            return
        try:
            connection.send(check(key).line)
        except Exception as error:
            connection.send(failed(key, f"{type(error).__name__}: {str(error)[:200]}"))


def run(
    number: int, path: Path, *, limit: float = LIMIT, quiet: bool = False
) -> list[dict[str, Any]]:
    """Check the first problems; those that the file holds already are not checked again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = resumed_lines(path) if path.exists() else []
    done = {line["key"] for line in lines}
    wanted = [key for key in keys(number) if key not in done]
    worker = Worker()
    try:
        with path.open("a", encoding="utf-8") as file:
            for key in tqdm(wanted, initial=number - len(wanted), total=number, disable=quiet):
                line = worker.check(key, limit)
                file.write(json.dumps(line) + "\n")
                file.flush()
                lines.append(line)
                if (said := line["faults"] + line["unanswered"]) and not quiet:
                    tqdm.write(f"{key}  {line['words']}: {'; '.join(said)}")
    finally:
        worker.stop()
    return lines
