"""Files that look at the truth: one place, its owner's; and sets of files that belong together."""

import json
import stat
import warnings

import numpy as np
import pytest

from dp_cmdp._storage import replaced_files
from dp_cmdp.data.curator import CuratorOnly, curator_folder, report_to_curator
from dp_cmdp.errors import InvalidArgumentError


def test_facts_and_failures_are_written_and_nothing_is_raised_or_warned(tmp_path, capfd):
    def fail(folder):
        warnings.warn("the truth is odd", stacklevel=1)
        raise ZeroDivisionError("the truth is 0")

    def unwritable(folder):
        return {"x": np.float32(1)}

    found = {}
    for name, look in {
        "facts": lambda folder: {"loss": CuratorOnly(0.25)},
        "fail": fail,
        "unwritable": unwritable,
    }.items():
        written = report_to_curator(tmp_path, f"{name}.json", look)
        assert written == tmp_path / "curator_only" / f"{name}.json"
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
        found[name] = json.loads(written.read_text())
    assert found["facts"] == {"loss": 0.25}
    assert found["fail"] == {"failed": "ZeroDivisionError: the truth is 0"}
    assert found["unwritable"]["failed"].startswith("TypeError")
    assert capfd.readouterr() == ("", "")


def test_a_folder_that_others_may_open_is_closed_and_a_link_or_file_refused(tmp_path):
    inner = tmp_path / "curator_only"
    inner.mkdir()
    inner.chmod(0o777)
    assert stat.S_IMODE(curator_folder(tmp_path).stat().st_mode) == 0o700
    inner.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    mode = elsewhere.stat().st_mode
    inner.symlink_to(elsewhere)
    with pytest.raises(InvalidArgumentError, match="not a link"):
        curator_folder(tmp_path)
    assert elsewhere.stat().st_mode == mode
    inner.unlink()
    inner.touch()
    with pytest.raises(InvalidArgumentError, match="curator_only"):
        curator_folder(tmp_path)


def test_a_set_of_files_replaces_the_earlier_one_whole(tmp_path):
    for name in ("a", "b", "other"):
        (tmp_path / name).write_text("old")
    with replaced_files(tmp_path, ["a", "b", "c", "inner/d"]) as staged:
        (staged / "a").write_text("new")
        (staged / "c").write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"a": "new", "c": "new", "other": "old"}


def replace(folder, names, new):
    with replaced_files(folder, names) as staged:
        for name in new:
            (staged / name).write_text("new")


def test_a_set_of_files_that_cannot_be_made_changes_nothing(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(FileNotFoundError):
        replace(tmp_path, ["a"], ["a", "missing/b"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_a_replacement_cut_short_leaves_no_mixture(tmp_path):
    """The second new file cannot be moved into place: the old set is gone, none of it is left."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    (tmp_path / "c").mkdir()
    with pytest.raises(OSError):
        replace(tmp_path, ["a", "b"], ["a", "c"])
    files = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    assert files == {"a": "new"}
