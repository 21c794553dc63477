"""Noise with one close end (`optimal`) against noise with two (`tight`), on the shipped layouts.

    python benchmarks/noise_choice.py [--draws 40] [--seed 0] [--json]

Loss in percent of the optimum with a 95 % interval: of intervals around all entries, and of the
plan chosen for the layout where it measures totals. One line per layout, ε, release and noise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from tqdm import tqdm

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cli.tables import print_table
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.envs.catalogue import layout_names
from dp_cmdp.experiments.scale_cases import layout_case
from dp_cmdp.experiments.sweep import stream
from dp_cmdp.metrics import cost_of_privacy, mean_interval
from dp_cmdp.release.planner import planned

EPSILONS = ("1/2", "1", "2", "4")
DELTA = "1/1000"


def measured(name: str, epsilon: str, *, draws: int, seed: int) -> Iterator[dict[str, Any]]:
    """One row per release and noise; none for layouts whose records hold several entries."""
    case, budget = layout_case(name), PrivacyBudget(epsilon, DELTA)
    if case.model.envelope.record_size > 1:
        return
    plan = planned("auto", case.program, budget, solver=row_solver(case.model)).plan
    for word, chosen in (("database", "database"), ("planned", plan)):
        if word == "planned" and not plan.measures_totals:
            continue
        for noise in ("tight", "optimal"):
            answers = (
                release_and_synthesize(
                    case.model,
                    case.database,
                    budget,
                    rng=stream(seed, draw, "noise"),
                    plan=chosen,
                    calibration=noise,
                ).safe.value
                for draw in range(draws)
            )
            lost = mean_interval(
                [100.0 * float(cost_of_privacy(case.optimum, value)) for value in answers]
            )
            yield {
                "layout": name,
                "epsilon": epsilon,
                "release": word,
                "noise": noise,
                "suboptimality_percent": lost.mean,
                "ci_low": max(lost.low, 0.0),
                "ci_high": lost.high,
                "draws": draws,
            }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    steps = [(name, epsilon) for name in layout_names() for epsilon in EPSILONS]
    rows = [
        row
        for name, epsilon in tqdm(steps, disable=options.json, file=sys.stderr)
        for row in measured(name, epsilon, draws=options.draws, seed=options.seed)
    ]
    if options.json:
        print(json.dumps({"seed": options.seed, "delta": DELTA, "rows": rows}))
    else:
        print_table(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
