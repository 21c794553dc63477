"""Files of linear programs: what certainty and privacy add to a plain solve of the same file.

Three things are timed in turn, in one process, and the medians of the rounds are compared:

* *plain*: ``Highs.run()`` on the file's model, with HiGHS's defaults; reading the file and handing
  the model over are not counted;
* *certified*: ``solve(model.program())``, the same program with its exact certificate;
* *private*: ``solve_private(program, release)`` of a release made before: robust counterpart,
  solve, certificate for everything the release allows. It is another program than the plain one.

Private are all coefficients of inequality rows, or all their right-hand sides but 0, within 1 % of
the file's number and with a radius of 0.05 %.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import highspy
import numpy as np

from benchmarks.lp_families import FAMILIES, write_file
from benchmarks.measurement import Clock, measure
from benchmarks.records import Records
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.errors import SolverError
from dp_cmdp.frontends.lp_file import LpModel, read_lp
from dp_cmdp.frontends.lp_spec import private_blocks
from dp_cmdp.frontends.private_lp import PrivateLp, private_program
from dp_cmdp.program.linear_program import solve
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private

BUDGET = PrivacyBudget(1, "1/1000000")
#: Sizes of each family, whose plain solve takes at least some 10 ms.
SIZES = {
    "transport": (60, 80, 120),
    "multi-commodity": (100, 150, 250),
    "staircase": (20, 60, 100),
    "set cover": (300, 600, 1000),
}
#: Rounds of one case at most, and the seconds after which no other begins.
ROUNDS, ENOUGH = 9, 4.0
BOUNDS = {"relative": True, "lower": 0.99, "upper": 1.01, "radius": 0.0005}


@dataclass(frozen=True, slots=True)
class Case:
    """A file of a folder, or one of a family."""

    name: str
    path: str = ""
    family: str = ""
    size: int = 0
    seed: int = 0

    def read(self) -> tuple[LpModel, highspy.HighsLp]:
        if self.path:
            return read_lp(self.path, relax=True), _loaded(Path(self.path))
        with tempfile.TemporaryDirectory() as folder:
            path = write_file(FAMILIES[self.family](self.size, self.seed), Path(folder) / "lp.mps")
            return read_lp(path), _loaded(path)


def _loaded(path: Path) -> highspy.HighsLp:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    model = highs.getLp()
    model.integrality_ = []
    return model


def cases(folder: Path, *, seeds: int, sizes: int) -> Iterator[Case]:
    """The files of a folder, then every family at its first sizes."""
    for path in sorted(folder.glob("*.mps.gz")):
        yield Case(path.name.removesuffix(".mps.gz"), path=str(path))
    for family, known in SIZES.items():
        for size in known[:sizes]:
            for seed in range(seeds):
                yield Case(f"{family} {size}", family=family, size=size, seed=seed)


def with_private(model: LpModel, kind: str) -> PrivateLp:
    """The model with all coefficients, or right-hand sides, of inequality rows private."""
    free = ~model.equal
    if kind == "coefficients":
        rows = [name for name, kept in zip(model.row_names, free, strict=True) if kept]
        blocks = [{"kind": "coefficient", "rows": rows, **BOUNDS}]
    else:
        blocks = []
        for side, numbers in (("upper", model.row_upper), ("lower", model.row_lower)):
            kept = free & np.isfinite(numbers) & (numbers != 0.0)
            rows = [model.row_names[i] for i in np.flatnonzero(kept)]
            if rows:
                blocks.append({"kind": "rhs", "name": side, "side": side, "rows": rows, **BOUNDS})
    return private_program(model, private_blocks({"private": blocks}), public_model=True)


def rounds(case: Case) -> Callable[[], dict[str, Any]]:
    """Plain, certified and private solves in turn; the median of each."""
    model, loaded = case.read()
    plain_program = model.program()
    releases = {}
    for kind in ("coefficients", "right-hand sides"):
        private = with_private(model, kind)
        release = release_database(
            private.database(model), BUDGET, rng=np.random.default_rng(case.seed)
        )
        try:
            solve_private(private.program, release)
        except SolverError:
            continue  # nothing is feasible for every database
        releases[kind] = private.program, release

    def run() -> dict[str, Any]:
        times: dict[str, list[float]] = {}
        begin = time.perf_counter()
        for _ in range(ROUNDS):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.passModel(loaded)
            times.setdefault("plain", []).append(_seconds(highs.run))
            times.setdefault("certified", []).append(_seconds(lambda: solve(plain_program)))
            for kind, (program, release) in releases.items():
                again = lambda p=program, r=release: solve_private(p, r)  # noqa: E731
                times.setdefault(kind, []).append(_seconds(again))
            if time.perf_counter() - begin > ENOUGH:
                break
        found: dict[str, Any] = {kind: median(each) for kind, each in times.items()}
        return {**found, "rounds": len(times["plain"]), "coefficients in all": model.A.nnz}

    return run


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def lp_files(folder: Path, *, seeds: int, sizes: int, records: Records, clock: Clock) -> None:
    """One line per file and kind of solve; `overhead` is our time over the plain one."""
    small = Case("small", family="transport", size=3)
    for case in cases(folder, seeds=seeds, sizes=sizes):
        found = measure(rounds, case, small=small, limit=60.0, clock=clock, repeats=1)
        times = found.answer or {}
        for kind in ("certified", "coefficients", "right-hand sides"):
            ours, plain = times.get(kind), times.get("plain")
            status = found.status if ours or not times else "no point for every database"
            records.add(
                "lp files",
                times.get("coefficients in all"),
                ours_s=ours,
                peer="plain HiGHS solve of the file",
                peer_s=plain,
                case=case.name,
                seed=case.seed,
                solve=kind if kind == "certified" else f"private {kind}",
                overhead=ours / plain if ours and plain else None,
                rounds=times.get("rounds"),
                status=status,
            )
