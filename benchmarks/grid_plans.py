"""How much of what planned releases lose on random grids is the plan, the proposal, or certainty.

    python benchmarks/grid_plans.py                    66 development grids, 3 noises, ε = 1

Per grid: the loss of every plan of the menu, of the chosen one, of the best with hindsight; on the
grids that lose most, of a proposal made from the true severities (not private), and the limit of
any mechanism. One JSON line per grid, then the means: *curator only*, on invented data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.cmdp.synthesis import safe_policy
from dp_cmdp.experiments.sweep import stream
from dp_cmdp.metrics import cost_of_privacy
from dp_cmdp.problems.hazard_grids import random_grid
from dp_cmdp.release.plan import DATABASE, MENU, Plan
from dp_cmdp.release.planner import planned
from dp_cmdp.theory.certainty_limit import certainty_limit

BUDGET = PrivacyBudget(1, "1/1000")
#: The plan whose proposal is made from the truth.
BLIND = Plan(0)
WORST = 3


class Grid:
    """A development grid and what releases lose on it, in percent of the optimum."""

    def __init__(self, number: int, size: int, *, start: str, noises: int) -> None:
        self.number, self.noises = number, noises
        self.model, self.database = random_grid(size, stream(0, number), start=start)
        self.best = safe_policy(self.model.at(self.database.values)).value

    def loss(self, plan: Plan, **options: Any) -> float:
        lost = []
        for noise in range(self.noises):
            rng = stream(0, self.number, "noise", str(noise))
            made = release_and_synthesize(
                self.model, self.database, BUDGET, rng=rng, plan=plan, **options
            )
            lost.append(100.0 * float(cost_of_privacy(self.best, made.safe.value)))
        return float(np.mean(lost))

    def row(self) -> dict[str, Any]:
        losses = {str(plan): self.loss(plan) for plan in MENU if plan != DATABASE}
        losses["database"] = self.loss(DATABASE, calibration="tight")
        chosen = planned("auto", self.model.program(), BUDGET, solver=row_solver(self.model)).plan
        return {
            "grid": self.number,
            "chosen": losses[str(chosen)],
            "hindsight": min(losses.values()),
            "plan": str(chosen),
            "losses": losses,
        }

    def beyond(self) -> dict[str, float]:
        """What a proposal from the truth loses, and what every mechanism must."""
        limit = certainty_limit(self.model, self.database, BUDGET, neighbours=8)
        return {
            "from_truth": self.loss(BLIND, guess=self.database.values),
            "limit": float(limit.suboptimality_percent),
        }


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    found = []
    for number in range(options.grids):
        grid = Grid(number, options.size, start=options.start, noises=options.noises)
        found.append(grid.row())
        yield found[-1]
    for row in sorted(found, key=lambda row: row["chosen"])[-WORST:]:
        grid = Grid(row["grid"], options.size, start=options.start, noises=options.noises)
        yield {"grid": row["grid"], "chosen": row["chosen"]} | grid.beyond()
    means = {key: float(np.mean([row[key] for row in found])) for key in ("chosen", "hindsight")}
    base = float(np.mean([row["losses"]["database"] for row in found]))
    yield {"grids": len(found), "database": base} | means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", type=int, default=66)
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--start", default="uniform")
    parser.add_argument("--noises", type=int, default=3)
    for row in rows(parser.parse_args()):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
