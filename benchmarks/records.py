"""One JSON line per comparison, printed and kept.

Every line has ``name``, ``size``, ``ours_s``, ``peer``, ``peer_s``, ``ratio`` (peer_s/ours_s) and
``gap`` (certified, relative, ours); further keys say more. ``status`` other than "ok" says why a
peer has no time; "time limit" makes ``peer_s`` and ``ratio`` lower bounds.
"""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "highspy", "cvxpy", "clarabel", "stormpy")


class Records:
    """The lines of one run, in memory, on standard output and in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        self.path = path
        self.lines: list[dict[str, Any]] = []

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
        """Print a line and append it to the file."""
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
        }
        self.lines.append(line)
        text = json.dumps(line)
        print(text, flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

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
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


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
        **found,
    }
