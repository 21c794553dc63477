"""Files: written atomically, read without pickle, refused with a reason when damaged."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp.errors import InvalidArgumentError


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` so that `path` holds either all of it or what it held before."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
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
    """Read the named arrays of an ``.npz`` file; never unpickles anything."""
    source = Path(path)
    if not source.is_file():
        raise InvalidArgumentError(f"path must name an existing file; {source} does not exist")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError, AttributeError) as error:
        raise InvalidArgumentError(
            f"path must name a {format} file; {source} is damaged or of another kind "
            f"({type(error).__name__})"
        ) from None
    if str(found.get("format", "")) != format:
        raise InvalidArgumentError(
            f"path must name a {format} file; {source} says {str(found.get('format', 'nothing'))!r}"
        )
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidArgumentError(f"{source} lacks {', '.join(missing)}; write it again")
    return found
