"""Public files: facts and arrays under one format and one SHA-256, judged before they are read.

A document is an ``.npz`` archive with the members ``format``, ``facts`` (JSON), ``digest`` and the
arrays. Whoever reads one names the arrays it expects; every header is compared with the size of its
member, and all sizes together with the size of the file, before any data is unpacked. Nothing is
ever unpickled.

The *digest* is the SHA-256 of the canonical content: format, facts as canonical JSON, and name,
type, shape and bytes of every array. It names a document in other documents. It finds damage and
careless edits; who edits on purpose can compute it anew, so it proves no origin.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from dp_cmdp._src.base.storage import check_is_file, parse_json, write_bytes
from dp_cmdp._src.base.errors import InvalidArgumentError

#: Members that every document has.
OWN = ("format", "facts", "digest")
#: Little-endian floats, integers, and bytes (texts): the only types of a member.
TYPES = ("<f8", "<i8", "|u1")
#: A file may unpack to so many times its size, or to the floor; the writer keeps to it.
LARGEST_RATIO = 200
FLOOR_BYTES = 1 << 23
#: The longest header numpy writes for such types is far shorter.
LONGEST_HEADER = 1000
LONGEST_FORMAT = 200
#: What building an object from a file that is not in order may raise.
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)

_DIGEST = re.compile("[0-9a-f]{64}")

_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The content of a public file.

    Notes
    -----
    **Privacy.** *Public*.
    """

    format: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical content, in hexadecimal digits."""
        whole = hashlib.sha256(_canonical_json([self.format, self.facts]))
        for name in sorted(self.arrays):
            array = canonical(self.arrays[name])
            whole.update(_canonical_json([name, array.dtype.str, list(array.shape)]))
            whole.update(hashlib.sha256(array.tobytes()).digest())
        return whole.hexdigest()

    def write(self, path: str | Path) -> Path:
        """Write the document, atomically and without pickle."""
        members = {name: canonical(array) for name, array in self.arrays.items()}
        texts = {"format": self.format, "digest": self.digest}
        members |= {name: _as_bytes(text.encode()) for name, text in texts.items()}
        members["facts"] = _as_bytes(_canonical_json(self.facts))
        packed = _packed(np.savez_compressed, members)
        if _too_large(sum(array.nbytes for array in members.values()), len(packed)):
            packed = _packed(np.savez, members)
        return write_bytes(path, packed)


class Documented(Protocol):
    """What can be written to a public file."""

    def document(self) -> Document: ...


T = TypeVar("T", bound=Documented)


def read_document(
    path: str | Path,
    format: str,
    *,
    arrays: Collection[str],
    optional: Collection[str] = (),
    labelled: str | None = None,
) -> Document:
    """Read a document of a format; its digest, its members and their sizes are checked.

    Parameters
    ----------
    path
    format : str
    labelled : str, optional
        The format that such documents have since they may hold labels.
    arrays, optional : collections of str
        Names that must, and that may, be in the file; with any other it is refused.

    Raises
    ------
    InvalidArgumentError
        Naming the file and the rule it breaks.
    """
    source = check_is_file(path, format)
    try:
        with zipfile.ZipFile(source) as archive:
            said = _format(archive)
            if said not in (format, labelled):
                raise InvalidArgumentError(f"{source} says {said[:60]!r}")
            members = _judged_members(archive, source, {*OWN, *arrays}, {*optional})
            found = {name: _read(archive, info) for name, info in members.items()}
        document = Document(
            said,
            parse_json(found.pop("facts").tobytes().decode()),
            {name: found[name] for name in found if name not in OWN},
        )
        if found["digest"].tobytes().decode() != document.digest:
            raise InvalidArgumentError(f"the content of {source} does not fit its digest")
    except Exception as error:  # damaged archives make zip, zlib and numpy raise almost anything
        own = isinstance(error, InvalidArgumentError)
        reason = f"{source} is damaged or of another kind ({type(error).__name__})"
        raise InvalidArgumentError(
            f"path must name a {format} file; {error if own else reason}"
        ) from None
    return document


def format_of(path: str | Path) -> str | None:
    """The format a file names, or None when it is no document; only that member is read."""
    try:
        with zipfile.ZipFile(check_is_file(path, "dp_cmdp")) as archive:
            return _format(archive)
    except InvalidArgumentError:
        raise
    except Exception:
        return None


def reference(part: Documented | None) -> str | None:
    """The digest by which one document names another."""
    return None if part is None else part.document().digest


@dataclass(frozen=True, slots=True)
class Origin:
    """What an answer was made from: digests of its release and of its program, and a public name.

    None where there was none: the robust answer has no release.
    """

    release: str | None = None
    program: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for part in (self.release, self.program):
            if part is not None and not (isinstance(part, str) and _DIGEST.fullmatch(part)):
                raise InvalidArgumentError("a release or program is named by 64 hexadecimal digits")
        if not isinstance(self.name, str) or not self.name.isprintable() or len(self.name) > 200:
            raise InvalidArgumentError("name must be a printable text of at most 200 characters")

    @classmethod
    def of(cls, release: Documented | None, program: Documented | None, name: str) -> Origin:
        """The origin of an answer, from the objects themselves."""
        return cls(reference(release), reference(program), name)

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"release": self.release, "program": self.program, "name": self.name}


def unpacked(path: str | Path, source: Document, build: Callable[[Document], T]) -> T:
    """What `build` makes of a document, if writing it again gives the same document."""
    try:
        made = build(source)
        if made.document().digest != source.digest:
            raise InvalidArgumentError("it does not hold what would be written for its content")
    except DAMAGE as error:
        own = isinstance(error, InvalidArgumentError)
        raise InvalidArgumentError(
            f"path must name a {source.format} file; {path} is damaged or edited "
            f"({error if own else type(error).__name__})"
        ) from None
    return made


def canonical(array: Any) -> np.ndarray:
    """The array in one of the types of a document: floats, integers or bytes."""
    made = np.asarray(array)
    kind = {"f": "<f8", "i": "<i8", "b": "<i8"}.get(made.dtype.kind, "|u1")
    return np.ascontiguousarray(made, dtype=kind).reshape(made.shape)


def _format(archive: zipfile.ZipFile) -> str:
    info = archive.getinfo("format.npy")
    if info.file_size > LONGEST_HEADER + LONGEST_FORMAT:
        raise InvalidArgumentError("the name of its format is too long")
    return _read(archive, info).tobytes().decode()


def _judged_members(
    archive: zipfile.ZipFile, source: Path, required: set[str], optional: set[str]
) -> dict[str, zipfile.ZipInfo]:
    """The members by name, once their names, headers and sizes are found in order."""
    infos = archive.infolist()
    names = [info.filename.removesuffix(".npy") for info in infos]
    if any(not info.filename.endswith(".npy") for info in infos) or len(set(names)) < len(names):
        raise InvalidArgumentError(f"{source} holds a member twice, or one that is no array")
    missing, unknown = sorted(required - {*names}), sorted({*names} - required - optional)
    if missing or unknown:
        fault = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)[:200]} too"
        raise InvalidArgumentError(f"{source} {fault}; write it again")
    if _too_large(sum(info.file_size for info in infos), source.stat().st_size):
        raise InvalidArgumentError(
            f"{source} would unpack to more than {LARGEST_RATIO} times its size"
        )
    for info in infos:
        _judge_header(archive, info)
    return dict(zip(names, infos, strict=True))


def _judge_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    with archive.open(info) as stream:
        read = _HEADERS[np.lib.format.read_magic(stream)]
        shape, fortran_order, dtype = read(stream, max_header_size=LONGEST_HEADER)
        start = stream.tell()
    stated = math.prod(shape) * dtype.itemsize
    if dtype.str not in TYPES or fortran_order or min(shape, default=0) < 0:
        raise InvalidArgumentError(f"{info.filename} must be a plain array of numbers")
    if start + stated != info.file_size:
        raise InvalidArgumentError(
            f"{info.filename} holds {info.file_size} bytes and its header says {start + stated}"
        )


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    _judge_header(archive, info)
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _too_large(unpacked: int, packed: int) -> bool:
    return unpacked > max(FLOOR_BYTES, LARGEST_RATIO * packed)


def _packed(save: Callable[..., None], members: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **members)
    return buffer.getvalue()


def _as_bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(text, dtype=np.uint8)


def _canonical_json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
