"""Many private draws of one row on the same dynamics, seconds per solve."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from measurement import Clock, measure
from problems import RADIUS, grid_cmdp, private_draws
from records import Records
from single import DISAGREEMENT
from sweep_peers import PEERS, pool

#: Peers that get so many times the draws, to be measured as long as the others.
QUICK_PEERS = {"highs warm": 5}
#: Random grids of the comparison with the warm simplex.
GRIDS = 5


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
    small = (tiny, [(tiny.f, float(tiny.f0[0]))] * 2)
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
    n: int, *, number: int, peer_number: int, records: Records, clock: Clock, radius: float
) -> None:
    """Five random grids against the warm simplex: a line per grid, and one for all of them."""
    tiny = grid_cmdp(4)
    small, totals = (tiny, [(tiny.f, float(tiny.f0[0]))] * 2), np.zeros(2)
    for seed in range(GRIDS):
        model = grid_cmdp(n, seed=seed)
        draws = private_draws(model, number, radius=radius)
        mine = measure(pool, (model, draws), small=small, limit=120, clock=clock, repeats=2)
        theirs = measure(
            PEERS["highs warm"], (model, draws[:peer_number]), small=small, limit=120, clock=clock
        )
        times = _per(mine.seconds, number), _per(theirs.seconds, peer_number)
        totals += [np.nan if time is None else time for time in times]
        gap = mine.answer[1] if mine.answer else None
        line = {"peer": "highs warm", "gap": gap, "grid": seed, "radius": radius}
        records.add("grids", n * n, ours_s=times[0], peer_s=times[1], **line)
    ours, warm = (totals / GRIDS).tolist()
    line = {"peer": "highs warm", "gap": None, "grid": "all", "radius": radius}
    records.add("grids", n * n, ours_s=ours, peer_s=warm, **line)


def _per(seconds: float | None, number: int) -> float | None:
    return None if seconds is None else seconds / number
