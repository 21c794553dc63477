"""Compiles the kernels: ``python dp_cmdp/_src/cmdp/solvers/kernels/build.py``.

Run when the package is built. One shared library without any dependency, called through ctypes: it
does not depend on the version of Python. Needs a C compiler (``CC``, or cc, gcc, clang) where the
package is *built*, not where a wheel is installed. The standard library alone is used, because the
build hook imports this file by its path.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
#: The dot keeps it from being taken for a module of Python.
LIBRARY = FOLDER / "kernels.lib.so"
#: What CFLAGS may change.
OPTIMISED = "-O3"
#: What they may not: sums are not reassociated, so that error bounds hold as they are written.
FLAGS = (
    "-fno-fast-math",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ffp-contract=off",
)


SOURCES, HEADERS = sorted(FOLDER.glob("*.c")), sorted(FOLDER.glob("*.h"))


def digest() -> str:
    """What the sources say, as a short name: a library made of others is not used."""
    found = hashlib.sha256()
    for path in (*SOURCES, *HEADERS):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def compiler() -> list[str] | None:
    """The C compiler to use, or None where there is none."""
    if asked := shlex.split(os.environ.get("CC", "")):
        return asked if shutil.which(asked[0]) else None
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)


def build(target: Path = LIBRARY) -> Path | None:
    """Compile the library to `target`; None, and a word on standard error, where it cannot be."""
    command = compiler()
    if command is None:
        print("dp_cmdp: no C compiler found; models are solved by HiGHS alone", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        asked = [OPTIMISED, *shlex.split(os.environ.get("CFLAGS", ""))]
        flags = [*asked, *FLAGS, f'-DKERNELS_DIGEST="{digest()}"']
        done = subprocess.run(
            [*command, *flags, *map(str, SOURCES), "-lm", "-o", str(made)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"dp_cmdp: the kernels did not compile:\n{done.stderr}", file=sys.stderr)
            return None
        made.replace(target)
    return target


if __name__ == "__main__":
    raise SystemExit(0 if build() else 1)
