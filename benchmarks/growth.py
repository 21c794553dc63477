"""How our time grows with the states, with 1/(1 − γ) and with K, and how far it is from a limit.

An exponent is the least-squares slope of log time against the log of the quantity. The limit is one
pass over the transition matrix: no method decides anything without reading it. It is given twice,
as the time of ``T @ v`` and as the bytes of T over the bandwidth of copying a large array.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.measurement import Clock, measure
from benchmarks.problems import grid_cmdp
from benchmarks.records import Records
from dp_cmdp import CMDP

DISCOUNTS = (0.9, 0.97, 0.99, 0.997, 0.999)
COSTS = (1, 2, 3, 4, 5)


def growth(n: int, *, records: Records, clock: Clock, limit: float) -> None:
    """Lines ``growth in …`` on the n×n grid, each with its exponent on a last line."""
    small = grid_cmdp(4)
    models: dict[str, Callable[[float], CMDP]] = {
        "1/(1 − γ)": lambda x: grid_cmdp(n, gamma=1.0 - 1.0 / x),
        "K": lambda x: grid_cmdp(n, num_constraints=int(x)),
    }
    values = {"1/(1 − γ)": [1.0 / (1.0 - g) for g in DISCOUNTS], "K": [float(k) for k in COSTS]}
    for quantity, build in models.items():
        for x in values[quantity]:
            if clock.left() < 5.0:
                break
            mine = measure(peers.ours, build(x), small=small, limit=limit, clock=clock, repeats=3)
            records.add(
                "growth",
                n * n,
                ours_s=mine.seconds if mine.times else None,
                gap=mine.answer[1] if mine.answer else None,
                quantity=quantity,
                x=x,
                status=mine.status,
            )
        lines = records.select("growth", quantity=quantity)
        _exponent(quantity, n * n, {line["x"]: line["ours_s"] for line in lines}, records)
    times = {line["size"]: line["ours_s"] for line in records.select("single")}
    _exponent("states", None, times, records)


def _exponent(
    quantity: str, size: int | None, seconds: dict[float, float | None], records: Records
) -> None:
    """A line with the slope in the log-log plane; without one from fewer than two points."""
    times = {x: spent for x, spent in seconds.items() if spent}
    slope = None
    if len(times) > 1:
        slope = float(np.polyfit(np.log([*times]), np.log([*times.values()]), 1)[0])
    records.add("exponent", size, quantity=quantity, exponent=slope, points=len(times))


def bandwidth(mebibytes: int = 256, repeats: int = 5) -> float:
    """Bytes read and written per second when a large array is copied."""
    source = np.ones(mebibytes * 2**17)
    target = np.empty_like(source)
    seconds = min(_timed(partial(np.copyto, target, source)) for _ in range(repeats))
    return 2 * source.nbytes / seconds


def _timed(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def physical_limit(sides: Sequence[int], *, records: Records) -> None:
    """Our time as a multiple (`passes`) of one pass over T, per size that was solved."""
    speed = bandwidth()
    for n in sides:
        mine = [line for line in records.select("single", size=n * n) if line["ours_s"]]
        if not mine:
            continue
        ours_s, model = mine[0]["ours_s"], grid_cmdp(n, binding=False)
        v = np.ones(model.num_states)
        T = model.T
        once = min(_timed(lambda T=T, v=v: T @ v) for _ in range(5))
        size = T.data.nbytes + T.indices.nbytes + T.indptr.nbytes
        peers_s = {"one pass, T @ v": once, "one pass at copy bandwidth": size / speed}
        for peer, seconds in peers_s.items():
            records.add("limit", n * n, ours_s=ours_s, peer=peer, peer_s=seconds,
                        passes=ours_s / seconds, gb_per_s=speed / 1e9)  # fmt: skip
