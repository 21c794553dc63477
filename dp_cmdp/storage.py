"""Files: written atomically, read without pickle, refused with a reason when damaged."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp.errors import InvalidArgumentError


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> Path:
    """Write `content` so that `path` holds either all of it or what it held before.

    Who may read the file is up to the umask, as for any other; a `private` one only its owner.
    """
    target = _check.path("path", path)
    if target.is_dir():
        raise InvalidArgumentError(f"path must name a file; {target} is a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}"
    mode = 0o600 if private else 0o666
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return target


def write_text(path: str | Path, content: str) -> Path:
    """Text version of :func:`write_bytes` (UTF-8)."""
    return write_bytes(path, content.encode())


def write_npz(path: str | Path, format: str, /, **arrays: Any) -> Path:
    """Write named arrays with a format tag to an ``.npz`` file, atomically."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=np.array(format), **arrays)
    return write_bytes(path, buffer.getvalue())


def read_npz(path: str | Path, format: str, names: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Read the named arrays of an ``.npz`` file; never unpickles anything.

    A damaged archive makes zip, zlib and numpy raise almost anything; all of it means "damaged".
    """
    source = _check.path("path", path)
    if source.is_dir():
        raise InvalidArgumentError(f"path must name a {format} file; {source} is a folder")
    if not source.is_file():
        raise InvalidArgumentError(f"path must name an existing file; {source} does not exist")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except Exception as error:
        raise InvalidArgumentError(
            f"path must name a {format} file; {source} is damaged or of another kind "
            f"({type(error).__name__})"
        ) from None
    said = str(found.get("format", "nothing"))
    if said != format:
        raise InvalidArgumentError(f"path must name a {format} file; {source} says {said[:60]!r}")
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidArgumentError(f"{source} lacks {', '.join(missing)}; write it again")
    return found
