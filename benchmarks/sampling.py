"""Speed of the exact samplers, one JSON line per measurement: ``python benchmarks/sampling.py``."""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from scipy.stats import spearmanr

from dp_cmdp.noise.digits import digit_thresholds, exp_lower
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace


def report(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def truncated(steps: int, size: int) -> None:
    """Construction from empty caches, and samples per second."""
    digit_thresholds.cache_clear()
    exp_lower.cache_clear()
    start = time.perf_counter()
    law = LatticeTruncatedLaplace.calibrate(1, "1e-6", steps=steps)
    built = time.perf_counter()
    law.sample(size)
    drawn = time.perf_counter()
    report(
        law="truncated-laplace",
        steps=steps,
        construction_ms=1e3 * (built - start),
        samples_per_second=size / (drawn - built),
        support_per_step=law.support / steps,
    )


def plain(steps: int, size: int) -> None:
    start = time.perf_counter()
    law = LatticeLaplace.calibrate(1, steps=steps)
    built = time.perf_counter()
    law.perturb(np.zeros(size, dtype=np.int64))
    drawn = time.perf_counter()
    report(
        law="laplace",
        steps=steps,
        construction_ms=1e3 * (built - start),
        samples_per_second=size / (drawn - built),
    )


def optimal(epsilon: str, delta: str, size: int) -> None:
    start = time.perf_counter()
    law = OptimalNoise.calibrate(epsilon, delta, steps=1 << 20)
    built = time.perf_counter()
    law.sample_shift(size)
    drawn = time.perf_counter()
    report(
        law="optimal",
        epsilon=epsilon,
        delta=delta,
        mean_shift=law.mean_shift / (1 << 20),
        construction_ms=1e3 * (built - start),
        samples_per_second=size / (drawn - built),
    )


def timing(batches: int, batch: int) -> None:
    """Rank correlation of the time of a small batch with the mean size of its noise."""
    law = LatticeTruncatedLaplace.calibrate(1, "1e-6", steps=1 << 20)
    times, sizes = [], []
    for _ in range(batches):
        start = time.perf_counter_ns()
        draws = law.sample(batch)
        times.append(time.perf_counter_ns() - start)
        sizes.append(np.abs(draws).mean())
    outcome = spearmanr(times, sizes)
    report(batches=batches, batch=batch, spearman=outcome[0], p_value=outcome[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    for power in (0, 10, 20, 40):
        truncated(1 << power, size)
    for power in (0, 20, 40):
        plain(1 << power, size)
    for epsilon, delta in (("1", "0.1"), ("2", "0.1"), ("10", "1e-3"), ("1", "1e-6")):
        optimal(epsilon, delta, size)
    timing(batches=10_000, batch=8)


if __name__ == "__main__":
    main()
