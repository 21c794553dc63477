"""What became of each fault, one small file per fault, and the table of all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from dp_cmdp._storage import write_text
from tests.mutants.fault import Fault

CAUGHT, SURVIVED = "caught", "SURVIVED"
EQUIVALENT, REFUTED = "changes nothing", "NOT EQUIVALENT"
#: Read by every test.
SHARED = ("tests/conftest.py", "tests/marked.py", "tests/problems.py", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Record:
    """A verdict, the test behind it, and a digest of what it rests on.

    A caught fault rests on its file and on the test file that caught it; one that changes nothing
    on its file and its own tests; one that survived on all tests and all of the package. What does
    not rest on something that changed is not tried again.
    """

    name: str
    verdict: str
    test: str
    basis: str

    @property
    def holds(self) -> bool:
        """Whether the fault is as it should be."""
        return self.verdict in (CAUGHT, EQUIVALENT)


class Records:
    """The records of one tree, in a folder."""

    def __init__(self, folder: Path, *, root: Path) -> None:
        self._folder, self._root = folder, root

    def find(self, fault: Fault) -> Record | None:
        """The record of a fault, if it is still true."""
        path = self._folder / f"{fault.name}.json"
        if not path.exists():
            return None
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        current = self._basis(fault, record.verdict, record.test)
        return record if record.basis == current else None

    def keep(self, fault: Fault, verdict: str, test: str) -> Record:
        """Write the record of a fault, atomically."""
        record = Record(fault.name, verdict, test, self._basis(fault, verdict, test))
        write_text(self._folder / f"{fault.name}.json", json.dumps(asdict(record)) + "\n")
        return record

    def _basis(self, fault: Fault, verdict: str, test: str) -> str:
        whole = hashlib.sha256("\n".join((fault.line, fault.faulty, fault.within)).encode())
        for path in (fault.path, *SHARED, *self._judges(fault, verdict, test)):
            file = self._root / path
            whole.update(file.read_bytes() if file.exists() else b"gone")
        return whole.hexdigest()

    def _judges(self, fault: Fault, verdict: str, test: str) -> list[str]:
        """The files, besides its own, on which the verdict about a fault rests."""
        if verdict == SURVIVED:
            places = (self._root.glob(f"{part}/**/*.py") for part in ("dp_cmdp", "envs", "tests"))
            return sorted(str(path.relative_to(self._root)) for part in places for path in part)
        catcher = test.split("::")[0]
        if verdict == CAUGHT and catcher.endswith(".py"):
            return [catcher]
        return sorted({own.split("::")[0] for own in fault.tests})


def summary(records: Sequence[Record]) -> dict[str, int]:
    """How many faults ended how."""
    words = (CAUGHT, EQUIVALENT, SURVIVED, REFUTED)
    return {word: sum(record.verdict == word for record in records) for word in words}


def table(faults: Sequence[Fault], records: Sequence[Record]) -> str:
    """All faults by file, in Markdown."""
    counts = ", ".join(f"{count} {word}" for word, count in summary(records).items() if count)
    lines = [
        "# One-line faults and the tests that catch them",
        "",
        f"{len(faults)} faults, put in one at a time by `make test-mutants`: {counts}.",
    ]
    pairs = zip(faults, records, strict=True)
    for path, rows in groupby(pairs, key=lambda pair: pair[0].path):
        lines += ["", f"## {path}", "", "| fault | broken promise | verdict |", "|---|---|---|"]
        for fault, record in rows:
            reason = fault.equivalent if record.verdict == EQUIVALENT else _shown(record.test)
            lines.append(f"| {fault.name} | {fault.promise} | {record.verdict}: {reason} |")
    return "\n".join(lines) + "\n"


def _shown(test: str) -> str:
    return f"`{test.split('[')[0].removeprefix('tests/')}`" if test else "by no test"


def as_json(faults: Sequence[Fault], records: Sequence[Record]) -> dict[str, Any]:
    """Everything, ready for JSON."""
    rows = [
        {**asdict(fault), "verdict": record.verdict, "test": record.test}
        for fault, record in zip(faults, records, strict=True)
    ]
    return {"summary": summary(records), "faults": rows}
