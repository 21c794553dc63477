"""What options may be: whole numbers in a range, and folders that can be written."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dp_cmdp.errors import InvalidArgumentError


def at_least(low: int) -> Callable[[str], int]:
    """Type of an option: an integer that is not below `low`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(f"must be an integer ≥ {low}, got {text[:40]!r}")
        return number

    return read


@contextmanager
def writable_folder(path: Path, *files: str) -> Iterator[Path]:
    """The folder, made and tried before any work; what stayed empty of it goes when that fails.

    `files` are the names to be written into it later; a folder of such a name is refused now.
    """
    made = [part for part in (path, *path.parents) if not part.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as error:
            raise InvalidArgumentError(
                f"--out must name a folder that can be written; {path} cannot "
                f"({error.strerror or type(error).__name__})"
            ) from None
        for name in files:
            if (path / name).is_dir():
                raise InvalidArgumentError(
                    f"--out {path} has a folder called {name}, where a file of that name is to be "
                    "written; move it away or name another folder"
                )
        yield path
    except BaseException:
        with suppress(OSError):
            for part in made:
                part.rmdir()
        raise
