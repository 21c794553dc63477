"""A million private solves of small random programs, each checked in exact arithmetic.

Those with linear queries come first (`exact_totals.py`), then others (`exact_feasibility.py`).

    python benchmarks/million_solves.py --store out/million.sqlite

Stopped at any moment, the same command goes on from its record file. Exit code 1 on a violation.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import pandas as pd

from benchmarks.exact_feasibility import feasibility_rows, feasibility_sweep
from benchmarks.exact_totals import PART, totals_sweep
from paper.runner import Sweep, run


def all_solves(solves: int) -> tuple[Sweep, Sweep]:
    """At least `solves` private solves, those with queries first."""
    measured = math.ceil(PART * solves)
    return totals_sweep(solves=measured), feasibility_sweep(solves=solves - measured)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solves", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("out/million.sqlite"))
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    frame = run(
        all_solves(options.solves),
        seed=options.seed,
        store=options.store,
        workers=options.workers,
        progress="million solves",
    )
    rows = feasibility_rows(frame)
    print(pd.DataFrame(rows).to_string(index=False))
    print(f"\nseed {options.seed}, {time.perf_counter() - start:.0f} s in this run")
    return 1 if rows[-1]["violations"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
