"""The first solve of a new installation, and the next one in a new process.

A wheel is built from this checkout and installed into a new environment, and so is a copy of the
checkout itself (editable). Both see the dependencies of this environment, not its `dp_cmdp`, and
start without a cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from benchmarks.measurement import Clock
from benchmarks.records import Records

FIRST_SOLVE = """
import time
begin = time.perf_counter()
import numpy as np
import dp_cmdp as dp
T = np.full((16, 4, 16), 1 / 16)
r = np.arange(64.0).reshape(16, 4)
model = dp.CMDP(T, r, cost=r[::-1], limit=1e9, start=np.full(16, 1 / 16), gamma=0.9)
imported = time.perf_counter()
dp.answer(model)
print(imported - begin, time.perf_counter() - imported)
"""
ROOT = Path(__file__).parent.parent
#: What belongs to a checkout and not to its installation.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", "*.so", ".*_cache")


def first_use(*, records: Records, clock: Clock) -> None:
    """Lines for an installed wheel and a checkout: the first solve, and one in a second process."""
    for kind, install in (("wheel", _wheel), ("checkout", _checkout)):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            limit = min(300.0, clock.left())
            try:
                python = _environment(place, install(place, limit), limit)
            except subprocess.SubprocessError as error:
                records.add("first use", 16, peer=kind, status=f"failed: {type(error).__name__}")
                continue
            for when in ("first", "second process"):
                _solve_line(kind, when, python, place, records=records, clock=clock)


def _solve_line(
    kind: str, when: str, python: Path, place: Path, *, records: Records, clock: Clock
) -> None:
    seconds, solve_s, status = None, None, "ok"
    try:
        done = _run(python, "-c", FIRST_SOLVE, cwd=place, limit=min(120.0, clock.left()))
        import_s, solve_s = map(float, done.split())
        seconds = import_s + solve_s
    except (subprocess.SubprocessError, ValueError) as error:
        status = f"failed: {type(error).__name__}"
    records.add("first use", 16, ours_s=seconds, peer=f"{kind}, {when}", status=status,
                solve_s=solve_s)  # fmt: skip


def _wheel(place: Path, limit: float) -> list[str]:
    """What pip is to install: a wheel of this checkout."""
    source = place / "source"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    _run(Path(sys.executable), "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir",
         str(place / "wheels"), str(source), cwd=place, limit=limit)  # fmt: skip
    return [str(path) for path in (place / "wheels").glob("*.whl")]


def _checkout(place: Path, limit: float) -> list[str]:
    source = place / "checkout"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    return ["--editable", str(source)]


def _environment(place: Path, wanted: list[str], limit: float) -> Path:
    """A new environment with `wanted`, and in sight of our dependencies."""
    home = place / "environment"
    _run(Path(sys.executable), "-m", "venv", "--without-pip", str(home), cwd=place, limit=limit)
    python = home / "bin" / "python"
    ours = sysconfig.get_path("purelib")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # a path file inside `ours` is not read again: our own editable dp_cmdp stays out of sight
    (home / "lib" / version / "site-packages" / "dependencies.pth").write_text(ours + "\n")
    _run(Path(sys.executable), "-m", "pip", "--python", str(python), "install", "--quiet",
         "--no-deps", "--force-reinstall", *wanted, cwd=place, limit=limit)  # fmt: skip
    return python


def _run(python: Path, *arguments: str, cwd: Path, limit: float) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([str(python), *arguments], env=environment, cwd=cwd,
                          timeout=max(limit, 1.0), capture_output=True, check=True,
                          text=True)  # fmt: skip
    return done.stdout
