"""Files are judged before they are read, and come back as they were or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.base import storage
from dp_cmdp._src.base.documents import (
    FLOOR_BYTES,
    LARGEST_RATIO,
    document_digest,
    loaded,
    read_document,
    write_document,
)
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.storage import parse_json, write_bytes

CONTENT: dict[str, Any] = {
    "name": "ä ☃",
    "none": None,
    "flags": [True, False],
    "numbers": [1, -(2**80), 0.1, float("inf"), {"deep": [np.int64(3), np.float64(0.5)]}],
    "$array": {"$csr": "a key that looks like a leaf"},
    "x": np.arange(3.0),
    "empty": np.zeros((0, 2)),
    "integers": np.array([[2**62, -1]]),
    "mask": np.array([True, False]),
    "W": sparse.csr_array((np.array([1, 0]), np.array([0, 2]), np.array([0, 1, 2])), shape=(2, 3)),
}


def same(one: Any, other: Any) -> bool:
    if sparse.issparse(one):
        parts = [getattr(one, name) for name in ("data", "indices", "indptr", "shape")]
        return all(
            map(np.array_equal, parts, (other.data, other.indices, other.indptr, other.shape))
        )
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and np.array_equal(one, other)
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_a_document_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write_document(tmp_path / "x.npz", "test", CONTENT)
    kind, version, found = read_document(path)
    assert (kind, version) == ("test", 2)
    assert same(CONTENT, found)
    assert not found["x"].flags.writeable
    assert found["W"].nnz == 2  # stored zeros are kept
    assert document_digest("test", found) == document_digest("test", CONTENT)
    assert read_document(path, "test")[2].keys() == CONTENT.keys()
    with pytest.raises(InvalidArgumentError, match=r"other file; .* holds a test"):
        read_document(path, "other")


def test_a_digest_is_of_the_content_and_sees_every_part_of_it() -> None:
    x, y = np.arange(3.0), np.arange(2)
    same_content = [{"x": x, "y": y, "k": 1}, {"k": 1, "y": y.copy(), "x": x}]
    others = [
        {"x": x, "y": y, "k": 2}, {"x": x, "k": 1}, {"x": y, "y": x, "k": 1},
        {"x": np.arange(3), "y": y, "k": 1}, {"x": x[None], "y": y, "k": 1},
        {"x": np.nextafter(x, 9), "y": y, "k": 1}, {"x": x, "y": y, "k": "1"},
    ]  # fmt: skip
    digests = {document_digest("a", content) for content in same_content}
    assert len(digests) == 1
    digests |= {document_digest("a", content) for content in others}
    assert len(digests | {document_digest("b", same_content[0])}) == 2 + len(others)


# ------------------------------------------------------------------------------------ forged files


def npy(shape: str, *, descr: str = "<f8", fortran: str = "False", content: bytes = b"") -> bytes:
    """An array member whose header says whatever it is given."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def text_member(text: str) -> bytes:
    content = text.encode()
    return npy(f"({len(content)},)", descr="|u1", content=content)


def forge(path: Path, header: str, *members: tuple[str, bytes], digest: str = "") -> Path:
    """A zip file with members as given, name by name, twice if named twice; the digest fits."""
    whole = hashlib.sha256(header.encode())
    for name, content in members:
        data = content[10 + int.from_bytes(content[8:10], "little") :]
        whole.update(hashlib.sha256(data).digest() if name.startswith("array") else b"")
    stated = ("digest", text_member(digest or whole.hexdigest()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("header", text_member(header)), stated, *members):
            archive.writestr(f"{name}.npy", content)
    return path


ARRAY = '{"arrays":[["<f8",[2,2]]],"content":{"x":{"$array":0}},"kind":"test","version":2}'


def refused(path: Path, match: str = "test file") -> None:
    with pytest.raises(InvalidArgumentError, match=match) as caught:
        read_document(path, "test")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "member",
    [
        npy("(1099511627776, 2)", content=bytes(32)),  # says 16 TB, holds 32 bytes
        npy("(2, 2)", content=bytes(64)),  # says 32 bytes, holds 64
        npy("(2, 2)", content=bytes(8)),
        npy("(-2, -2)", content=bytes(32)),
        npy("(2, 2)", descr="|O", content=bytes(32)),
        npy("(2, 2)", descr="<f4", content=bytes(16)),
        npy("(2, 2)", descr=">f8", content=bytes(32)),
        npy("(2, 2)", descr="<U1", content=bytes(16)),
        npy("(2, 2)", fortran="True", content=bytes(32)),
        npy("(2, 2", content=bytes(32)),
        npy("(2, 2)", descr="__import__('os')", content=bytes(32)),
        b"\x93NUMPY\x09\x00",
        b"",
    ],
)
def test_a_header_that_does_not_fit_its_member_is_refused(tmp_path: Path, member: bytes) -> None:
    refused(forge(tmp_path / "x.npz", ARRAY, ("array0", member)))


def test_a_small_file_that_would_unpack_to_a_large_one_is_refused_unread(tmp_path: Path) -> None:
    rows = 1 << 24  # 128 MB of zeros in some 130 kB
    zeros = ("array0", npy(f"({rows}, 1)", content=bytes(8 * rows)))
    path = forge(tmp_path / "bomb.npz", ARRAY, zeros)
    assert path.stat().st_size < 8 * rows / LARGEST_RATIO
    tracemalloc.start()
    refused(path, "unpack")
    assert tracemalloc.get_traced_memory()[1] < FLOOR_BYTES
    tracemalloc.stop()


