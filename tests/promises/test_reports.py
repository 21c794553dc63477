"""A report is true if it holds, and false if it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.promises.adapter import Database, Envelope, linear_program, spend, verify


@pytest.mark.parametrize("name", ["page.txt", "page.json", "page.npz", "array.npz", "empty", "no"])
def test_a_file_that_is_none_of_ours_does_not_pass(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "array.npz":
        np.savez(path, answer=np.ones(3))
    elif name != "no":
        path.write_bytes(b"" if name == "empty" else b'{"format": "other"}')
    assert not verify(path)


def test_a_release_passes_and_a_spoilt_one_does_not(tmp_path: Path) -> None:
    envelope = Envelope([0.5, 0.5], [2, 2], radius=0.05)
    problem = linear_program(envelope, maximize=[3, 2], rows=[{0: 0, 1: 1}], limits=[4.0])
    release = spend(problem, Database([1, 1], envelope), None).release
    path = release.save(tmp_path / "release.npz")
    assert verify(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert not verify(path)
