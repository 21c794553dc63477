"""One JSON line per comparison, printed and kept.

A run is made of parts, each with a key. The lines of a part are appended to the file in one piece
when the part is done, so a run that was stopped goes on with the parts that its file does not hold.

Every line has ``name``, ``size``, ``ours_s``, ``peer``, ``peer_s``, ``ratio`` (peer_s/ours_s) and
``gap`` (certified, relative, ours); further keys say more. ``status`` other than "ok" says why a
peer has no time; "time limit" makes ``peer_s`` and ``ratio`` lower bounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dp_cmdp

LIBRARIES = ("numpy", "scipy", "highspy", "cvxpy", "clarabel", "stormpy")


class Records:
    """The lines of one run, in memory, on standard output and in a file.

    With `resume` it goes on from what the file holds, if the same sources wrote it.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.pending = path, []
        self.lines: list[dict[str, Any]] = []
        if resume and path.exists():
            self.lines = resumed_lines(path)
            found = {line["sources"] for line in self.select("machine")}
            if found - {sources()}:
                raise ValueError(f"{path} was written by other sources; --fresh begins anew")
        else:
            path.write_text("", encoding="utf-8")

    @contextmanager
    def part(self, key: str) -> Iterator[bool]:
        """Whether the part is still to be done; its lines are kept when the block ends."""
        self.key = key
        yield not any(line.get("part") == key for line in self.lines)
        if self.pending:
            text = "".join(json.dumps(line) + "\n" for line in self.pending)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self.pending = []

    def drop(self) -> None:
        """Forget the lines of a part that failed."""
        self.lines = self.lines[: len(self.lines) - len(self.pending)]
        self.pending = []

    def add(
        self,
        name: str,
        size: int | None,
        *,
        ours_s: float | None = None,
        peer: str | None = None,
        peer_s: float | None = None,
        gap: float | None = None,
        **more: Any,
    ) -> None:
        """Print a line and note it for the file."""
        ratio = peer_s / ours_s if peer_s is not None and ours_s else None
        line = {
            "name": name,
            "size": size,
            "ours_s": rounded(ours_s),
            "peer": peer,
            "peer_s": rounded(peer_s),
            "ratio": rounded(ratio, digits=3),
            "gap": rounded(gap, digits=2),
            **{key: rounded(value) for key, value in more.items()},
            "part": self.key,
        }
        self.lines.append(line)
        self.pending.append(line)
        print(json.dumps(line), flush=True)

    def select(self, name: str, **match: Any) -> list[dict[str, Any]]:
        return select(self.lines, name, **match)


def select(lines: list[dict[str, Any]], name: str, **match: Any) -> list[dict[str, Any]]:
    """The lines of that name whose keys have the given values."""
    return [
        line
        for line in lines
        if line["name"] == name and all(line.get(key) == value for key, value in match.items())
    ]


def rounded(value: Any, *, digits: int = 4) -> Any:
    """A float to some significant digits; anything else unchanged."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; what follows the last line break was cut off and does not count."""
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line.strip()]


def resumed_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file to be continued, from which a line that was cut off is removed."""
    content = path.read_bytes()
    os.truncate(path, content.rfind(b"\n") + 1)
    return read_lines(path)


def sources() -> str:
    """A digest of the CMDP solver's sources: times of two versions do not mix."""
    digest = hashlib.sha256()
    files = (Path(dp_cmdp.__file__).parent / "_src/cmdp").rglob("*")
    for path in sorted(path for path in files if path.suffix in (".py", ".c", ".h")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def machine() -> dict[str, Any]:
    """Cores, memory and versions: what a time depends on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "memory_gib": memory,
        "python": platform.python_version(),
        "sources": sources(),
        **found,
    }
