"""One at a time: an advisory lock on a file beside the ledger, ``<ledger>.lock``.

SQLite locks its file with POSIX locks, and closing *any* descriptor of a file drops all POSIX locks
the process holds on it: a thread that reads the ledger's bytes lets a second process in. ``flock``
belongs to one open of the file. Every use opens the lock file anew, so that threads exclude each
other as processes do, and nothing that happens to the ledger file touches the lock.

Without ``fcntl`` (Windows) there is no lock here: locks belong to one open of a file there, so
that SQLite's own cannot be dropped by a reader.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from dp_cmdp._src.base.errors import LedgerBusyError, LedgerError

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None

#: Seconds between two attempts: short beside a debit's few milliseconds, then longer.
FIRST_PAUSE, LONGEST_PAUSE = 0.0005, 0.01

#: Descriptors of locks held now; a forked child closes them, or it would keep the lock of a parent
#: that is killed.
_open: set[int] = set()


def lock_path(path: Path) -> Path:
    """The lock file of a ledger: it holds nothing, and stays."""
    return path.with_name(path.name + ".lock")


@contextmanager
def exclusive(path: Path, *, deadline: float, write: bool) -> Generator[bool, None, None]:
    """Keep every other thread and process that asks for it out of the ledger at `path`, whose
    symbolic links are resolved: two names of one file need one lock.

    Yields False to a reader who may neither make nor open the lock file: it must open the ledger
    read-only, so that it cannot take a writer's journal for one that a crash left behind.
    """
    handle = None if fcntl is None else _acquired(path, deadline=deadline, write=write)
    try:
        yield fcntl is None or handle is not None
    finally:
        if handle is not None:
            _release(handle)


def _acquired(path: Path, *, deadline: float, write: bool) -> int | None:
    pause = FIRST_PAUSE
    while True:
        handle = _opened(path, write=write)
        if handle is None:
            return None
        try:
            if _locked(handle, path):
                with suppress(FileNotFoundError):  # removed or replaced before it was locked
                    if os.path.samestat(os.fstat(handle), lock_path(path).stat()):
                        return handle
        except BaseException:
            _release(handle)
            raise
        _release(handle)
        if time.monotonic() >= deadline:
            raise LedgerBusyError(
                f"{path} is locked by another process or thread: nothing was recorded; "
                "try again or raise timeout_seconds"
            )
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(2 * pause, LONGEST_PAUSE)


def _opened(path: Path, *, write: bool) -> int | None:
    """A new descriptor of the lock file, made if need be; None for a reader who may not."""
    lock = lock_path(path)
    # a pipe must not block the open, a link must not lead it elsewhere
    flags = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = _made_or_open(lock, path, flags)
    except OSError as error:
        denied = (errno.EACCES, errno.EPERM, errno.EROFS)
        if not write and error.errno in denied:
            return None
        raise LedgerError(
            f"{lock} cannot be opened or written ({error.strerror}): check that the folder exists, "
            "that you may write it, and that nothing else bears this name"
        ) from None
    _open.add(handle)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    _release(handle)
    raise LedgerError(f"{lock} is something else than the lock file of {path}; move it away")


def _made_or_open(lock: Path, path: Path, flags: int) -> int:
    """The lock file, to be opened by whoever may open the ledger."""
    try:
        return os.open(lock, os.O_RDWR | flags)
    except FileNotFoundError:
        pass
    except PermissionError:
        return os.open(lock, os.O_RDONLY | flags)
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
    except FileExistsError:  # another process was faster
        return os.open(lock, os.O_RDONLY | flags)
    with suppress(OSError):
        os.fchmod(handle, stat.S_IMODE(path.stat().st_mode) & 0o666)
    return handle


def _locked(handle: int, path: Path) -> bool:
    assert fcntl is not None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise LedgerError(
            f"{lock_path(path)} cannot be locked ({error.strerror}): keep the ledger on a local "
            "file system"
        ) from None
    return True


def _release(handle: int) -> None:
    """Unlock, then close: a copy of the descriptor in a forked child must not keep the lock."""
    _open.discard(handle)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_UN)
    except OSError:
        pass
    finally:
        os.close(handle)


def _close_inherited() -> None:
    for handle in tuple(_open):
        os.close(handle)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
