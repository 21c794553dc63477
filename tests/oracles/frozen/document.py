"""Files of commit 2e23627: an ``.npz`` of format, facts (JSON), digest and arrays; no pickle."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.frozen.noise import RefusedError

OWN = ("format", "facts", "digest")
TYPES = ("<f8", "<i8", "|u1")
LARGEST_RATIO, FLOOR_BYTES, LONGEST_HEADER = 200, 1 << 23, 1000


@dataclass(frozen=True)
class Document:
    """The content of a file."""

    format: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @property
    def digest(self) -> str:
        whole = hashlib.sha256(_json([self.format, self.facts]))
        for name in sorted(self.arrays):
            array = canonical(self.arrays[name])
            whole.update(_json([name, array.dtype.str, list(array.shape)]))
            whole.update(hashlib.sha256(array.tobytes()).digest())
        return whole.hexdigest()

    def write(self, path: Path) -> Path:
        members = {name: canonical(array) for name, array in self.arrays.items()}
        texts = {"format": self.format.encode(), "digest": self.digest.encode()}
        texts["facts"] = _json(self.facts)
        members |= {name: np.frombuffer(text, dtype=np.uint8) for name, text in texts.items()}
        with path.open("wb") as stream:
            np.savez_compressed(stream, **members)  # pyright: ignore[reportArgumentType]
        return path


def read(path: Path, format: str, *, required: Collection[str], optional: Collection[str]):
    """A document, once its names, headers, sizes and digest are found in order."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [info.filename.removesuffix(".npy") for info in infos]
            wanted = {*OWN, *required}
            twice = len(set(names)) < len(names)
            if twice or wanted - {*names} or {*names} - wanted - {*optional}:
                raise RefusedError("it holds a member twice, lacks one, or has another one too")
            whole = sum(info.file_size for info in infos)
            if whole > max(FLOOR_BYTES, LARGEST_RATIO * path.stat().st_size):
                raise RefusedError("it would unpack to more than its size allows")
            found = {name: _member(archive, info) for name, info in zip(names, infos, strict=True)}
        texts = {name: found.pop(name).tobytes().decode() for name in OWN}
        document = Document(texts["format"], _parsed(texts["facts"]), found)
        if document.format != format or document.digest != texts["digest"]:
            raise RefusedError("its content does not fit its format or its digest")
    except RefusedError:
        raise
    except Exception as error:  # damaged archives make zip, zlib and numpy raise almost anything
        raise RefusedError(f"it is damaged or of another kind ({type(error).__name__})") from None
    return document


def canonical(array: Any) -> np.ndarray:
    """The array in one of the types of a document: floats, integers or bytes."""
    made = np.asarray(array)
    kind = {"f": "<f8", "i": "<i8", "b": "<i8"}.get(made.dtype.kind, "|u1")
    return np.ascontiguousarray(made, dtype=kind).reshape(made.shape)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(info) as stream:
        np.lib.format.read_magic(stream)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(
            stream, max_header_size=LONGEST_HEADER
        )
        stated = stream.tell() + math.prod(shape) * dtype.itemsize
    if dtype.str not in TYPES or fortran or min(shape, default=0) < 0 or stated != info.file_size:
        raise RefusedError(f"{info.filename} must be a plain array of numbers, of its stated size")
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _parsed(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise RefusedError("an object says something twice")
        return dict(pairs)

    def never(name: str) -> Any:
        raise RefusedError(f"{name} is no JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=never)


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