@pytest.mark.parametrize("size", [FLOOR_BYTES // 4, FLOOR_BYTES // 8 + 1])
def test_what_compresses_too_well_is_written_so_that_it_can_be_read(
    tmp_path: Path, size: int
) -> None:
    path = write_document(tmp_path / "zeros.npz", "test", {"zeros": np.zeros(size)})
    assert read_document(path)[2]["zeros"].size == size


def test_members_missing_twice_or_unknown_are_refused(tmp_path: Path) -> None:
    good = ("array0", npy("(2, 2)", content=bytes(32)))
    refused(forge(tmp_path / "x.npz", ARRAY), "other members")
    refused(forge(tmp_path / "x.npz", ARRAY, good, ("array1", good[1])), "other members")
    with pytest.warns(UserWarning, match="Duplicate"):
        path = forge(tmp_path / "x.npz", ARRAY, good, good)
    refused(path, "twice")
    assert read_document(forge(tmp_path / "x.npz", ARRAY, good))[2]["x"].shape == (2, 2)
    refused(forge(tmp_path / "x.npz", ARRAY, good, digest="0" * 64), "digest")
    flat = ("array0", npy("(4,)", content=bytes(32)))
    refused(forge(tmp_path / "x.npz", ARRAY, flat), "other arrays")


@pytest.mark.parametrize(
    "header",
    ["[" * 200_000 + "]" * 200_000, '{"version": ' + "9" * 5000 + "}", '{"a": 1, "a": 2}', "{", "",
     "null", "[]", '{"arrays":[],"content":NaN,"kind":"test","version":2}',
     '{"arrays":[],"content":{},"kind":"test","version":3}',
     '{"arrays":[],"content":{},"kind":["test"],"version":2}',
     '{"arrays":[],"content":[],"kind":"test","version":2}',
     '{"arrays":[],"content":{"x":{"$array":0}},"kind":"test","version":2}',
     '{"arrays":[],"content":{},"kind":"test","version":2,"more":1}'],
)  # fmt: skip
def test_a_header_that_is_none_is_refused_in_a_moment(tmp_path: Path, header: str) -> None:
    start = time.perf_counter()
    refused(forge(tmp_path / "x.npz", header))
    assert time.perf_counter() - start < 2


POINTERS = [
    ("indices", [0, 3]),
    ("indices", [0, -1]),
    ("indptr", [0, 2, 1]),
    ("indptr", [1, 1, 2]),
    ("indptr", [0, 1, 3]),
    ("indptr", [0, 2]),
    ("indices", [0.0, 2.0]),
    ("data", [1.0]),
]


@pytest.mark.parametrize(("part", "value"), POINTERS)
def test_a_sparse_matrix_that_points_outside_is_refused(
    tmp_path: Path, part: str, value: list[Any]
) -> None:
    members, stated = [], []
    for number, name in enumerate(("data", "indices", "indptr")):
        array = np.array(value) if name == part else getattr(CONTENT["W"], name).astype(np.int64)
        kind, size = array.dtype.str, array.size
        stated.append([kind, [size]])
        content = npy(f"({size},)", descr=kind, content=array.tobytes())
        members.append((f"array{number}", content))
    leaf = {"$csr": [[2, 3], {"$array": 0}, {"$array": 1}, {"$array": 2}]}
    header = {"arrays": stated, "content": {"W": leaf}, "kind": "test", "version": 2}
    refused(forge(tmp_path / "x.npz", json.dumps(header), *members), "a sparse matrix must")


def test_no_flipped_byte_gives_another_document(tmp_path: Path) -> None:
    path = write_document(tmp_path / "x.npz", "test", CONTENT)
    content, digest = path.read_bytes(), document_digest("test", CONTENT)
    for place in range(0, len(content), 17):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        with contextlib.suppress(InvalidArgumentError):
            assert document_digest("test", read_document(path)[2]) == digest


def test_what_building_raises_is_the_fault_of_the_file(tmp_path: Path) -> None:
    path = write_document(tmp_path / "x.npz", "test", {"a": 1})
    assert loaded(path, "test", lambda content: content["a"]) == 1
    with pytest.raises(InvalidArgumentError, match=r"damaged or edited \(KeyError\)"):
        loaded(path, "test", lambda content: content["b"])


# ----------------------------------------------------------------------------------------- storage


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space")

    target = tmp_path / "kept.txt"
    target.write_bytes(b"before")
    monkeypatch.setattr(storage.Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_bytes(target, b"after")
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_private_file_is_for_its_owner_alone(tmp_path: Path, private: bool, mode: int) -> None:
    old = os.umask(0o022)
    try:
        path = write_bytes(tmp_path / "file", b"x", private=private)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_json_errors_hold_no_piece_of_the_text() -> None:
    for text in ('{"secret": 0.123456, oops}', '{"secret0.123456": 1, "secret0.123456": 2}'):
        with pytest.raises(InvalidArgumentError) as caught:
            parse_json(text)
        assert caught.value.__context__ is None
        assert "123456" not in str(caught.value) + repr(caught.value.args)
