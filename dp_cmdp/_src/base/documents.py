"""One format for everything that is saved: an ``.npz`` archive with a JSON header.

The content of a document is a tree of dicts and lists whose leaves are texts, numbers, truth
values, None, numpy arrays and sparse matrices (csr). The header holds the tree, with arrays by
number; each array is a member of its own; the digest is the SHA-256 of both. It finds damage and
careless edits; who edits on purpose can compute it anew, so it proves no origin.

Every header is compared with the size of its member, and all sizes together with the size of the
file, before any data is unpacked; indices of sparse matrices are checked. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.errors import Error, InvalidArgumentError
from dp_cmdp._src.base.storage import check_is_file, parse_json, write_bytes

#: The version of the format; documents before it had no version of their own.
VERSION = 2
#: Little-endian floats and integers, truth values, and bytes (the header): the types of a member.
TYPES = ("<f8", "<i8", "|b1", "|u1")
#: A file may unpack to so many times its size, or to the floor; the writer keeps to it.
LARGEST_RATIO = 200
FLOOR_BYTES = 1 << 23
#: The longest header numpy writes for such types is far shorter.
LONGEST_HEADER = 1000
#: What building an object from a file that is not in order may raise.
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)

_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KEYS = {"version", "kind", "content", "arrays"}
T = TypeVar("T")


def write_document(path: str | Path, kind: str, content: Mapping[str, Any]) -> Path:
    """Write a document, atomically and without pickle."""
    arrays: list[np.ndarray] = []
    header = _header(kind, _packed(content, arrays), arrays)
    members = {f"array{number}": array for number, array in enumerate(arrays)}
    members["header"] = _bytes(header)
    members["digest"] = _bytes(_digest(header, arrays).encode())
    archive = _archive(np.savez_compressed, members)
    if _too_large(sum(array.nbytes for array in members.values()), len(archive)):
        archive = _archive(np.savez, members)
    return write_bytes(path, archive)


def read_document(path: str | Path, kind: str | None = None) -> tuple[str, int, dict[str, Any]]:
    """Kind, version and content of a document; another kind than the one asked for is refused.

    Raises
    ------
    InvalidArgumentError
        Naming the file and the rule it breaks.
    """
    wanted = kind or "dp_cmdp"
    source = check_is_file(path, wanted)
    try:
        with zipfile.ZipFile(source) as archive:
            members = _judged(archive, source)
            header = _read(archive, members["header"]).tobytes()
            said = parse_json(header.decode())
            if set(said) != _KEYS or said["version"] != VERSION or type(said["kind"]) is not str:
                raise InvalidArgumentError(f"{source} has another version than {VERSION}")
            if kind not in (None, said["kind"]):
                raise InvalidArgumentError(f"{source} holds a {said['kind'][:60]}")
            names = [f"array{number}" for number in range(len(said["arrays"]))]
            if set(members) != {"header", "digest", *names}:
                raise InvalidArgumentError(f"{source} has other members than its header says")
            arrays = [_read(archive, members[name]) for name in names]
            digest = _read(archive, members["digest"]).tobytes().decode()
        if _shapes(arrays) != said["arrays"]:
            raise InvalidArgumentError(f"{source} has other arrays than its header says")
        if digest != _digest(header, arrays):
            raise InvalidArgumentError(f"the content of {source} does not fit its digest")
        content = _unpacked(said["content"], arrays)
        if not isinstance(content, dict):
            raise InvalidArgumentError(f"{source} has no content")
    except Exception as error:  # damaged archives make zip, zlib and numpy raise almost anything
        own = isinstance(error, InvalidArgumentError)
        reason = f"{source} is damaged or of another kind ({type(error).__name__})"
        raise InvalidArgumentError(
            f"path must name a {wanted} file; {error if own else reason}"
        ) from None
    return said["kind"], said["version"], content


def loaded(path: str | Path, kind: str, build: Callable[[dict[str, Any]], T]) -> T:
    """What `build` makes of a document's content; what it raises is the file's fault."""
    content = read_document(path, kind)[2]
    try:
        return build(content)
    except (*DAMAGE, Error) as error:
        reason = str(error) if isinstance(error, Error) else type(error).__name__
        raise InvalidArgumentError(
            f"path must name a {kind} file; {path} is damaged or edited ({reason})"
        ) from None


def document_digest(kind: str, content: Mapping[str, Any]) -> str:
    """The SHA-256 by which one document names another."""
    arrays: list[np.ndarray] = []
    return _digest(_header(kind, _packed(content, arrays), arrays), arrays)


def _header(kind: str, content: Any, arrays: list[np.ndarray]) -> bytes:
    said = {"version": VERSION, "kind": kind, "content": content, "arrays": _shapes(arrays)}
    return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _shapes(arrays: list[np.ndarray]) -> list[Any]:
    return [[array.dtype.str, list(array.shape)] for array in arrays]


def _digest(header: bytes, arrays: list[np.ndarray]) -> str:
    whole = hashlib.sha256(header)
    for array in arrays:
        whole.update(hashlib.sha256(array.tobytes()).digest())
    return whole.hexdigest()


def _packed(part: Any, arrays: list[np.ndarray]) -> Any:
    """A part of the content for JSON; arrays go to the list, in the order of the sorted keys."""
    if isinstance(part, Mapping):
        return {
            f"${key}" if key.startswith("$") else key: _packed(value, arrays)
            for key, value in sorted(part.items())
        }
    if isinstance(part, list | tuple):
        return [_packed(item, arrays) for item in part]
    if isinstance(part, np.ndarray):
        arrays.append(_plain(part))
        return {"$array": len(arrays) - 1}
    if sparse.issparse(part):
        table = cast(Any, part).tocsr()
        members = [table.data, table.indices, table.indptr]
        shape = [int(size) for size in table.shape]
        return {"$csr": [shape, *(_packed(member, arrays) for member in members)]}
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, float) and not math.isfinite(part):
        return {"$float": str(part)}
    return part


def _unpacked(part: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(part, list):
        return [_unpacked(item, arrays) for item in part]
    if not isinstance(part, dict):
        return part
    if "$array" in part:
        (number,) = part.values()
        array = arrays[number]
        array.flags.writeable = False
        return array
    if "$csr" in part:
        ((shape, *members),) = part.values()
        return _matrix(shape, *(_unpacked(member, arrays) for member in members))
    if "$float" in part:
        return float(part["$float"])
    return {key.removeprefix("$"): _unpacked(value, arrays) for key, value in part.items()}


def _matrix(shape: Any, data: Any, indices: Any, indptr: Any) -> sparse.csr_array:
    """A csr matrix whose indices are all inside its shape: compiled code follows them blindly."""
    rows, columns = (int(size) for size in shape)
    kinds = indices.dtype.kind == indptr.dtype.kind == "i"
    if not kinds or indptr.shape != (rows + 1,) or data.shape != indices.shape or data.ndim != 1:
        raise InvalidArgumentError("a sparse matrix must have arrays of fitting lengths")
    rising = indptr[0] == 0 and indptr[-1] == data.size and (np.diff(indptr) >= 0).all()
    inside = not data.size or (indices.min() >= 0 and indices.max() < columns)
    if not (rising and inside):
        raise InvalidArgumentError("a sparse matrix must have its indices inside its shape")
    made = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
    for buffer in (made.data, made.indices, made.indptr):
        buffer.flags.writeable = False
    return made


def _plain(array: np.ndarray) -> np.ndarray:
    """The array in one of the types of a document."""
    whole = "|u1" if array.dtype == np.uint8 else "<i8"
    kind = {"f": "<f8", "i": "<i8", "u": whole, "b": "|b1"}[array.dtype.kind]
    return np.ascontiguousarray(array, dtype=kind).reshape(array.shape)


def _judged(archive: zipfile.ZipFile, source: Path) -> dict[str, zipfile.ZipInfo]:
    """The members by name, once their names, headers and sizes are found in order."""
    infos = archive.infolist()
    names = [info.filename.removesuffix(".npy") for info in infos]
    if any(not info.filename.endswith(".npy") for info in infos) or len(set(names)) < len(names):
        raise InvalidArgumentError(f"{source} holds a member twice, or one that is no array")
    if {"format", "facts", "digest"} <= set(names):
        raise InvalidArgumentError(
            f"{source} was written by version 0.1 of dp_cmdp, which opens and verifies it "
            "(a checkout of it); this version reads the ledgers of that version only"
        )
    if "header" not in names:
        raise InvalidArgumentError(f"{source} has no header")
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
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _too_large(unpacked: int, packed: int) -> bool:
    return unpacked > max(FLOOR_BYTES, LARGEST_RATIO * packed)


def _archive(save: Callable[..., None], members: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **members)
    return buffer.getvalue()


def _bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(text, dtype=np.uint8)
