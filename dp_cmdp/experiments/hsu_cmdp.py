"""Hsu et al. 2014 on the hazard grid: does it converge?

The paper reports that it did not, for any sample at any ε. Its method meets constraints only up to
an error, and the balance equations of an occupancy measure are constraints: a "solution" that
misses them is no policy at all. Recorded per draw: whether the method's own (noisy) test is passed,
by how much the balance equations are missed in total (Σ|residual|, where Σμ = 1), and whether a
constraint of the true program is violated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines import METHODS
from dp_cmdp.experiments.cost_of_privacy import DELTA, fingerprint, scenario
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.metrics import violation

if TYPE_CHECKING:
    import pandas as pd

#: A decade to either side of ε = 1.
EPSILONS = ("1/10", "1", "10")
#: An occupancy measure that misses the balance equations by more than this is no policy.
CONVERGED = 1e-2


def sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce hsu-cmdp``."""
    settings = tuple({"digest": fingerprint(), "epsilon": epsilon} for epsilon in EPSILONS)
    return Sweep("hsu-cmdp", draw, settings, draws, seed, chunk=10)


def draw(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """One run of Hsu's method per draw."""
    grid, found = scenario(), []
    for number in draws:
        answer = METHODS["hsu2014"].run(
            grid.program,
            grid.database,
            PrivacyBudget(setting["epsilon"], DELTA),
            rng=stream(seed, number, setting["epsilon"]),
        )
        row: Row = {"own_test": int(answer.converged), "residual": None, "violated": None}
        if answer.x is not None:
            missed = grid.program.A_eq @ answer.x - grid.program.b_eq
            row["residual"] = float(np.abs(missed).sum())
            broken = violation(grid.program, grid.database, x=answer.x).violated_rows
            row["violated"] = int(broken > 0)
        found.append(row)
    return found


def rows(frame: pd.DataFrame) -> list[Row]:
    """Per ε: how often its own test passes, and how far the answers are from being policies."""
    table: list[Row] = []
    for epsilon, part in frame.groupby("epsilon", sort=False):
        residual = part["residual"].astype(float)
        usable = (residual <= CONVERGED) & (part["own_test"] == 1)
        table.append(
            {
                "method": "hsu2014",
                "epsilon": float(PrivacyBudget(str(epsilon), DELTA).epsilon),
                "draws": len(part),
                "own_test_passed_percent": 100.0 * float(part["own_test"].mean()),
                "converged_percent": 100.0 * float(usable.mean()),
                "balance_missed_median": float(residual.median()),
                "balance_missed_least": float(residual.min()),
                "violated_percent": 100.0 * float(part["violated"].astype(float).mean()),
            }
        )
    return table
