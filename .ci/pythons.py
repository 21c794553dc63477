"""The Pythons of this machine, clean environments for them, and commands run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from release_facts import minor

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
#: No command takes longer, a slow network included.
PATIENCE_SECONDS = 1800


class StepError(Exception):
    """A step failed; the text says why."""


def run(command: Sequence[str | Path], *, cwd: Path) -> str:
    """What `command` says, away from this tree's environment; StepError if it fails."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    environment = {name: text for name, text in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env=environment, timeout=PATIENCE_SECONDS, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise StepError(f"exit code {done.returncode}: {last_lines(done.stdout)}")
    return done.stdout


def last_lines(text: str, count: int = 3) -> str:
    """The end of what a command said, in one line."""
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-count:])


def newest_of_each_minor(found: Iterable[tuple[str, Path]], lowest: str) -> dict[str, Path]:
    """One interpreter per minor version from `lowest` ("3.11") on: the newest, in order."""
    best: dict[str, tuple[int, Path]] = {}
    for version, path in found:
        major, middle, micro = (int(part) for part in version.split(".")[:3])
        name = f"{major}.{middle}"
        fits = major == 3 and middle >= minor(lowest)
        if fits and (name not in best or best[name][0] < micro):
            best[name] = micro, path
    return {name: best[name][1] for name in sorted(best, key=minor)}


def interpreters() -> Iterator[tuple[str, Path]]:
    """Version and place of every CPython on PATH and under pyenv that starts."""
    names = ["python3", *(f"python3.{number}" for number in range(11, 20))]
    on_path = [Path(place) for place in map(shutil.which, names) if place]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in (*on_path, *pyenv.glob("versions/*/bin/python3")):
        code = "import platform, sys; print(platform.python_version(), sys.executable)"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        # a shim may not start, and a release candidate (3.15.0rc1) does not count
        if said := re.fullmatch(r"(\d+\.\d+\.\d+) (.+)\n", done.stdout):
            yield said[1], Path(said[2])


class Environment:
    """A clean virtual environment."""

    def __init__(self, python: Path, folder: Path, *, pinned: bool) -> None:
        self.folder = folder
        self.python = folder / "bin/python"
        self._pins: tuple[str | Path, ...] = ("--constraint", CONSTRAINTS) if pinned else ()
        run([python, "-m", "venv", folder], cwd=folder.parent)

    def install(self, *packages: str) -> None:
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *self._pins, *packages], cwd=self.folder)

    def megabytes(self) -> int:
        files = (
            path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()
        )
        return round(sum(path.stat().st_size for path in files) / 1e6)
