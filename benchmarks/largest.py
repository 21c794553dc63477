"""How far one machine reaches: seconds and bytes per state and per transition.

    python benchmarks/largest.py                         a corridor and a grid, up to 10⁷ states
    python benchmarks/largest.py --family grid --size 4000000 --limit 1200

Every model is built and solved in a process of its own, to a gap of 1e-6, with a time limit. Its
limit lies half-way between the costs of two policies that cost little to evaluate. Bytes are
the peak of building and solving, without the interpreter. Lines go to out/bench/largest.jsonl; the
same command goes on from there.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.families import FAMILIES
from benchmarks.families.structure import Structure, distribution
from benchmarks.measurement import Clock, measure
from benchmarks.records import Records, machine
from dp_cmdp import CMDP

SIZES = (10_000, 100_000, 1_000_000, 4_000_000, 10_000_000)
#: Sweeps after which the cost of a fixed policy is known well enough for a limit.
SWEEPS = 400
GAMMA, GAP = 0.99, 1e-6
#: Seconds for building a model.
BUILD = 1800.0

Work = tuple[str, int]


def build(work: Work) -> tuple[CMDP, float]:
    """A model with one binding cost, and the seconds that it took to build."""
    family, size = work
    begin = time.perf_counter()
    structure = FAMILIES[family](size, 1, np.random.default_rng([100, size]))
    start = distribution((~structure.ends).astype(float))
    limit = 0.5 * (cost(structure, start, careful=True) + cost(structure, start, careful=False))
    model = CMDP(
        structure.T, structure.r, cost=structure.cost, limit=limit, start=start, gamma=GAMMA
    )
    return model, time.perf_counter() - begin


def cost(structure: Structure, start: np.ndarray, *, careful: bool) -> float:
    """Discounted cost of a policy that sweeps find for the cost, or for the reward."""
    r, f = structure.r, structure.cost[0]
    gain, v, own = (-f if careful else r - 1e-3 * f), np.zeros(len(r)), np.arange(len(r))
    for _ in range(SWEEPS // 4):
        v = (gain + GAMMA * (structure.T @ v).reshape(r.shape)).max(axis=1)
    actions = (gain + GAMMA * (structure.T @ v).reshape(r.shape)).argmax(axis=1)
    chain, u = structure.T[own * r.shape[1] + actions], np.zeros(len(r))
    for _ in range(SWEEPS):
        u = f[own, actions] + GAMMA * (chain @ u)
    return float(start @ u)


def solve(work: Work) -> Callable[[], dict[str, float]]:
    """Prepared: the model; run: the solve."""
    from dp_cmdp._src.cmdp.solvers.pool import PolicyPool

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 2**10
    model, build_s = build(work)

    def run() -> dict[str, float]:
        begin = time.process_time()
        solution = PolicyPool(model).solve(model.cost, model.limit, gap=GAP)
        cpu_s = time.process_time() - begin  # on a busy machine less than the clock says
        own = [model.T.data, model.T.indices, model.T.indptr, model.r, model.cost, model.start]
        return {
            "gap": solution.gap,
            "states": model.num_states,
            "transitions": int(model.T.nnz),
            "model_bytes": sum(part.nbytes for part in own),
            "before_bytes": before,
            "build_s": build_s,
            "cpu_s": cpu_s,
            "multiplier": float(solution.dual[0]),
        }

    return run


def line(family: str, size: int, *, limit: float, records: Records) -> None:
    """One model: its time, and bytes and seconds per state and transition."""
    found = measure(solve, (family, size), small=(family, 100), limit=limit, clock=Clock(),
                    repeats=1, preparation=BUILD)  # fmt: skip
    facts = dict(found.answer or {})
    gap = facts.pop("gap", None)
    if found.answer and found.seconds:
        peak = found.peak_gib * 2**30 - facts["before_bytes"]
        states, transitions = facts["states"], facts["transitions"]
        facts["peak_bytes_per_state"] = peak / states
        facts["peak_bytes_per_transition"] = peak / transitions
        facts["us_per_state"] = 1e6 * found.seconds / states
        facts["us_per_transition"] = 1e6 * found.seconds / transitions
    records.add("largest", size, ours_s=found.seconds, gap=gap, family=family, gamma=GAMMA,
                peak_gib=found.peak_gib, status=found.status, **facts)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--size", action="append", type=int)
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds per solve")
    parser.add_argument("--fresh", action="store_true", help="do not go on from an earlier run")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    options = parser.parse_args()
    records = Records(options.out / "largest.jsonl", resume=not options.fresh)
    with records.part("machine") as due:
        if due:
            records.add("machine", None, **machine())
    for size in options.size or SIZES:
        for family in options.family or ("corridor", "grid"):
            with records.part(f"largest {family} {size}") as due:
                if due:
                    line(family, size, limit=options.limit, records=records)


if __name__ == "__main__":
    main()
