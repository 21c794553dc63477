"""What an installation weighs: megabytes and import time of every direct dependency.

A wheel of this tree is installed with all extras into a clean environment, with the pinned
versions. *own*: the files of the package itself; *with its needs*: and of all that it requires;
*saved*: what leaves with it, if it alone is dropped from the core, or from core and its extra. The
import is timed in fresh processes, less the time of a bare interpreter, the shortest of several.

Run it:  python benchmarks/install_weight.py            (downloads up to 300 MB)
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "dp-cmdp"
USER_EXTRAS = ("cvxpy", "figures", "dask", "explorer")
REPEATS = 7
#: What is imported of a package whose name on the index is another.
MODULES = {"lazy-loader": "lazy_loader"}

Needs = Mapping[str, frozenset[str]]


def plain(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: Iterable[str], extra: str = "") -> frozenset[str]:
    """Names in requirements as METADATA has them: always needed, or by one extra."""
    marked = f"extra == ['\"]{extra}['\"]" if extra else None
    return frozenset(
        plain(re.split(r"[^\w.-]", line, maxsplit=1)[0])
        for line in requirements
        if (re.search(marked, line) if marked else "extra ==" not in line)
    )


def closure(start: Iterable[str], needs: Needs) -> frozenset[str]:
    """`start` and all that is needed by it, of what is installed (the keys of `needs`)."""
    found: set[str] = set()
    waiting = [name for name in start if name in needs]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(other for other in needs[name] if other in needs)
    return frozenset(found)


def saved(name: str, direct: Iterable[str], needs: Needs) -> frozenset[str]:
    """What nobody needs once `name` is no direct dependency."""
    return closure(direct, needs) - closure((other for other in direct if other != name), needs)


def _megabytes(distribution: metadata.Distribution) -> float:
    """Files and the byte code that pip makes of them, as RECORD lists both."""
    files = [Path(str(distribution.locate_file(file))) for file in distribution.files or []]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def _seconds(code: str) -> float:
    """Shortest time of a fresh interpreter that runs `code`."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measured() -> str:
    """The weights in the environment of this interpreter."""
    installed = {plain(each.metadata["Name"]): each for each in metadata.distributions()}
    needs = {name: required(each.requires or []) for name, each in installed.items()}
    size = {name: _megabytes(each) for name, each in installed.items()}
    own = metadata.requires(PACKAGE) or []
    owner = dict.fromkeys(sorted(required(own)), "core")
    for extra in USER_EXTRAS:
        brought = sorted(required(own, extra) - {PACKAGE})
        owner = dict.fromkeys(brought, extra) | owner  # the first extra that brings it is named
    bare = _seconds("pass")

    def total(names: Iterable[str]) -> float:
        return round(sum(size[name] for name in names), 1)

    rows = [
        (
            name,
            installed[name].version,
            part,
            total([name]),
            total(closure([name], needs)),
            total(saved(name, _beside(part, owner), needs)),
            round(_seconds(f"import {MODULES.get(name, name)}") - bare, 2),
        )
        for name, part in owner.items()
    ]
    core = closure([name for name, part in owner.items() if part == "core"], needs)
    lines = [
        "| package | version | in | own MB | with its needs | saved if dropped | import s |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(map(str, row))} |" for row in sorted(rows, key=lambda row: -row[5])),
        "",
        f"Python {sys.version.split()[0]}: core {total([*core, PACKAGE])} MB, with all extras "
        f"{total([*closure(owner, needs), PACKAGE])} MB; "
        f"import dp_cmdp {_seconds('import dp_cmdp') - bare:.2f} s",
    ]
    return "\n".join(lines)


def _beside(part: str, owner: Mapping[str, str]) -> list[str]:
    """The direct dependencies of the core, and of the extra `part`."""
    return [name for name, where in owner.items() if where in ("core", part)]


def _in_a_clean_environment(python: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = str(Path(folder) / "bin/python")
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pinned = ["--constraint", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, *pinned, f"{ROOT}[{','.join(USER_EXTRAS)}]"], check=True)
        command = [inside, str(Path(__file__).resolve()), "--inside"]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=folder
        ).stdout  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Weigh an installation")
    parser.add_argument("--python", default=sys.executable, help="interpreter to install for")
    parser.add_argument("--inside", action="store_true", help="weigh this environment as it is")
    options = parser.parse_args()
    print(measured() if options.inside else _in_a_clean_environment(options.python))


if __name__ == "__main__":
    main()
