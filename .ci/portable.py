"""The suite under settings that differ from machine to machine, one after the other.

One axis at a time, then three combinations drawn from all axes: OpenBLAS's kernels for several
processors, numpy without optional CPU features, one and four threads, hash seeds, time zone,
locale, random order, a path with spaces, a user who is not root. Every finished setting is kept in
out/portable, so that a run goes on where it was stopped; a change of the tree or of the arguments
makes its tests run again. One table tells what was seen from inside each run: a setting that did
not take effect has failed, and one that this machine cannot have is named with the reason.

Run it:  make test-portable        (or: python .ci/portable.py --only Haswell -- tests/kernel)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import locale
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out/portable"
PLUGIN = "portable_seen"
#: OpenBLAS's kernels by the flags of /proc/cpuinfo that they need.
KERNELS = {
    "Prescott": ("pni",),
    "Nehalem": ("sse4_2",),
    "Haswell": ("avx2", "fma"),
    "Zen": ("avx2", "fma"),
    "SkylakeX": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
#: Older names under which builds of OpenBLAS report the same kernels.
ALIASES = {"Prescott": ("Katmai",)}
#: Locales that write decimal commas; the first of them lower-cases I in its own way.
COMMAS = ("tr_TR.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8")
#: Combinations of all axes, and the seed that draws them.
COMBINATIONS, SEED = 3, 26
#: Makes root a user with the same files and without privileges, as in a clone of one's own.
AS_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is given, and which values must be seen inside it."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spaced: bool = False
    prefix: tuple[str, ...] = ()
    cannot: str = ""  # why this machine cannot have it

    def __and__(self, other: Setting) -> Setting:
        return Setting(
            self.name,
            {**self.env, **other.env},
            self.options + other.options,
            {**self.wanted, **other.wanted},
            self.spaced or other.spaced,
            self.prefix + other.prefix,
            self.cannot or other.cannot,
        )

    def problem(self, report: Mapping[str, Any]) -> str:
        """Why a report is no success, or nothing."""
        off = [key for key, values in self.wanted.items() if report["seen"].get(key) not in values]
        if off:
            return f"not in effect: {', '.join(off)}"
        if report["failed"] or report["status"] or not report["passed"]:
            return f"failed (pytest ended with {report['status']})"
        return ""


def probe(env: Mapping[str, str], prefix: Sequence[str] = ()) -> dict[str, str] | str:
    """What a process in this environment sees, or why there is none."""
    command = [*prefix, sys.executable, str(ROOT / ".ci" / f"{PLUGIN}.py")]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **env, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"it ends with {done.returncode}"])[-1]
    return json.loads(done.stdout)


def blas_settings(flags: set[str]) -> Iterator[Setting]:
    for name, needs in KERNELS.items():
        allowed, env = (name, *ALIASES.get(name, ())), {"OPENBLAS_CORETYPE": name}
        cannot = " ".join(flag for flag in needs if flag not in flags)
        if cannot:
            cannot = f"the processor lacks {cannot}"
        else:
            found = probe(env)
            taken = found if isinstance(found, str) else found["blas"]
            cannot = "" if taken in allowed else f"asked for {name}, OpenBLAS takes: {taken}"
        yield Setting(name, env, wanted={"blas": allowed}, cannot=cannot)


def feature_settings(enabled: Sequence[str]) -> Iterator[Setting]:
    """Without the last, the last two ... of numpy's features, which build on each other."""
    if not enabled:
        yield Setting("no CPU features", cannot="this numpy uses no optional feature here")
    for kept in range(len(enabled)):
        off = " ".join(enabled[kept:])
        wanted = {"features": (" ".join(enabled[:kept]) or "none",)}
        name = f"numpy without {'+'.join(enabled[kept:])}"
        yield Setting(name, {"NPY_DISABLE_CPU_FEATURES": off}, wanted=wanted)


def hash_setting(seed: str) -> Setting:
    env = {"PYTHONHASHSEED": seed}
    code = "print(f\"{hash('dp_cmdp') & 0xFFFFFF:06x}\")"
    command = [sys.executable, "-c", code]
    value = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    return Setting(f"hash seed {seed}", env, wanted={"hash": (value.strip(),)})


def comma_setting() -> Setting:
    """The first installed locale with a decimal comma."""
    before, found = locale.setlocale(locale.LC_NUMERIC), ""
    for name in COMMAS:
        with suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, name)
            found = found or name
    locale.setlocale(locale.LC_NUMERIC, before)
    cannot = "" if found else f"none of these locales is installed: {' '.join(COMMAS)}"
    return Setting("decimal comma", {"LC_ALL": found}, wanted={"decimal": ("1,5",)}, cannot=cannot)


def user_setting() -> Setting:
    setting = Setting("not root", wanted={"user": ("not root",)})
    if os.geteuid() != 0:
        return setting
    found = probe({}, AS_NOBODY)
    taken = found if isinstance(found, str) else found["user"]
    cannot = "" if taken == "not root" else f"no user without privileges: {taken}"
    return setting & Setting("", prefix=AS_NOBODY, cannot=cannot)


