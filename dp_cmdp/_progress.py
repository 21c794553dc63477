"""A bar for what takes long: it appears after two seconds, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Step = TypeVar("Step")
#: Seconds before a bar appears.
PATIENCE = 2.0


def with_bar(steps: Iterable[Step], progress: bool, *, total: int, name: str) -> Iterable[Step]:
    """The steps themselves, under a bar of that name if `progress` and it takes long."""
    if not progress:
        return steps
    from tqdm import tqdm

    return tqdm(steps, desc=name, total=total, delay=PATIENCE, leave=False, disable=None)
