"""What a report says, and files that are none of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from dp_cmdp._src.base.documents import write_document
from dp_cmdp._src.checking.verify import Finding, Report, verify
from tests.checking.made import program, release


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release().save(tmp_path_factory.mktemp("release") / "release.npz")


def test_documents_that_state_nothing_are_refused(tmp_path: Path) -> None:
    for kind in ("ledger page", "answer", "release", "problem", "policy"):
        assert not verify(write_document(tmp_path / "page.npz", kind, {"more": 1}))
    assert not verify(tmp_path)  # a folder without an answer
    assert not verify(3.5)
    assert not verify(tmp_path / "missing.npz")
    (tmp_path / "page.txt").write_text('{"format": "other"}')
    assert not verify(tmp_path / "page.txt")


def test_a_spoilt_file_does_not_pass(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    spoilt = tmp_path / "release.npz"
    for cut in (20, len(whole) // 2):
        spoilt.write_bytes(whole[:-cut])
        assert not verify(spoilt)
    assert not verify(path, spoilt)


def test_a_report_says_whose_adjacency_it_is(path: Path) -> None:
    assert repr(verify(path)).splitlines()[0].endswith("not compared with yours")
    compared = repr(verify(path, problem=program())).splitlines()[0]
    assert compared == "adjacency compared with that of your problem"
    lines = str(verify(path)).splitlines()
    assert max(map(len, lines)) <= 100 + len(str(path))
    assert not any("Finding(" in line for line in lines)


def test_a_report_says_what_no_file_can_prove(path: Path) -> None:
    unprovable = [f.claim for f in verify(path) if f.outcome == "not provable"]
    text = " ".join(unprovable)
    assert "randomness" in text
    assert "public data" in text
    assert "ledger" in text


def test_the_verdict_is_that_of_the_findings() -> None:
    yes, no = Finding("a", "b", True), Finding("a", "c", False)
    unknown, missing = Finding("a", "d", None), Finding("a", "e", None, word="missing", open=True)
    assert Report((yes, unknown))
    for findings in ((), (unknown,), (yes, no), (yes, missing)):
        assert not Report(findings)
    assert Report((yes, no)).failed == (no,)
    assert [f.outcome for f in (yes, no, unknown, missing)] == [
        *("proved", "FAILED", "not provable", "missing")
    ]
