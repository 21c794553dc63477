"""What a Dask cluster buys: one sweep of private policies on local clusters of 1 and 2 workers.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --draws 256 --workers 1 --workers 4

Every worker is a process with one thread. A line has the seconds of the sweep on the clock, the
processor seconds that its draws took inside the workers, the difference per draw (waiting and
talking, of all workers), and the bytes of a chunk of work and of its records as they travel.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import time
from typing import Any

import numpy as np

import dp_cmdp as dp
from benchmarks.problems import releases
from paper import runner
from paper.problems.grids import random_grid

SIDE = 32
CHUNK = 8


def draw_value(setting: runner.Setting, seed: int, draw: int) -> runner.Row:
    """The value of a private policy on one grid."""
    problem, values = random_grid(setting["side"], np.random.default_rng(0), start="uniform")
    begin, rng = time.process_time(), runner.stream(seed, draw, "release")
    release = next(releases(problem, values, dp.PrivacyBudget(1, "1/10"), rng))
    value = dp.answer(problem, release).value
    return {"value": value, "cpu_s": time.process_time() - begin}


def run(sweep: runner.Sweep, workers: int) -> tuple[dict[str, Any], list[float]]:
    """One line, and the values found."""
    from distributed import Client, LocalCluster

    made: Any = LocalCluster  # whose stubs know neither a missing dashboard nor the address
    with (
        made(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(draw_value, {"side": 4}, 0, 0)  # imports and first calls
        begin = time.perf_counter()
        frame = runner.run([sweep], scheduler=cluster.scheduler_address)
        seconds = time.perf_counter() - begin
    cpu, chunk = float(frame["cpu_s"].sum()), sweep.chunks(0)[0]
    line = {
        "name": "cluster",
        "workers": workers,
        "draws": len(frame),
        "seconds": seconds,
        "cpu_s": cpu,
        "other_s_per_draw": (seconds * workers - cpu) / len(frame),
        "chunk_bytes": len(pickle.dumps(chunk)),
        "record_bytes": len(pickle.dumps(chunk.run())),
        "load": os.getloadavg()[0],
    }
    return line, frame.sort_values("draw")["value"].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=128)
    parser.add_argument("--workers", action="append", type=int)
    options = parser.parse_args()
    sweep = runner.Sweep(draw_value, ({"side": SIDE},), draws=options.draws, chunk=CHUNK)
    first: list[float] | None = None
    for workers in options.workers or (1, 2):
        line, values = run(sweep, workers)
        first = values if first is None else first
        print(json.dumps(line | {"same_values": values == first}), flush=True)


if __name__ == "__main__":
    from benchmarks import cluster  # where workers find the function by name

    cluster.main()