def axes() -> list[list[Setting]]:
    """Alternatives to what is here, by axis."""
    here = probe({})
    if isinstance(here, str):
        sys.exit(f"the tests cannot be run at all: {here}")
    enabled = [name for name in here["features"].split() if name != "none"]
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    return [
        list(blas_settings(cpu_flags())),
        list(feature_settings(enabled)),
        [
            Setting(f"threads {n}", dict.fromkeys(threads, n), wanted={"threads": (n,)})
            for n in ("1", "4")
        ],
        [hash_setting("0"), hash_setting("1")],
        [Setting("Kathmandu's time", {"TZ": "NPT-5:45"}, wanted={"zone": ("+0545",)})],
        [Setting("LC_ALL=C", {"LC_ALL": "C"}, wanted={"decimal": ("1.5",)}), comma_setting()],
        [
            Setting(
                "random order",
                options=("-p", "randomly", "--randomly-seed=1"),
                wanted={"order": ("shuffled",)},
            )
        ],
        [Setting("path with spaces", wanted={"folder": ("with spaces",)}, spaced=True)],
        [user_setting()],
    ]


def cpu_flags() -> set[str]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def settings(choices: Sequence[Sequence[Setting]]) -> list[Setting]:
    """What is here, one axis at a time, then combinations of what can be had, drawn by a seed."""
    rng = random.Random(SEED)
    possible = [[one for one in axis if not one.cannot] for axis in choices]
    drawn = [
        reduce(
            Setting.__and__, (rng.choice(axis) for axis in possible if axis), Setting(f"all {n}")
        )
        for n in range(1, COMBINATIONS + 1)
    ]
    return [Setting("as it is"), *(one for axis in choices for one in axis), *drawn]


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


def tree() -> str:
    """A short name for what the tracked files hold."""
    found = hashlib.sha256()
    for name in tracked():
        path = ROOT / name
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        found.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return found.hexdigest()[:16]


@contextmanager
def folder_of(setting: Setting) -> Iterator[Path]:
    """Where its tests run: here, or in a copy with kernels of its own."""
    if not setting.spaced:
        yield ROOT
        return
    with tempfile.TemporaryDirectory(prefix="a path with spaces ") as folder:
        for name in tracked():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        build = Path(folder) / "dp_cmdp/_src/cmdp/solvers/kernels/build.py"
        subprocess.run([sys.executable, str(build)], check=True)
        yield Path(folder)


def run(setting: Setting, arguments: Sequence[str]) -> dict[str, Any]:
    """The report of one run; what breaks before the tests end is its problem."""
    start = time.perf_counter()
    with folder_of(setting) as folder, tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / "report.json"
        paths = os.pathsep.join(map(str, (folder / ".ci", folder)))
        env = {**os.environ, **setting.env, "PYTHONPATH": paths, "PORTABLE_REPORT": str(written)}
        command = [*setting.prefix, sys.executable, "-m", "pytest", "-q", "-p", PLUGIN]
        command += [*setting.options, *arguments]
        code = subprocess.run(command, cwd=folder, env=env, check=False).returncode
        report = json.loads(written.read_text()) if written.exists() else None
    if report is None:
        report = {"passed": 0, "failed": 0, "skipped": 0, "wrong": [], "seen": {}}
    report |= {"status": code, "seconds": round(time.perf_counter() - start)}
    return report


def kept(setting: Setting, arguments: Sequence[str], *, again: bool) -> dict[str, Any]:
    """The report of this tree and these arguments: the one at hand, or a new one."""
    path = OUT / f"{setting.name.replace(' ', '-')}.json"
    made_of = json.loads(json.dumps([tree(), sys.version, setting.env, setting.options, arguments]))
    if not again and path.exists():
        report = json.loads(path.read_text())
        if report["made_of"] == made_of:
            return report
    report = run(setting, arguments) | {"made_of": made_of}
    if report["status"] in (0, 1):  # the tests came to their end
        OUT.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(report, indent=1))
        fresh.replace(path)
    return report


def row(setting: Setting, report: Mapping[str, Any] | None) -> tuple[str, ...]:
    """One line of the table."""
    if report is None:
        return setting.name, "", "", "", "", f"cannot run here: {setting.cannot}"
    keys = setting.wanted or report["seen"]
    told = [f"{key} {report['seen'].get(key, '?')}" for key in keys]
    note = "; ".join(filter(None, (setting.problem(report).upper(), *told)))
    counts = (str(report[key]) for key in ("passed", "failed", "skipped", "seconds"))
    return setting.name, *counts, note


def table(rows: Sequence[tuple[str, ...]]) -> str:
    head = ("setting", "passed", "failed", "skipped", "seconds", "seen")
    widths = [max(len(line[at]) for line in (head, *rows)) for at in range(len(head) - 1)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:], strict=True)]
            + [line[-1]]
        )
        for line in (head, *rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="settings to run, by name")
    parser.add_argument("--list", action="store_true", help="name the settings, and run nothing")
    parser.add_argument("--again", action="store_true", help="run also what is at hand")
    parser.add_argument(
        "arguments", nargs="*", default=["-n", "2"], help="after --: of pytest (-n 2: the suite)"
    )
    asked = parser.parse_args()
    chosen = settings(axes())
    if unknown := set(asked.only or ()) - {one.name for one in chosen}:
        parser.error(f"no setting {sorted(unknown)}; there are {[one.name for one in chosen]}")
    chosen = [one for one in chosen if not asked.only or one.name in asked.only]
    rows, wrong = [], []
    for number, setting in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {setting.name} {setting.cannot}", flush=True)
        if asked.list:
            continue
        report = None
        if not setting.cannot:
            report = kept(setting, asked.arguments, again=asked.again)
            if setting.problem(report):
                wrong.append((setting.name, report["wrong"]))
        rows.append(row(setting, report))
    if asked.list:
        return 0
    print(f"\n{table(rows)}")
    for name, tests in wrong:
        print(f"\n{name} failed:", *tests, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
