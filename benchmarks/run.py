"""The benchmark suite: one JSON line per comparison, and its figures.

    python benchmarks/run.py --quick     a sample of every family, under five minutes
    python benchmarks/run.py             everything, up to 10⁶ states, in hours; stop it at will
    python benchmarks/run.py --only family --only sweep
    python benchmarks/run.py --choosing  on the seeds on which constants are chosen

Lines go to standard output and to out/bench/quick.jsonl or full.jsonl; figures lie beside them. The
full run goes on where it was stopped (``--fresh`` begins anew). Peers have time limits; those that
are not installed are left out with a note. Exit code 1 when a section failed.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.families import CHOOSING, REPORTING
from benchmarks.family_figure import family_figures
from benchmarks.first_use import first_use
from benchmarks.general_lp import general_lp
from benchmarks.growth import growth, physical_limit
from benchmarks.lp_files import lp_files
from benchmarks.matrix import (
    families,
    further_cases,
    main_cases,
    quick_cases,
    required_cases,
)
from benchmarks.measurement import Clock
from benchmarks.problems import RADIUS
from benchmarks.records import Records, machine
from benchmarks.single import single
from benchmarks.sweep import grids, sweep
from benchmarks.synthesis import SIZES, synthesis

#: Radius of sweeps whose draws lie close together, which suits warm starts.
CALM = 0.02

#: Name, key of the part ("" where the section has parts of its own), work.
Section = tuple[str, str, Callable[[], None]]


def quick(records: Records, clock: Clock, lps: Path, seeds: tuple[int, ...]) -> list[Section]:
    """The sections of ``make bench-quick``, the most telling first."""
    kit = {"records": records, "clock": clock}
    families_s = Clock(min(clock.left(), 200.0))
    warm = partial(grids, 32, number=300, peer_number=20, seeds=seeds[:1], **kit)
    return [
        ("family", "", partial(families, quick_cases(seeds[:1]), records=records,
                               clock=families_s, most=5.0, storm=False)),
        ("sweep", "sweep 1", partial(warm, radius=RADIUS)),
        ("sweep", "sweep 2", partial(warm, radius=RADIUS, costs=2)),
        ("synthesis", "synthesis", partial(synthesis, (1_000,), seed=seeds[0], turns=1, **kit)),
        ("first-use", "first use", partial(first_use, **kit)),
        ("single", "single 32", partial(single, 32, limit=5.0, **kit)),
    ]  # fmt: skip


def full(records: Records, clock: Clock, lps: Path, seeds: tuple[int, ...]) -> list[Section]:
    """The sections of ``make bench``: what is required first, what takes longest last."""
    kit = {"records": records, "clock": clock}
    one = partial(single, **kit)
    many = partial(sweep, number=2000, peer_number=100, limit=30.0, **kit)
    calm = partial(many, radius=CALM, only=["highs warm"])
    five = partial(grids, 32, number=2000, peer_number=100, **kit)
    return [
        ("family", "", partial(families, required_cases(seeds[:1]), **kit)),
        *(("sweep", f"sweep {costs} {radius:g}", partial(five, radius=radius, costs=costs))
          for costs in (1, 2) for radius in (RADIUS, CALM)),
        *(("synthesis", f"synthesis {size}", partial(synthesis, (size,), seed=seeds[0], **kit))
          for size in SIZES),
        ("first-use", "first use", partial(first_use, **kit)),
        ("family", "", partial(families, main_cases(seeds), **kit)),
        ("family", "", partial(families, required_cases(seeds[1:]), **kit)),
        ("family", "", partial(families, further_cases(seeds), **kit)),
        *(("single", f"single {n}", partial(one, n, limit=limit))
          for n, limit in ((10, 10.0), (32, 20.0), (100, 30.0), (316, 30.0))),
        ("sweep", "sweep peers 10", partial(many, 10, peer_number=1000)),
        ("sweep", "sweep peers 32", partial(many, 32)),
        ("sweep", "sweep calm 10", partial(calm, 10, peer_number=1000)),
        ("general", "general", partial(general_lp, 1000, 200, limit=60.0, enough=10.0, **kit)),
        ("growth", "growth", partial(growth, 100, limit=60.0, **kit)),
        ("million", "million", partial(one, 1000, limit=60.0, general=False, gap=1e-6)),
        ("limit", "limit", partial(physical_limit, (32, 100, 316, 1000), records=records)),
        ("lp-files", "lp files", partial(lp_files, lps, seeds=3, sizes=3, **kit)),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, under five minutes")
    parser.add_argument("--only", action="append", metavar="SECTION", help="may be repeated")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument(
        "--lps", type=Path, default=Path("../shared/lp"), help="folder of .mps.gz files, if at hand"
    )
    parser.add_argument("--budget", type=float, help="seconds for the suite; quick: 280")
    parser.add_argument("--fresh", action="store_true", help="do not go on from an earlier run")
    parser.add_argument("--choosing", action="store_true", help="seeds for choosing constants")
    options = parser.parse_args()
    clock = Clock(options.budget or (280.0 if options.quick else None))
    kind = ("quick" if options.quick else "full") + ("-choosing" if options.choosing else "")
    resume = not (options.fresh or options.quick)
    try:
        records = Records(options.out / f"{kind}.jsonl", resume=resume)
    except ValueError as error:
        parser.error(str(error))
    build = quick if options.quick else full
    sections = build(records, clock, options.lps, CHOOSING if options.choosing else REPORTING)
    known = sorted({name for name, _, _ in sections})
    if unknown := set(options.only or ()) - set(known):
        parser.error(f"--only must be one of {', '.join(known)}; got {', '.join(unknown)}")
    with records.part("machine") as due:
        if due:
            records.add("machine", None, **machine())
    failed = _run_all(sections, options.only, records=records, clock=clock)
    for path in family_figures(records.lines, options.out / kind):
        print(path, file=sys.stderr)
    return 1 if failed else 0


def _run_all(
    sections: list[Section], only: list[str] | None, *, records: Records, clock: Clock
) -> bool:
    """Run the chosen sections; one that fails leaves a line and the others run."""
    failed = False
    for name, key, section in sections:
        if only and name not in only:
            continue
        try:
            if not key:
                section()
                continue
            with records.part(key) as due:
                if due and clock.left() > 3.0:
                    section()
                elif due:
                    records.add("skipped", None, section=name, status="the suite was out of time")
        except Exception as error:
            traceback.print_exc()
            records.drop()
            with records.part(f"failed {name} {key}"):
                records.add("failed", None, section=name, status=type(error).__name__)
            failed = True
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
