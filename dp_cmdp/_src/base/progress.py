"""What is under way, on a terminal only: a bar for many steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Event, Thread
from typing import Any, TypeVar

Step = TypeVar("Step")
#: Seconds before a bar appears, and between its signs of life where a step takes long.
PATIENCE = 0.5


def with_bar(
    steps: Iterable[Step], progress: bool, *, total: int | None, name: str
) -> Iterable[Step]:
    """The steps themselves, under a bar of that name if `progress` and it takes long."""
    if not progress:
        return steps
    from tqdm import tqdm

    form = "{desc} … {elapsed}" if total == 1 else None
    bar = tqdm(steps, name, total, leave=False, delay=PATIENCE, disable=None, bar_format=form)
    return steps if bar.disable else _alive(bar)


def _alive(bar: Any) -> Iterator[Any]:
    """The steps of a bar whose clock goes on while a step takes long."""
    done = Event()

    def tick() -> None:
        while not done.wait(max(PATIENCE, 0.1)):
            bar.refresh()

    clock = Thread(target=tick, name="progress", daemon=True)
    clock.start()
    try:
        yield from bar
    finally:
        done.set()
        clock.join()
        bar.close()
