"""What became of each fault, one small file per fault, and the table of all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from dp_cmdp.storage import write_text
from tests.mutants.fault import Fault

CAUGHT, SURVIVED = "caught", "SURVIVED"
EQUIVALENT, REFUTED = "changes nothing", "NOT EQUIVALENT"
#: Read by every test.
SHARED = ("tests/conftest.py", "tests/marked.py", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Record:
    """A verdict, the test behind it, and digests of what it was found with.

    A fault caught by its own tests is tried again when its file or these tests change; every other
    verdict rests on all tests and all of the package, and so does its digest.
    """

    name: str
    verdict: str
    test: str
    near: str
    far: str

    @property
    def holds(self) -> bool:
        """Whether the fault is as it should be."""
        return self.verdict in (CAUGHT, EQUIVALENT)


class Records:
    """The records of one tree, in a folder."""

    def __init__(self, folder: Path, *, root: Path) -> None:
        self._folder, self._root = folder, root
        sources = (
            path for part in ("dp_cmdp", "envs", "tests") for path in root.glob(f"{part}/**/*.py")
        )
        self._everything = self._digest(*(str(path.relative_to(root)) for path in sorted(sources)))

    def _digest(self, *paths: str, facts: str = "") -> str:
        content = hashlib.sha256(facts.encode())
        for path in paths:
            content.update((self._root / path).read_bytes())
        return content.hexdigest()

    def _near(self, fault: Fault) -> str:
        files = sorted({test.split("::")[0] for test in fault.tests})
        return self._digest(fault.path, *SHARED, *files, facts=json.dumps(asdict(fault)))

    def find(self, fault: Fault) -> Record | None:
        """The record of a fault, if it is still true."""
        path = self._folder / f"{fault.name}.json"
        if not path.exists():
            return None
        record = Record(**json.loads(path.read_text()))
        settled = record.far == "" or record.far == self._everything
        return record if settled and record.near == self._near(fault) else None

    def keep(self, fault: Fault, verdict: str, test: str, *, by_own_tests: bool) -> Record:
        """Write the record of a fault, atomically."""
        far = "" if by_own_tests else self._everything
        record = Record(fault.name, verdict, test, self._near(fault), far)
        write_text(self._folder / f"{fault.name}.json", json.dumps(asdict(record)) + "\n")
        return record


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
