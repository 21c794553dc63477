"""Many private draws of one row on the same dynamics, seconds per solve."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from benchmarks.measurement import Clock, measure
from benchmarks.problems import RADIUS, grid_cmdp, private_draws
from benchmarks.records import Records
from benchmarks.single import DISAGREEMENT
from benchmarks.sweep_peers import PEERS, pool

#: Peers that get so many times the draws, to be measured as long as the others.
QUICK_PEERS = {"highs warm": 5}
#: Seeds of the random grids of the comparison with the warm simplex.
SEEDS = (100, 101, 102, 103, 104)


def sweep(
    n: int,
    *,
    number: int,
    peer_number: int,
    records: Records,
    clock: Clock,
    limit: float,
    radius: float = RADIUS,
    only: Collection[str] = tuple(PEERS),
) -> None:
    """`number` draws with a pool of policies; peers solve the first `peer_number` or more."""
    model, tiny = grid_cmdp(n), grid_cmdp(4)
    draws = private_draws(model, number, radius=radius)
    small = (tiny, [(tiny.cost, tiny.limit)] * 2)
    mine = measure(pool, (model, draws), small=small, limit=1200, clock=clock, repeats=2)
    counts = {name: peer_number * (QUICK_PEERS.get(name, 1)) for name in PEERS if name in only}
    found = {
        name: measure(
            PEERS[name], (model, draws[:count]), small=small, limit=limit, clock=clock, repeats=3
        )
        for name, count in counts.items()
    }
    cvxpy = [found[name] for name in found if name.startswith("cvxpy") and found[name].times]
    if cvxpy:
        found["cvxpy, its best"] = min(cvxpy, key=lambda theirs: theirs.seconds or np.inf)
    counts["cvxpy, its best"] = peer_number
    for name, theirs in found.items():
        count = min(counts[name], number)
        more: dict[str, Any] = {"status": theirs.status, "draws": number, "peer_draws": count}
        more["radius"] = radius
        if mine.status != "ok":
            more["ours_status"] = mine.status
        if mine.answer and theirs.answer:
            values = np.array(theirs.answer[0])
            off = np.abs(values - mine.answer[0][: values.size]) / np.abs(values)
            more["difference"] = float(off.max())
            if off.max() > DISAGREEMENT:
                more["status"] = "disagrees"
        records.add(
            "sweep",
            model.num_states,
            ours_s=_per(mine.seconds, number),
            peer=name,
            peer_s=_per(theirs.seconds, count),
            gap=mine.answer[1] if mine.answer else None,
            **more,
        )


def grids(
    n: int,
    *,
    number: int,
    peer_number: int,
    records: Records,
    clock: Clock,
    radius: float,
    costs: int = 1,
    seeds: Sequence[int] = SEEDS,
) -> None:
    """Random grids against the warm simplex: a line per grid, and one with the medians."""
    tiny = grid_cmdp(4, num_constraints=costs)
    small, times = (tiny, [(tiny.cost, tiny.limit)] * 2), []
    for seed in seeds:
        model = grid_cmdp(n, seed=seed, num_constraints=costs)
        draws = private_draws(model, number, radius=radius)
        mine = measure(pool, (model, draws), small=small, limit=300, clock=clock, repeats=2)
        theirs = measure(
            PEERS["highs warm"], (model, draws[:peer_number]), small=small, limit=300, clock=clock
        )
        ours_s, warm_s = _per(mine.seconds, number), _per(theirs.seconds, peer_number)
        line = {"status": theirs.status, "gap": mine.answer[1] if mine.answer else None}
        line |= {"grid": seed, "radius": radius, "costs": costs, "draws": number}
        ours_clock = _per(mine.clock_seconds, number)
        warm_clock = _per(theirs.clock_seconds, peer_number)
        line |= {"ours_clock_s": ours_clock, "peer_clock_s": warm_clock}
        records.add("grids", n * n, ours_s=ours_s, peer="highs warm", peer_s=warm_s, **line)
        if ours_s and warm_s and ours_clock and warm_clock:
            times.append((ours_s, warm_s, warm_s / ours_s, warm_clock / ours_clock))
    ours_s, warm_s, ratio, clocks = np.median(times, axis=0).tolist() if times else [None] * 4
    line = {"grid": "median", "radius": radius, "costs": costs, "draws": number}
    records.add("grids", n * n, ours_s=ours_s, peer="highs warm", peer_s=warm_s, **line,
                median_ratio=ratio, clock_ratio=clocks)  # fmt: skip


def _per(seconds: float | None, number: int) -> float | None:
    return None if seconds is None else seconds / number
