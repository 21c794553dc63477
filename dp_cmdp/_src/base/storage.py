"""Files: written atomically, and texts read within limits, refused with a reason when damaged."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError

#: Texts beyond this many bytes are not read: no layout is near it.
LARGEST_TEXT = 1 << 24


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> Path:
    """Write `content` so that `path` holds either all of it or what it held before.

    Who may read the file is up to the umask, as for any other; a `private` one only its owner.
    """
    target = check.path("path", path)
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


def check_is_file(path: str | Path, kind: str) -> Path:
    """The path, if it names a file."""
    source = check.path("path", path)
    if source.is_dir():
        raise InvalidArgumentError(f"path must name a {kind} file; {source} is a folder")
    if not source.is_file():
        raise InvalidArgumentError(f"path must name an existing file; {source} does not exist")
    return source


def read_text(path: str | Path, *, largest: int = LARGEST_TEXT) -> str:
    """The text of a UTF-8 file of at most `largest` bytes; a longer one is not read.

    OSError and ValueError are Python's own; their texts quote no content.
    """
    with Path(path).open("rb") as stream:
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise InvalidArgumentError(f"{Path(path).name} must hold at most {largest} bytes")
    return content.decode()


def parse_json(text: str) -> Any:
    """What a JSON text says: no key twice in an object, no NaN or infinity, no endless nesting.

    Refused without quoting the text.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
    except RecursionError:
        where = "it is nested too deeply"
    except ValueError as error:  # a key twice, NaN, an integer of thousands of digits
        where = str(error) if isinstance(error, InvalidArgumentError) else "a number is too long"
    raise InvalidArgumentError(where)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise InvalidArgumentError("an object says something twice")
    return content


def _no_constant(name: str) -> Any:
    raise InvalidArgumentError("NaN and infinities are no JSON")
