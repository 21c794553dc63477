"""The benchmark suite: one JSON line per comparison, and a figure.

    python benchmarks/run.py --quick     under five minutes
    python benchmarks/run.py             everything, up to 10⁶ states
    python benchmarks/run.py --quick --only sweep --only general

Lines go to standard output and to out/bench/quick.jsonl or full.jsonl; the figure lies beside them.
Peers have time limits, and are left out with a note where they are not installed. Exit code 1 when
a section failed.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from figure import benchmark_figure
from first_use import first_use
from general_lp import general_lp
from growth import growth, physical_limit
from lp_files import lp_files
from measurement import Clock
from privatizer import privatizer
from problems import RADIUS
from records import Records, machine
from single import single
from sweep import grids, sweep

#: Radius of sweeps whose draws lie close together, which suits warm starts.
CALM = 0.02

Section = tuple[str, Callable[[], None]]


def quick(records: Records, clock: Clock, lps: Path) -> list[Section]:
    """The sections of ``make bench-quick``, the most telling first."""
    one = partial(single, records=records, clock=clock)
    many = partial(sweep, number=2000, peer_number=20, records=records, clock=clock)
    calm = partial(many, radius=CALM, only=["highs warm"])
    return [
        ("single", partial(one, 32, limit=10.0)),
        ("sweep", partial(many, 10, peer_number=200, limit=10.0)),
        ("sweep", partial(many, 32, number=600, limit=8.0)),
        ("single", partial(one, 100, limit=10.0)),
        ("single", partial(one, 316, limit=40.0, general=False)),
        ("single", partial(one, 10, limit=10.0)),
        ("sweep", partial(calm, 10, peer_number=200, limit=10.0)),
        ("sweep", partial(calm, 32, number=600, limit=10.0)),
        ("privatizer", partial(privatizer, 316, records=records, clock=clock)),
        ("general", partial(general_lp, 1000, 200, records=records, clock=clock, limit=40.0,
                            enough=10.0)),
        ("privatizer", partial(privatizer, 1000, records=records, clock=clock)),
        ("lp-files", partial(lp_files, lps, seeds=1, sizes=1, records=records, clock=clock)),
        ("growth", partial(growth, 32, records=records, clock=clock, limit=20.0)),
        ("limit", partial(physical_limit, (32, 100, 316), records=records)),
        ("first-use", partial(first_use, records=records, clock=clock)),
    ]  # fmt: skip


def full(records: Records, clock: Clock, lps: Path) -> list[Section]:
    """The sections of ``make bench``."""
    one = partial(single, records=records, clock=clock)
    many = partial(sweep, number=2000, peer_number=100, records=records, clock=clock)
    calm = partial(many, radius=CALM, only=["highs warm"])
    return [
        ("single", partial(one, 32, limit=60.0)),
        ("sweep", partial(many, 10, peer_number=2000, limit=60.0)),
        ("sweep", partial(many, 32, limit=120.0)),
        ("single", partial(one, 100, limit=100.0)),
        ("single", partial(one, 316, limit=150.0)),
        ("single", partial(one, 10, limit=30.0)),
        ("sweep", partial(calm, 10, peer_number=2000, limit=60.0)),
        ("sweep", partial(calm, 32, limit=60.0)),
        *(("grids", partial(grids, n, number=400, peer_number=count, records=records, clock=clock,
                            radius=radius))
          for n, count in ((10, 400), (32, 60)) for radius in (RADIUS, CALM)),
        ("general", partial(general_lp, 1000, 200, records=records, clock=clock, limit=300.0,
                            enough=60.0)),
        ("million", partial(one, 1000, limit=300.0, general=False, gap=1e-6)),
        ("privatizer", partial(privatizer, 316, records=records, clock=clock)),
        ("privatizer", partial(privatizer, 1000, records=records, clock=clock)),
        ("lp-files", partial(lp_files, lps, seeds=3, sizes=3, records=records, clock=clock)),
        ("growth", partial(growth, 100, records=records, clock=clock, limit=300.0)),
        ("limit", partial(physical_limit, (32, 100, 316, 1000), records=records)),
        ("first-use", partial(first_use, records=records, clock=clock)),
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
    parser.add_argument("--budget", type=float, help="seconds for the suite; quick: 270")
    options = parser.parse_args()
    budget = options.budget or (270.0 if options.quick else None)
    clock = Clock(budget)
    kind = "quick" if options.quick else "full"
    records = Records(options.out / f"{kind}.jsonl")
    sections = (quick if options.quick else full)(records, clock, options.lps)
    known = sorted({name for name, _ in sections})
    if unknown := set(options.only or ()) - set(known):
        parser.error(f"--only must be one of {', '.join(known)}; got {', '.join(unknown)}")
    records.add("machine", None, **machine())
    failed = _run_all(sections, options.only, records=records, clock=clock)
    print(benchmark_figure(records.lines, options.out / f"{kind}.png"), file=sys.stderr)
    return 1 if failed else 0


def _run_all(
    sections: list[Section], only: list[str] | None, *, records: Records, clock: Clock
) -> bool:
    """Run the chosen sections; one that fails leaves a line and the others run."""
    failed = False
    for name, section in sections:
        if only and name not in only:
            continue
        if clock.left() < 3.0:
            records.add("skipped", None, section=name, status="the suite was out of time")
            continue
        try:
            section()
        except Exception as error:
            traceback.print_exc()
            records.add("failed", None, section=name, status=type(error).__name__)
            failed = True
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
