"""Marked private values, and a search for them in objects, texts, files and exceptions.

Every mark ends in the same eight digits, so its decimal text is found whatever surrounds it; its
eight bytes are found in arrays, files and pickles.
"""

from __future__ import annotations

import gc
import io
import pickle
import struct
import traceback
import types
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

DIGITS = "57913579"
MARKS = np.round(0.1057913579 + 0.01 * np.arange(80), 10)
_PACKED = frozenset(struct.pack(order + "d", mark) for mark in MARKS for order in "<>")
_BITS = np.unique(MARKS)
#: Things that belong to the program, not to the object under test.
_CODE = (types.ModuleType, type, types.CodeType, types.BuiltinFunctionType, types.FrameType)


def marked_in_bytes(content: bytes) -> bool:
    return DIGITS.encode() in content or any(mark in content for mark in _PACKED)


def marked_in_array(array: np.ndarray) -> bool:
    if array.dtype.kind == "O":
        return False  # its items are walked one by one
    if array.dtype.kind == "f":
        return bool(np.isin(array.astype(np.float64), _BITS).any())
    return marked_in_bytes(array.tobytes())


def is_marked(item: Any) -> bool:
    """Whether this one object, not what it refers to, shows a mark."""
    if isinstance(item, np.ndarray):
        return marked_in_array(item)
    if isinstance(item, float | np.floating):
        return bool(np.isin(float(item), _BITS))
    if isinstance(item, str):
        return DIGITS in item
    if isinstance(item, bytes | bytearray):
        return marked_in_bytes(bytes(item))
    if isinstance(item, int) and not isinstance(item, bool):
        return DIGITS in str(item)
    return False


def reachable(root: Any) -> Iterator[Any]:
    """Everything that can be reached from an object: attributes, slots, items, closures, bases."""
    seen: set[int] = set()
    keep: list[Any] = []  # ids stay unique while the objects live
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _CODE):
            continue
        seen.add(id(item))
        keep.append(item)
        yield item
        waiting.extend(_next(item))


def _next(item: Any) -> list[Any]:
    if isinstance(item, types.FunctionType):  # its globals belong to the program
        cells = [cell.cell_contents for cell in item.__closure__ or () if _is_filled(cell)]
        return [*cells, item.__defaults__, item.__kwdefaults__, item.__dict__]
    found = list(gc.get_referents(item))
    if isinstance(item, np.ndarray):
        found.append(item.base)
        found.extend(item.ravel().tolist() if item.dtype.kind == "O" else ())
    if isinstance(item, memoryview):
        found.append(item.tobytes())
    return found


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def leaks_from_object(root: Any) -> list[str]:
    """Types of the reachable objects that show a mark."""
    return [type(item).__name__ for item in reachable(root) if is_marked(item)]


def leaks_from_pickle(root: Any) -> bool:
    return any(marked_in_bytes(pickle.dumps(root, protocol)) for protocol in range(2, 6))


def leaks_from_file(path: Any) -> bool:
    """Whether a file shows a mark: raw, unzipped, and in the inflated chunks of a PNG."""
    raw = path.read_bytes()
    parts = [raw]
    if zipfile.is_zipfile(io.BytesIO(raw)):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts += [archive.read(name) for name in archive.namelist()]
    if raw.startswith(b"\x89PNG"):
        parts += [content for _, content in png_chunks(raw)]
        parts.append(zlib.decompress(b"".join(c for n, c in png_chunks(raw) if n == b"IDAT")))
    return any(marked_in_bytes(part) for part in parts)


def png_chunks(raw: bytes) -> list[tuple[bytes, bytes]]:
    place, found = 8, []
    while place < len(raw):
        size = int.from_bytes(raw[place : place + 4], "big")
        found.append((raw[place + 4 : place + 8], raw[place + 8 : place + 8 + size]))
        place += size + 12
    return found


def leaks_from_error(error: BaseException) -> list[str]:
    """What an exception shows: texts, arguments, attributes, causes and contexts.

    Tracebacks hold the frames of whoever called, so they are left out; formatted without locals
    they show source lines only, which is checked.
    """
    found: list[str] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        item = waiting.pop()
        if item is None:
            continue
        waiting += [item.__cause__, item.__context__]
        shown = [str(item), repr(item), item.args, dict(vars(item)), getattr(item, "__notes__", [])]
        found += [f"{type(item).__name__} via {kind}" for kind in leaks_from_object(shown)]
    if DIGITS in "".join(traceback.format_exception_only(error)):
        found.append("formatted text")
    return found
