"""What a debit has paid for is not lost: whatever goes wrong later carries the release.

A release is public, so an exception may hold it: ``error.release``. From it an answer can be found
again without spending anything. Control-C is held back while noise is drawn, because a release that
is half drawn could be neither published nor paid for once more.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dp_cmdp.data.release import Release

#: What takes a release as soon as there is one, for example to write it to a disk.
Keep = Callable[[Release], object]

NOTE = (
    "the release that was paid for is not lost: it is this exception's attribute `release`; save "
    "it with error.release.save(path), and answer from it again without spending anything"
)


@contextmanager
def carrying(release: Release) -> Iterator[None]:
    """Whatever is raised within, Control-C too, carries the release.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    try:
        yield
    except BaseException as error:
        carry(error, release)
        raise


def carry(error: BaseException, release: Release) -> None:
    """Let an exception carry a release, unless it carries one, which says no less."""
    if carried(error) is None:
        with suppress(AttributeError, TypeError):  # of a class that takes no attributes
            error.release = release  # pyright: ignore[reportAttributeAccessIssue]
            error.add_note(NOTE)


def carried(error: BaseException) -> Release | None:
    """The release that an exception carries."""
    found = vars(error).get("release") if hasattr(error, "__dict__") else None
    return found if isinstance(found, Release) else None


def handed_on(error: BaseException, other: BaseException) -> BaseException:
    """`other`, which is raised in place of `error`, with the release that this carries."""
    release = carried(error)
    if release is not None:
        carry(other, release)
    return other


def finished(draw: Callable[[], Release]) -> Release:
    """What `draw` returns; Control-C that comes meanwhile is raised then, with the release."""
    usual: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        return draw()
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *what: pressed.append(what))
    try:
        release = draw()
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        with carrying(release):
            usual(*pressed[0])
    return release
