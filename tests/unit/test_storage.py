"""Files are written whole or not at all, and private ones for their owner alone."""

import os
import stat

import pytest

from dp_cmdp import _storage
from dp_cmdp._storage import write_bytes


@pytest.fixture
def failing_replace(monkeypatch):
    """The last step of a write fails, as on a full or unplugged disk."""

    def fail(self, target):
        raise OSError("no space")

    monkeypatch.setattr(_storage.Path, "replace", fail)


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path, failing_replace):
    target = tmp_path / "kept.txt"
    target.write_bytes(b"before")
    with pytest.raises(OSError, match="no space"):
        write_bytes(target, b"after")
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_private_file_is_for_its_owner_alone(tmp_path, private, mode):
    old = os.umask(0o022)
    try:
        path = write_bytes(tmp_path / "file", b"x", private=private)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == mode
