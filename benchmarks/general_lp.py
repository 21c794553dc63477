"""The ad auction as a large general LP: what privacy adds to one solve.

The private path is release, robust counterpart, solve and exact certificate. It solves another
program than the plain path, with other numbers, so the plain solve of the robust program is timed
too: private minus robust is what release, counterpart and certificate cost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.measurement import Clock, measure
from benchmarks.records import Records
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.database import Database
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private

BUDGET = PrivacyBudget(1, "1/1000")
Size = tuple[int, int]


def _auction(size: Size) -> tuple[ParametricLP, Database]:
    program = ad_auction_program(*size)
    return program, random_auction(program, np.random.default_rng(0))


def plain(size: Size) -> Callable[[], float]:
    """HiGHS on the true program."""
    program, database = _auction(size)
    return lambda: solve(program.at(database.values), certify=False).objective


def private(size: Size) -> Callable[[], float]:
    """Release with exact noise, robust counterpart, solve, certificate."""
    program, database = _auction(size)
    return lambda: solve_private(program, release_database(database, BUDGET)).objective


def robust(size: Size) -> Callable[[], float]:
    """HiGHS on the robust program of one release."""
    program, database = _auction(size)
    release = release_database(database, BUDGET)
    lp = program.robust(release.lower, release.upper, estimate=release.estimate)
    return lambda: solve(lp, certify=False).objective


def general_lp(
    num_groups: int,
    num_advertisers: int,
    *,
    records: Records,
    clock: Clock,
    limit: float,
    enough: float,
) -> None:
    """Medians of up to three runs; `overhead` is the private time over the peer's."""
    size = num_groups, num_advertisers
    mine, *theirs = (
        measure(path, size, small=(5, 3), limit=limit, clock=clock, repeats=3, enough=enough)
        for path in (private, plain, robust)
    )
    names = "plain HiGHS solve", "plain HiGHS solve of the robust program"
    for name, other in zip(names, theirs, strict=True):
        known = mine.typical and other.typical
        records.add(
            "general LP",
            num_groups * num_advertisers,
            ours_s=mine.typical,
            peer=name,
            peer_s=other.typical,
            overhead=mine.typical / other.typical if known else None,  # pyright: ignore
            status=other.status if mine.status == "ok" else mine.status,
            runs=min(len(mine.times), len(other.times)),
            peak_gib=mine.peak_gib,
        )
