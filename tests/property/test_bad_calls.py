"""Bad arguments are refused by name, before anything is read or spent.

Every public callable (:mod:`tests.doors`), with one argument of a call that it takes replaced by
every awkward value (:mod:`tests.awkward`): only errors of the package may come out, without a
private number in text, arguments, attributes, cause or context, in a few seconds and in bounded
memory; and when an argument was at fault the database was not read and the ledger not debited.
The default run takes a sample by structure, ``pytest -m long`` all of it.
"""

import resource
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from dp_cmdp.errors import DPCMDPError, InvalidArgumentError
from tests.awkward import CATALOGUE
from tests.doors import Door, SpyDatabase, SpyLedger, World, base_calls, opened
from tests.marked import leaks_from_error

#: Nothing may take longer, and no call more memory than this beyond what is in use.
SECONDS = 5.0
MEMORY_BYTES = 4 * 2**30
#: Awkward values that every parameter meets in the default run; all of them meet some parameter.
SAMPLE = 4


class Hung(BaseException):
    """The call took longer than it may; no handler of errors catches it."""


@contextmanager
def limits(seconds: float = SECONDS) -> Iterator[None]:
    """Interrupt what takes too long, refuse memory that nobody should ask for."""

    def interrupt(*_: Any) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def _quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts taken for paths write here; warnings are not errors in this file."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def objection(door: Door, world: World, base: int, name: str, value: str) -> str | None:
    """What is wrong with one call, or None. It may be refused by name or, by luck, valid."""
    call = opened(door, world)
    arguments = base_calls(door, world)[base] | {name: CATALOGUE[value]()}
    SpyDatabase.reads = SpyLedger.debits = 0
    start = monotonic()
    found: str | None = None
    try:
        with limits():
            call(**arguments)
    except Hung:
        found = f"took more than {SECONDS:g} s"
    except DPCMDPError as error:
        found = _flaw(error)
    except Exception as error:
        found = f"{type(error).__name__}: {str(error)[:100]}"
    if found is None and monotonic() - start > SECONDS:
        found = f"took {monotonic() - start:.1f} s"
    return None if found is None else f"{door.name}({name}={value}) [{base}] {found}"


def _flaw(error: DPCMDPError) -> str | None:
    """What a named error does wrong."""
    if not str(error).strip():
        return "empty message"
    shown = leaks_from_error(error)
    if shown:
        return f"shows a private number: {shown}"
    if isinstance(error, InvalidArgumentError) and (SpyDatabase.reads or SpyLedger.debits):
        return f"read {SpyDatabase.reads}, debited {SpyLedger.debits} before: {error}"
    return None


def replaced(door: Door) -> list[str]:
    """Names of the parameters of a door that can be replaced by name."""
    return [
        parameter.name
        for parameter in door.parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
