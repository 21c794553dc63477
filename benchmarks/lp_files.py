"""Files of linear programs: what certainty and privacy add to a plain solve of the same file.

Three things are timed in turn, in one process, and the medians of the rounds are compared:

* *plain*: ``Highs.run()`` on the file's model, with HiGHS's defaults; reading the file and handing
  the model over are not counted;
* *certified*: ``answer(lp.at(values))``, the same program with its exact certificate;
* *private*: ``answer(lp, release)`` of a release made before: robust rows, solve, certificate for
  everything the release allows. It is another program than the plain one.

Private are all coefficients of inequality rows, or all their right-hand sides but 0, within 1 % of
the file's number and with a radius of 0.05 %.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import highspy
import numpy as np

import dp_cmdp as dp
from benchmarks.lp_families import FAMILIES, write_file
from benchmarks.measurement import Clock, measure
from benchmarks.problems import releases
from benchmarks.records import Records

BUDGET = dp.PrivacyBudget(1, "1/1000000")
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

    @contextmanager
    def file(self) -> Iterator[Path]:
        """Where its file is."""
        if self.path:
            yield Path(self.path)
            return
        with tempfile.TemporaryDirectory() as folder:
            yield write_file(FAMILIES[self.family](self.size, self.seed), Path(folder) / "lp.mps")


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


def private_blocks(model: highspy.HighsLp, kind: str) -> list[dict[str, Any]]:
    """All coefficients, or right-hand sides, of inequality rows."""
    names = np.array(model.row_names_)
    low, high = np.array(model.row_lower_), np.array(model.row_upper_)
    if kind == "coefficients":
        return [{"kind": "coefficient", "rows": names[low != high].tolist(), **BOUNDS}]
    blocks = []
    for side, limit in (("upper", high), ("lower", low)):
        rows = names[(low != high) & np.isfinite(limit) & (limit != 0.0)].tolist()
        if rows:
            blocks.append({"kind": "rhs", "name": side, "side": side, "rows": rows, **BOUNDS})
    return blocks


def rounds(case: Case) -> Callable[[], dict[str, Any]]:
    """Plain, certified and private solves in turn; the median of each."""
    calls: dict[str, Callable[[], Any]] = {}
    with case.file() as path:
        loaded = _loaded(path)
        for kind in ("coefficients", "right-hand sides"):
            private = {"private": private_blocks(loaded, kind)}
            lp = dp.lpfile.load(path, private, relative_to_model=True, relax=True)
            values = dp.Database(dp.lpfile.values(path, private, model=path), lp).read()
            calls.setdefault("certified", partial(dp.answer, lp.at(values)))
            rng = np.random.default_rng(case.seed)
            again = partial(dp.answer, lp, next(releases(lp, values, BUDGET, rng)))
            with suppress(dp.errors.SolverError):  # nothing is feasible for every database
                again()
                calls[kind] = again

    def run() -> dict[str, Any]:
        times: dict[str, list[float]] = {}
        begin = time.perf_counter()
        for _ in range(ROUNDS):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.passModel(loaded)
            for kind, call in {"plain": highs.run, **calls}.items():
                times.setdefault(kind, []).append(_seconds(call))
            if time.perf_counter() - begin > ENOUGH:
                break
        found: dict[str, Any] = {kind: median(each) for kind, each in times.items()}
        size = len(loaded.a_matrix_.value_)
        return {**found, "rounds": len(times["plain"]), "coefficients in all": size}

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
