"""The ad auction as a large general LP: what privacy adds to one solve.

The private path is release, robust rows, solve and exact certificate. It solves another program
than the plain path, with other numbers, so that one is timed without a certificate too: private
minus robust is what release and certificate cost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dp_cmdp as dp
from benchmarks.measurement import Clock, measure
from benchmarks.problems import releases
from benchmarks.records import Records
from paper.problems.auction import ad_auction, random_auction

BUDGET = dp.PrivacyBudget(1, "1/1000")
Size = tuple[int, int]


def _auction(size: Size) -> tuple[dp.ParametricLP, np.ndarray]:
    program = ad_auction(*size)
    return program, random_auction(program, np.random.default_rng(0))


def plain(size: Size) -> Callable[[], float]:
    """HiGHS on the true program."""
    program, values = _auction(size)
    true = program.at(values)
    return lambda: true.answer(true.envelope.uncertainty, certify=False).value


def private(size: Size) -> Callable[[], float]:
    """Release with exact noise, robust rows, solve, certificate."""
    program, values = _auction(size)
    return lambda: dp.answer(program, next(releases(program, values, BUDGET))).value


def robust(size: Size) -> Callable[[], float]:
    """HiGHS on the robust program of one release."""
    program, values = _auction(size)
    release = next(releases(program, values, BUDGET))
    return lambda: program.answer(release.uncertainty, release.estimate, certify=False).value


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
