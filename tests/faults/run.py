"""Put faults into a copy of the package, one at a time, and see the tests fail.

    python -m tests.faults.run                  every fault; exit code 1 if one is not caught
    python -m tests.faults.run --only ledger    those whose promise or place has the word
    python -m tests.faults.run --check          only whether each fault still has a place

A fault is addressed by its function and an expression in it, as `ast.unparse` writes it: formatting
and comments do not matter. A fault whose expression is not there, once, is *lost* and counts as not
caught: say anew where the promise is kept.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

from tests.faults.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
PARTS = ("dp_cmdp", "envs", "paper", "examples", "tests", "docs", "pyproject.toml", "README.md")
TIMEOUT = 900


def file_of(fault: Fault, root: Path = ROOT) -> Path:
    """The file of the function."""
    module = fault.place.partition(":")[0].replace(".", "/")
    return root / f"dp_cmdp/_src/{module}.py"


def faulty(fault: Fault) -> str:
    """The text of the file with the fault; LookupError if there is no such place."""
    text = file_of(fault).read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for name in fault.place.partition(":")[2].split("."):
        inside = [n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == name]
        if len(inside) != 1:
            raise LookupError(f"there is no {fault.place}")
        node = inside[0]
    assert isinstance(node, ast.FunctionDef)
    code = ast.unparse(node)
    if code.count(fault.old) != 1:
        raise LookupError(f"{code.count(fault.old)} times in {fault.place}: {fault.old}")
    lines = text.splitlines(keepends=True)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    changed = textwrap.indent(code.replace(fault.old, fault.new), " " * node.col_offset)
    lines[first - 1 : node.end_lineno] = [f"{changed}\n"]
    made = "".join(lines)
    ast.parse(made)
    return made


def is_caught(fault: Fault, copy: Path) -> bool:
    """Whether a test of the fault fails; without it all of them must pass."""
    if not honest_pass(fault.tests, copy):
        raise RuntimeError(f"without a fault {fault.tests} must pass")
    file = file_of(fault, copy)
    honest = file.read_text(encoding="utf-8")
    file.write_text(faulty(fault), encoding="utf-8")
    try:
        return not passes(fault.tests, copy)
    finally:
        file.write_text(honest, encoding="utf-8")


@cache
def honest_pass(tests: str, copy: Path) -> bool:
    return passes(tests, copy)


def passes(tests: str, copy: Path) -> bool:
    """Whether tests pass in the copy; those that take too long do not."""
    paths = [f"tests/{name}" for name in tests.split()]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return done.returncode == 0


def copied(folder: Path) -> Path:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / part, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, folder / part)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the promise or the place")
    parser.add_argument("--check", action="store_true", help="run no test")
    options = parser.parse_args()
    chosen = [f for f in FAULTS if options.only in f.promise + f.place]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = None if options.check else copied(Path(folder))
        for fault in chosen:
            try:
                made = faulty(fault)
                verdict = "caught" if copy is None or is_caught(fault, copy) else "NOT CAUGHT"
                verdict = "has a place" if made and copy is None else verdict
            except (LookupError, RuntimeError) as error:
                verdict = f"{'LOST' if isinstance(error, LookupError) else 'BROKEN'}: {error}"
            missed += verdict not in ("caught", "has a place")
            print(f"{verdict}: {fault.promise} ({fault.place}: {fault.new})", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)}")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
