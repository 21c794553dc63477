"""A copy of the repository in which one fault at a time is tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tqdm import tqdm

from tests.mutants.fault import Fault

#: What is not copied: history, environments, what was written, caches of tools.
LEFT_OUT = {".git", ".venv", "out", "dist", ".pytest_cache", ".ruff_cache", ".hypothesis"}
#: Beyond these a fault's own tests (some seconds) or all default tests (some minutes) hang.
OWN_SECONDS, ALL_SECONDS = 300, 3600
#: pytest found no tests, or was stopped from outside.
NO_VERDICT = (5, -2, -9, -15)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What pytest said: whether all tests passed and, if not, the first that did not."""

    passed: bool
    test: str


class RedTestsError(Exception):
    """Tests fail without a fault, so they cannot judge any."""


class Workshops:
    """Several copies of the tree, thrown away at the end; the working tree is never touched."""

    def __init__(self, count: int, *, root: Path, deselected: Sequence[str] = ()) -> None:
        self._count, self._root, self._deselected = count, root, tuple(deselected)
        self._stack = ExitStack()
        self._free: SimpleQueue[Workshop] = SimpleQueue()

    def __enter__(self) -> Workshops:
        for _ in range(self._count):
            folder = self._stack.enter_context(tempfile.TemporaryDirectory("-mutants"))
            self._free.put(Workshop(self._root, Path(folder), deselected=self._deselected))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def each(
        self,
        faults: Sequence[Fault],
        tests: Callable[[Fault], Sequence[str]],
        *,
        before: Sequence[str],
        seconds: float,
    ) -> Iterator[tuple[Fault, Outcome]]:
        """Every fault with what its tests said, in order; first the tests `before` without any."""
        if not faults:
            return
        self._check(before)

        def attempt(fault: Fault) -> Outcome:
            workshop = self._free.get()
            try:
                return workshop.with_fault(fault, tests(fault), seconds=seconds)
            finally:
                self._free.put(workshop)

        with ThreadPoolExecutor(self._count) as pool:
            outcomes = tqdm(pool.map(attempt, faults), total=len(faults), unit="fault")
            yield from zip(faults, outcomes, strict=True)

    def _check(self, tests: Sequence[str]) -> None:
        workshop = self._free.get()
        outcome = workshop.run(tests, seconds=ALL_SECONDS)
        self._free.put(workshop)
        if not outcome.passed:
            raise RedTestsError(outcome.test)


class Workshop:
    """One copy, made in an empty folder."""

    def __init__(self, root: Path, folder: Path, *, deselected: Sequence[str] = ()) -> None:
        self.folder = folder
        self._deselected = tuple(f"--deselect={test}" for test in deselected)
        # bytecode too: dates are kept, so it stays valid
        shutil.copytree(root, folder, symlinks=True, ignore=_left_out, dirs_exist_ok=True)

    def with_fault(self, fault: Fault, tests: Sequence[str], *, seconds: float) -> Outcome:
        """Run tests with the fault in place."""
        target = self.folder / fault.path
        original, dates = target.read_text(encoding="utf-8"), target.stat()
        self._replace(target, fault.put_into(original))
        try:
            return self.run(tests, seconds=seconds)
        finally:
            self._replace(target, original)
            os.utime(target, ns=(dates.st_atime_ns, dates.st_mtime_ns))

    @staticmethod
    def _replace(target: Path, content: str) -> None:
        """New content; bytecode is told apart by seconds and size only, so it goes."""
        target.write_text(content, encoding="utf-8")
        if target.suffix == ".c":
            subprocess.run([sys.executable, target.parent / "build.py"], check=True)
        for cached in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            cached.unlink()

    def run(self, tests: Sequence[str], *, seconds: float) -> Outcome:
        """Run tests in the copy until one fails."""
        options = ("-q", "-x", "--tb=no", "-rfE", "-p", "no:xdist", "-p", "no:cacheprovider")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *self._deselected, *tests],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(self.folder)},
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(False, "no end")
        if done.returncode == 0:
            return Outcome(True, "")
        if done.returncode in NO_VERDICT:
            raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-300:]}")
        return Outcome(
            False, _first_failure(done.stdout) or done.stdout[-300:] + done.stderr[-300:]
        )


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Besides :data:`LEFT_OUT` this list of faults, whose test sees every one of them."""
    own = {Path(__file__).parent.name} if Path(folder).name == "tests" else set()
    return (LEFT_OUT | own) & set(names)


def _first_failure(report: str) -> str:
    for line in report.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return ""
